// Algorithms of Thrust, on the device.
// module thrust-sort -DSORT
// module thrust-sets -DSETS
// module thrust-statistics -DSTATISTICS
// module thrust-search -DSEARCH
#include <thrust/adjacent_difference.h>
#include <thrust/binary_search.h>
#include <thrust/device_ptr.h>
#include <thrust/execution_policy.h>
#include <thrust/extrema.h>
#include <thrust/iterator/zip_iterator.h>
#include <thrust/remove.h>
#include <thrust/set_operations.h>
#include <thrust/sort.h>
#include <thrust/transform_reduce.h>
#include <thrust/unique.h>

#if defined(SORT)
using Point = thrust::tuple<float, float, int>;
struct Below {
    __host__ __device__ bool operator()(Point a, Point b) const {
        float x = thrust::get<0>(a), y = thrust::get<0>(b);
        return x < y || (x == y && thrust::get<1>(a) < thrust::get<1>(b));
    }
};
void run(float* x, float* y, int* ids, int count) {
    auto first = thrust::make_zip_iterator(x, y, ids);
    thrust::stable_sort(thrust::device, first, first + count, Below());
}
#elif defined(SETS)
int* run(const int* a, int na, const int* b, int nb, int* to) {
    auto end = thrust::set_intersection(thrust::device, a, a + na, b, b + nb, to);
    end = thrust::unique(thrust::device, to, end);
    return thrust::remove_if(thrust::device, to, end, [] __device__(int i) { return i < 0; });
}
#elif defined(STATISTICS)
struct Moments {
    double n, mean, square, low, high;
};
struct One {
    __host__ __device__ Moments operator()(float x) const { return {1, x, 0, x, x}; }
};
struct Both {
    __host__ __device__ Moments operator()(const Moments& a, const Moments& b) const {
        double n = a.n + b.n, d = b.mean - a.mean;
        return {n, a.mean + d * b.n / n, a.square + b.square + d * d * a.n * b.n / n, fmin(a.low, b.low), fmax(a.high, b.high)};
    }
};
Moments run(const float* a, int count) {
    return thrust::transform_reduce(thrust::device, a, a + count, One(), Moments{}, Both());
}
#else
void run(const double* sorted, int n, const double* asked, int count, int* low, int* high) {
    thrust::lower_bound(thrust::device, sorted, sorted + n, asked, asked + count, low);
    thrust::upper_bound(thrust::device, sorted, sorted + n, asked, asked + count, high);
    thrust::adjacent_difference(thrust::device, low, low + count, high);
}
#endif
