// Device-wide sorts of CUB.
// module radix-keys-u32 -DRADIX -DSORTED=unsigned
// module radix-pairs-u64 -DRADIX -DPAIRS "-DSORTED=unsigned long long"
// module radix-descending-f64 -DRADIX -DDOWNWARDS -DSORTED=double
// module merge-pairs -DMERGE -DSORTED=int
// module segmented-sort -DSEGMENTED -DSORTED=float
#include <cub/cub.cuh>

#if defined(RADIX) && defined(PAIRS)
cudaError_t sort(void* t, size_t& n, const SORTED* a, SORTED* b, const int* c, int* d, int count) {
    return cub::DeviceRadixSort::SortPairs(t, n, a, b, c, d, count);
}
#elif defined(DOWNWARDS)
cudaError_t sort(void* t, size_t& n, const SORTED* a, SORTED* b, int count) {
    return cub::DeviceRadixSort::SortKeysDescending(t, n, a, b, count);
}
#elif defined(RADIX)
cudaError_t sort(void* t, size_t& n, const SORTED* a, SORTED* b, int count) {
    return cub::DeviceRadixSort::SortKeys(t, n, a, b, count);
}
#elif defined(MERGE)
struct Nearer {
    __device__ bool operator()(SORTED a, SORTED b) const { return abs(a) < abs(b); }
};
cudaError_t sort(void* t, size_t& n, SORTED* a, double* b, int count) {
    return cub::DeviceMergeSort::SortPairs(t, n, a, b, count, Nearer());
}
#else
cudaError_t sort(void* t, size_t& n, const SORTED* a, SORTED* b, int count, int segments, const int* at) {
    return cub::DeviceSegmentedSort::SortKeys(t, n, a, b, count, segments, at, at + 1);
}
#endif
