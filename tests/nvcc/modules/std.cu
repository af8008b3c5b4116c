// The C++ library for devices: cuda::std and cuda.
// module std-complex -DCOMPLEX
// module std-algorithms -DALGORITHMS
// module cuda-atomics -DATOMICS
// module cuda-barriers -DBARRIERS
#include <cuda/atomic>
#include <cooperative_groups.h>
#include <cuda/barrier>
#include <cuda/cmath>
#include <cuda/functional>
#include <cuda/pipeline>
#include <cuda/std/array>
#include <cuda/std/bitset>
#include <cuda/std/chrono>
#include <cuda/std/complex>
#include <cuda/std/mdspan>
#include <cuda/std/optional>
#include <cuda/std/semaphore>
#include <cuda/std/span>
#include <cuda/std/tuple>
#include <cuda/std/variant>
#include <thrust/binary_search.h>
#include <thrust/execution_policy.h>
#include <thrust/sort.h>

#if defined(COMPLEX)
template <class T>
__device__ void all(cuda::std::complex<T>* a, int i) {
    auto z = a[i];
    a[i + 1] = cuda::std::exp(z) / cuda::std::sqrt(z);
    a[i + 2] = cuda::std::pow(z, a[i + 7]);
    a[i + 3] = cuda::std::atan(z) + cuda::std::tanh(z);
    a[i + 4] = cuda::std::polar(cuda::std::abs(z), cuda::std::arg(z));
}
extern "C" __global__ void single(cuda::std::complex<float>* a) { all(a, 8 * threadIdx.x); }
extern "C" __global__ void dual(cuda::std::complex<double>* a) { all(a, 8 * threadIdx.x); }
#elif defined(ALGORITHMS)
extern "C" __global__ void spans(float* a, int* found, int rows, int cols) {
    cuda::std::mdspan<float, cuda::std::dextents<int, 2>> m(a, rows, cols);
    cuda::std::array<float, 16> mine;
    for (int r = 0; r < 16; r++) mine[r] = m(r % rows, threadIdx.x % cols);
    thrust::stable_sort(thrust::seq, mine.begin(), mine.end(), cuda::std::greater<>{});
    cuda::std::span<float> part(mine.data() + 3, 10);
    auto at = thrust::lower_bound(thrust::seq, part.begin(), part.end(), 0.5f, cuda::std::greater<>{});
    found[threadIdx.x] = at - part.begin();
    mine[found[threadIdx.x]] += part.back();
    for (int r = 0; r < 16; r++) m(r % rows, threadIdx.x % cols) = mine[r];
}
extern "C" __global__ void sums(int* a, cuda::std::bitset<128>* bits) {
    using Value = cuda::std::variant<int, float, cuda::std::tuple<short, short>>;
    Value v = a[0] > 3 ? Value(a[1]) : a[2] > 4 ? Value(1.5f * a[3]) : Value(cuda::std::make_tuple<short, short>(a[4], a[5]));
    cuda::std::optional<int> got;
    if (auto* i = cuda::std::get_if<0>(&v)) got = *i;
    bits[threadIdx.x] = (bits[threadIdx.x] << got.value_or(v.index())) ^ bits[threadIdx.x + 1];
    a[threadIdx.x] = bits[threadIdx.x].count() + cuda::ceil_div(a[7], 3u + threadIdx.x);
}
#elif defined(ATOMICS)
template <cuda::thread_scope SCOPE>
__device__ void all(unsigned* a, double* d, unsigned long long* wide) {
    cuda::atomic_ref<unsigned, SCOPE> one(a[threadIdx.x]);
    one.fetch_add(3, cuda::memory_order_relaxed);
    unsigned seen = one.load(cuda::memory_order_acquire);
    while (!one.compare_exchange_weak(seen, seen * 2 + 1, cuda::memory_order_acq_rel)) {}
    one.store(7, cuda::memory_order_release);
    cuda::atomic_ref<double, SCOPE> real(d[threadIdx.x]);
    real.fetch_add(0.5);
    real.fetch_max(2.0, cuda::memory_order_relaxed);
    cuda::atomic_ref<unsigned long long, SCOPE> last(wide[threadIdx.x]);
    wide[1] = last.exchange(5) + last.fetch_min(3);
}
extern "C" __global__ void device(unsigned* a, double* d, unsigned long long* w) { all<cuda::thread_scope_device>(a, d, w); }
extern "C" __global__ void block(unsigned* a, double* d, unsigned long long* w) { all<cuda::thread_scope_block>(a, d, w); }
extern "C" __global__ void wide(unsigned* a, double* d, unsigned long long* w) { all<cuda::thread_scope_system>(a, d, w); }
extern "C" __global__ void waits(cuda::atomic<int>* flag, cuda::std::counting_semaphore<8>* gate, short* a) {
    gate->acquire();
    flag->wait(0);
    cuda::atomic_ref<short> half(a[threadIdx.x]);
    half.fetch_xor(5);
    flag->notify_all();
    gate->release();
}
#else
extern "C" __global__ void stages(const float* from, float* to, int tiles) {
    constexpr int DEPTH = 3;
    __shared__ float tile[DEPTH][256];
    __shared__ cuda::pipeline_shared_state<cuda::thread_scope_block, DEPTH> state;
    auto group = cooperative_groups::this_thread_block();
    auto pipe = cuda::make_pipeline(group, &state);
    float sum = 0;
    for (int next = 0, i = 0; i < tiles; i++) {
        for (; next < tiles && next < i + DEPTH; next++) {
            pipe.producer_acquire();
            cuda::memcpy_async(group, tile[next % DEPTH], from + 256 * next, sizeof tile[0], pipe);
            pipe.producer_commit();
        }
        pipe.consumer_wait();
        sum += tile[i % DEPTH][255 - threadIdx.x];
        pipe.consumer_release();
    }
    to[blockIdx.x * 256 + threadIdx.x] = sum;
}
extern "C" __global__ void bulk(const int* from, int* to) {
    __shared__ alignas(16) int tile[1024];
    __shared__ cuda::barrier<cuda::thread_scope_block> arrived;
    if (threadIdx.x == 0) {
        init(&arrived, blockDim.x);
        cuda::device::experimental::cp_async_bulk_global_to_shared(tile, from, sizeof tile, arrived);
    }
    __syncthreads();
    auto token = threadIdx.x == 0 ? cuda::device::barrier_arrive_tx(arrived, 1, sizeof tile) : arrived.arrive();
    arrived.wait(cuda::std::move(token));
    to[threadIdx.x] = tile[threadIdx.x] + tile[1023 - threadIdx.x];
}
#endif
