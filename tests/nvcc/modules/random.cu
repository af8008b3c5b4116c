// Generators and distributions of cuRAND.
// module random-philox -DSTATE=curandStatePhilox4_32_10_t
// module random-xorwow -DSTATE=curandStateXORWOW_t
// module random-mrg -DSTATE=curandStateMRG32k3a_t
#include <curand_kernel.h>

extern "C" __global__ void begin(STATE* states, unsigned long long seed) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    curand_init(seed, i, 0, states + i);
}
extern "C" __global__ void draw(STATE* states, float* normals, double* uniforms, unsigned* counts, int turns) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    STATE mine = states[i];
    for (int turn = 0; turn < turns; turn++) {
        normals[i] += curand_normal(&mine) + curand_log_normal(&mine, 0.5f, 2.0f);
        uniforms[i] += curand_uniform_double(&mine);
        counts[i] += curand_poisson(&mine, 3.5);
    }
    states[i] = mine;
}
