// Device-wide scans and selections of CUB.
// module scan-sum-i32 -DSUM
// module scan-affine -DAFFINE
// module scan-by-key -DBY_KEY
// module select-if -DSELECT
// module partition -DPARTITION
// module unique-by-key -DUNIQUE
// module run-lengths -DRUNS
#include <cub/cub.cuh>

struct Even {
    __device__ bool operator()(int a) const { return (a & 1) == 0; }
};

#if defined(SUM)
cudaError_t scan(void* t, size_t& n, const int* a, int* b, int count) {
    return cub::DeviceScan::InclusiveSum(t, n, a, b, count);
}
#elif defined(AFFINE)
// x -> scale * x + shift, one behind the other: associative, and not commutative.
struct Affine {
    double scale, shift;
};
struct Then {
    __device__ Affine operator()(Affine f, Affine g) const {
        return {f.scale * g.scale, g.scale * f.shift + g.shift};
    }
};
cudaError_t scan(void* t, size_t& n, const Affine* a, Affine* b, int count) {
    return cub::DeviceScan::ExclusiveScan(t, n, a, b, Then(), Affine{1, 0}, count);
}
#elif defined(BY_KEY)
cudaError_t scan(void* t, size_t& n, const int* keys, const float* a, float* b, int count) {
    return cub::DeviceScan::ExclusiveSumByKey(t, n, keys, a, b, count);
}
#elif defined(SELECT)
cudaError_t scan(void* t, size_t& n, const int* a, int* b, int* selected, int count) {
    return cub::DeviceSelect::If(t, n, a, b, selected, count, Even());
}
#elif defined(PARTITION)
cudaError_t scan(void* t, size_t& n, const int* a, int* b, const char* flags, int* selected, int count) {
    return cub::DevicePartition::Flagged(t, n, a, flags, b, selected, count);
}
#elif defined(UNIQUE)
cudaError_t scan(void* t, size_t& n, const int* a, const double* v, int* b, double* w, int* selected, int count) {
    return cub::DeviceSelect::UniqueByKey(t, n, a, v, b, w, selected, count);
}
#else
cudaError_t scan(void* t, size_t& n, const int* a, int* b, int* lengths, int* runs, int count) {
    return cub::DeviceRunLengthEncode::Encode(t, n, a, b, lengths, runs, count);
}
#endif
