// Of recursion in code to be debugged ptxas says that the stack is all ones in size: it does not know. The simulator took that for
// a size and refused the launch.
// nvcc: debug
// launch: kernel 1 grid 1 block 1 outputs 1
// in: 0000000000000004
// inout: a5a5a5a5a5a5a5a5
// inout: 0000000000000000
// expect: 000000000000000a
static __device__ __noinline__ unsigned sum(unsigned n) { return n == 0 ? 0 : n + sum(n - 1); }
extern "C" __global__ void k1(const unsigned long long* in, unsigned long long* out, void*) {
    out[0] = sum((unsigned)in[0]);
}
