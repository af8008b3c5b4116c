// Histograms, copies and transformations of CUB.
// module histogram-even -DEVEN
// module histogram-channels -DCHANNELS
// module batched-copies -DCOPIES
// module transform -DTRANSFORM
// module adjacent-differences -DADJACENT
#include <cub/cub.cuh>

#if defined(EVEN)
cudaError_t run(void* t, size_t& n, const float* a, int* bins, int levels, float low, float high, int count) {
    return cub::DeviceHistogram::HistogramEven(t, n, a, bins, levels, low, high, count);
}
#elif defined(CHANNELS)
cudaError_t run(void* t, size_t& n, const unsigned char* a, int* (&bins)[3], const int (&levels)[3],
                const int* (&at)[3], int count) {
    cuda::std::array<int*, 3> to{bins[0], bins[1], bins[2]};
    cuda::std::array<int, 3> many{levels[0], levels[1], levels[2]};
    cuda::std::array<const int*, 3> bounds{at[0], at[1], at[2]};
    return cub::DeviceHistogram::MultiHistogramRange<4, 3>(t, n, a, to, many, bounds, count);
}
#elif defined(COPIES)
cudaError_t run(void* t, size_t& n, const void** from, void** to, const unsigned* sizes, unsigned count) {
    return cub::DeviceMemcpy::Batched(t, n, from, to, sizes, count);
}
#elif defined(TRANSFORM)
struct Blend {
    __device__ float operator()(float a, float b, unsigned char w) const { return a + (b - a) * (w / 255.0f); }
};
cudaError_t run(const float* a, const float* b, const unsigned char* w, float* to, long long count) {
    return cub::DeviceTransform::Transform(cuda::std::make_tuple(a, b, w), to, count, Blend());
}
#else
cudaError_t run(void* t, size_t& n, const double* a, double* b, int count) {
    return cub::DeviceAdjacentDifference::SubtractLeftCopy(t, n, a, b, count);
}
#endif
