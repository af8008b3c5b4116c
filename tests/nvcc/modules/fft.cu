// Transforms of cuFFTDx.
// module fft-64-f32 -DSIZE=64 -DTYPE=float
// module fft-512-f32 -DSIZE=512 -DTYPE=float
// module fft-1000-f64 -DSIZE=1000 -DTYPE=double
#include <cufftdx.hpp>
using namespace cufftdx;

using Transform = decltype(Size<SIZE>() + Precision<TYPE>() + Type<fft_type::c2c>() + Direction<fft_direction::forward>() + Block() + SM<900>());

template <class T>
__global__ void __launch_bounds__(T::max_threads_per_block) transform(typename T::value_type* data) {
    typename T::value_type mine[T::storage_size];
    extern __shared__ __align__(alignof(float4)) typename T::value_type shared[];
    unsigned first = (blockIdx.x * T::ffts_per_block + threadIdx.y) * size_of<T>::value;
    for (unsigned i = 0; i < T::elements_per_thread; i++) {
        unsigned at = i * T::stride + threadIdx.x;
        if (at < size_of<T>::value) mine[i] = data[first + at];
    }
    T().execute(mine, shared);
    for (unsigned i = 0; i < T::elements_per_thread; i++) {
        unsigned at = i * T::stride + threadIdx.x;
        if (at < size_of<T>::value) data[first + at] = mine[i];
    }
}
template __global__ void transform<Transform>(typename Transform::value_type*);
