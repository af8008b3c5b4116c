// Device-wide reductions of CUB.
// module reduce-sum-f32 -DSUM -DTYPE=float
// module reduce-min-i64 -DMIN "-DTYPE=long long"
// module reduce-argmax -DARGMAX -DTYPE=double
// module reduce-by-key -DBY_KEY -DTYPE=float
// module segmented-reduce -DSEGMENTED -DTYPE=int
#include <cub/cub.cuh>

#if defined(SUM)
cudaError_t reduce(void* t, size_t& n, const TYPE* a, TYPE* b, int count) {
    return cub::DeviceReduce::Sum(t, n, a, b, count);
}
#elif defined(MIN)
cudaError_t reduce(void* t, size_t& n, const TYPE* a, TYPE* b, long long count) {
    return cub::DeviceReduce::Min(t, n, a, b, count);
}
#elif defined(ARGMAX)
cudaError_t reduce(void* t, size_t& n, const TYPE* a, TYPE* b, long long* at, long long count) {
    return cub::DeviceReduce::ArgMax(t, n, a, b, at, count);
}
#elif defined(BY_KEY)
cudaError_t reduce(void* t, size_t& n, const int* keys, int* unique, const TYPE* a, TYPE* b, int* runs, int count) {
    return cub::DeviceReduce::ReduceByKey(t, n, keys, unique, a, b, runs, cuda::std::plus<>{}, count);
}
#else
cudaError_t reduce(void* t, size_t& n, const TYPE* a, TYPE* b, int segments, const int* at) {
    return cub::DeviceSegmentedReduce::Sum(t, n, a, b, segments, at, at + 1);
}
#endif
