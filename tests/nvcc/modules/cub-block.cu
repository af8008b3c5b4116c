// Kernels of our own around what CUB gives to a block and to a warp.
// module block-sort -DSORT -DITEMS=9
// module block-sort-wide -DSORT -DITEMS=23
// module block-scan -DSCAN -DITEMS=7
// module block-pieces -DPIECES -DITEMS=4
#include <cub/cub.cuh>

constexpr int THREADS = 256;

#if defined(SORT)
extern "C" __global__ void __launch_bounds__(THREADS) sort(const unsigned long long* from, unsigned long long* to, int count) {
    using Load = cub::BlockLoad<unsigned long long, THREADS, ITEMS, cub::BLOCK_LOAD_TRANSPOSE>;
    using Sort = cub::BlockRadixSort<unsigned long long, THREADS, ITEMS, int>;
    using Store = cub::BlockStore<unsigned long long, THREADS, ITEMS, cub::BLOCK_STORE_WARP_TRANSPOSE>;
    __shared__ union {
        typename Load::TempStorage load;
        typename Sort::TempStorage sort;
        typename Store::TempStorage store;
    } shared;
    unsigned long long keys[ITEMS];
    int ranks[ITEMS];
    int first = blockIdx.x * THREADS * ITEMS;
    Load(shared.load).Load(from + first, keys, count - first, ~0ull);
    for (int i = 0; i < ITEMS; i++) ranks[i] = threadIdx.x * ITEMS + i;
    __syncthreads();
    Sort(shared.sort).SortBlockedToStriped(keys, ranks, 8, 40);
    __syncthreads();
    for (int i = 0; i < ITEMS; i++) keys[i] ^= ranks[i];
    Store(shared.store).Store(to + first, keys, count - first);
}
#elif defined(SCAN)
template <cub::BlockScanAlgorithm HOW>
__device__ void scan(const float* from, float* to, float* sums) {
    using Scan = cub::BlockScan<float, THREADS, HOW>;
    __shared__ typename Scan::TempStorage shared;
    float values[ITEMS];
    float sum;
    cub::LoadDirectStriped<THREADS>(threadIdx.x, from + blockIdx.x * THREADS * ITEMS, values);
    Scan(shared).InclusiveScan(values, values, cuda::maximum<>{}, sum);
    cub::StoreDirectBlocked(threadIdx.x, to + blockIdx.x * THREADS * ITEMS, values);
    if (threadIdx.x == 0) sums[blockIdx.x] = sum;
}
extern "C" __global__ void by_raking(const float* from, float* to, float* sums) { scan<cub::BLOCK_SCAN_RAKING>(from, to, sums); }
extern "C" __global__ void by_warps(const float* from, float* to, float* sums) { scan<cub::BLOCK_SCAN_WARP_SCANS>(from, to, sums); }
#else
extern "C" __global__ void exchange(const double* from, double* to) {
    using Exchange = cub::WarpExchange<double, ITEMS>;
    __shared__ typename Exchange::TempStorage shared[THREADS / 32];
    double values[ITEMS];
    for (int i = 0; i < ITEMS; i++) values[i] = from[threadIdx.x * ITEMS + i];
    Exchange(shared[threadIdx.x / 32]).StripedToBlocked(values, values);
    for (int i = 0; i < ITEMS; i++) to[threadIdx.x * ITEMS + i] = values[i];
}
extern "C" __global__ void merge(int* values) {
    using Merge = cub::WarpMergeSort<int, ITEMS, 32>;
    __shared__ typename Merge::TempStorage shared[THREADS / 32];
    int mine[ITEMS];
    for (int i = 0; i < ITEMS; i++) mine[i] = values[threadIdx.x * ITEMS + i];
    Merge(shared[threadIdx.x / 32]).StableSort(mine, [] __device__(int a, int b) { return a % 100 < b % 100; });
    for (int i = 0; i < ITEMS; i++) values[threadIdx.x * ITEMS + i] = mine[i];
}
extern "C" __global__ void differences(const int* from, int* heads, int* sum) {
    using Heads = cub::BlockDiscontinuity<int, THREADS>;
    using Sum = cub::BlockReduce<int, THREADS, cub::BLOCK_REDUCE_RAKING>;
    __shared__ typename Heads::TempStorage shared;
    __shared__ typename Sum::TempStorage total;
    int mine[ITEMS], flags[ITEMS];
    for (int i = 0; i < ITEMS; i++) mine[i] = from[threadIdx.x * ITEMS + i];
    Heads(shared).FlagHeads(flags, mine, cuda::std::not_equal_to<>{});
    int all = Sum(total).Sum(flags);
    for (int i = 0; i < ITEMS; i++) heads[threadIdx.x * ITEMS + i] = flags[i];
    if (threadIdx.x == 0) *sum = all;
}
#endif
