// Cooperative groups, which come with the runtime.
// module groups-tiles -DTILES
// module groups-grid -DGRID
// module groups-clusters -DCLUSTERS
#include <cooperative_groups.h>
#include <cooperative_groups/memcpy_async.h>
#include <cooperative_groups/reduce.h>
#include <cooperative_groups/scan.h>
namespace cg = cooperative_groups;

#if defined(TILES)
template <int SIZE>
__device__ void tile(const float* from, float* to, int* counts) {
    auto block = cg::this_thread_block();
    auto tile = cg::tiled_partition<SIZE>(block);
    float mine = from[block.thread_rank()];
    float sum = cg::reduce(tile, mine, cg::plus<float>());
    int before = cg::exclusive_scan(tile, int(mine > 0));
    auto alike = cg::labeled_partition(tile, int(mine) & 3);
    float most = cg::reduce(alike, mine, cg::greater<float>());
    auto yes = cg::binary_partition(tile, sum > 1);
    to[block.thread_rank()] = sum + tile.shfl_xor(most, 1);
    counts[block.thread_rank()] = before + yes.num_threads() + tile.match_any(before);
}
extern "C" __global__ void of4(const float* from, float* to, int* counts) { tile<4>(from, to, counts); }
extern "C" __global__ void of16(const float* from, float* to, int* counts) { tile<16>(from, to, counts); }
extern "C" __global__ void of32(const float* from, float* to, int* counts) { tile<32>(from, to, counts); }
extern "C" __global__ void together(int* counters, const int* at) {
    auto active = cg::coalesced_threads();
    if (at[threadIdx.x] > 0) {
        auto some = cg::coalesced_threads();
        int first = some.thread_rank() == 0 ? atomicAdd(counters, some.num_threads()) : 0;
        counters[some.shfl(first, 0) + some.thread_rank()] = active.thread_rank();
    }
}
#elif defined(GRID)
extern "C" __global__ void jacobi(float* a, float* b, float* error, int width, int height) {
    auto grid = cg::this_grid();
    auto block = cg::this_thread_block();
    auto warp = cg::tiled_partition<32>(block);
    for (int turn = 0; turn < 100; turn++) {
        float worst = 0;
        for (long long i = grid.thread_rank(); i < (long long)width * height; i += grid.size()) {
            int x = i % width, y = i / width;
            if (x == 0 || y == 0 || x == width - 1 || y == height - 1) continue;
            float next = 0.25f * (a[i - 1] + a[i + 1] + a[i - width] + a[i + width]);
            worst = fmaxf(worst, fabsf(next - a[i]));
            b[i] = next;
        }
        worst = cg::reduce(warp, worst, cg::greater<float>());
        if (warp.thread_rank() == 0) atomicMax((int*)error + turn, __float_as_int(worst));
        grid.sync();
        if (error[turn] < 1e-5f) break;
        float* other = a;
        a = b;
        b = other;
    }
}
#else
extern "C" __global__ void __cluster_dims__(4, 1, 1) histogram(const unsigned* from, int* bins, int count) {
    extern __shared__ int mine[];
    auto cluster = cg::this_cluster();
    auto block = cg::this_thread_block();
    for (int i = threadIdx.x; i < 1024; i += blockDim.x) mine[i] = 0;
    cluster.sync();
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += gridDim.x * blockDim.x) {
        unsigned bin = from[i] % 4096;
        atomicAdd(cluster.map_shared_rank(mine, bin / 1024) + bin % 1024, 1);
    }
    auto token = cluster.barrier_arrive();
    cluster.barrier_wait(static_cast<decltype(token)&&>(token));
    for (int i = threadIdx.x; i < 1024; i += blockDim.x) atomicAdd(bins + 1024 * cluster.block_rank() + i, mine[i]);
}
extern "C" __global__ void copies(const int* from, int* to, int count) {
    __shared__ int tile[2][512];
    auto block = cg::this_thread_block();
    cg::memcpy_async(block, tile[0], from, sizeof tile[0]);
    for (int i = 0; i < count; i++) {
        if (i + 1 < count) cg::memcpy_async(block, tile[(i + 1) & 1], from + 512 * (i + 1), sizeof tile[0]);
        cg::wait_prior<1>(block);
        to[512 * i + threadIdx.x] = tile[i & 1][511 - threadIdx.x];
        block.sync();
    }
}
#endif
