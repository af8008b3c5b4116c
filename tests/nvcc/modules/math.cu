// What the toolkit's own headers and libdevice make of CUDA C: functions of mathematics, narrow floats, printf and malloc.
// module math-f32 -DTYPE=float
// module math-f64 -DTYPE=double
// module math-narrow -DNARROW
// module math-host-calls -DCALLS
#undef NDEBUG
#include <cassert>
#include <cstdio>
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>

#if defined(TYPE)
extern "C" __global__ void angles(TYPE* a) {
    TYPE x = a[threadIdx.x], s, c;
    sincos(x, &s, &c);
    a[threadIdx.x] = s + c * tan(x) + asin(s) * acos(c) + atan2(s, x) + sinpi(x) - cospi(x);
}
extern "C" __global__ void powers(TYPE* a) {
    TYPE x = a[threadIdx.x], y = a[threadIdx.x + 32];
    a[threadIdx.x] = pow(x, y) + exp(x) - log(y) + exp10(x) * log1p(y) + cbrt(x) / hypot(x, y) + expm1(y) + rsqrt(x);
}
extern "C" __global__ void special(TYPE* a, int* n) {
    TYPE x = a[threadIdx.x], y = a[threadIdx.x + 32];
    a[threadIdx.x] = erf(x) + erfc(y) + erfinv(x) + normcdf(y) + tgamma(x) + lgamma(y) + j0(x) + y1(y) + jn(3, x) + cyl_bessel_i0(x);
    a[threadIdx.x + 64] = fmod(x, y) + remainder(x, y) + nextafter(x, y) + frexp(x, n + threadIdx.x) + ldexp(y, n[0]);
}
#elif defined(NARROW)
template <class T>
__device__ T mix(T a, T b) {
    return __hfma2(a, b, h2exp(a)) + h2rsqrt(__hmax2(a, b)) * h2tanh(b) - h2log2(a);
}
extern "C" __global__ void halves(__half2* a) { a[threadIdx.x] = mix(a[threadIdx.x], a[threadIdx.x + 32]); }
extern "C" __global__ void brains(__nv_bfloat162* a) { a[threadIdx.x] = mix(a[threadIdx.x], a[threadIdx.x + 32]); }
extern "C" __global__ void eights(const __nv_fp8_e4m3* a, __nv_fp8x4_e5m2* b, float* sums) {
    float4 f = make_float4(float(a[threadIdx.x]), float(a[threadIdx.x + 1]), __half2float(__half(a[threadIdx.x + 2])), sums[0]);
    b[threadIdx.x] = __nv_fp8x4_e5m2(f);
    atomicAdd(reinterpret_cast<__half2*>(sums) + threadIdx.x, __floats2half2_rn(f.x, f.y));
    atomicAdd(reinterpret_cast<__nv_bfloat16*>(sums) + threadIdx.x, __float2bfloat16(f.z));
}
#else
struct Shape {
    __device__ virtual float area() const = 0;
    __device__ virtual ~Shape() {}
};
struct Circle : Shape {
    float r;
    __device__ Circle(float r) : r(r) {}
    __device__ float area() const override { return 3.14159265f * r * r; }
};
struct Square : Shape {
    float a;
    __device__ Square(float a) : a(a) {}
    __device__ float area() const override { return a * a; }
};
__device__ int ackermann(int m, int n) { return m == 0 ? n + 1 : n == 0 ? ackermann(m - 1, 1) : ackermann(m - 1, ackermann(m, n - 1)); }
extern "C" __global__ void shapes(const float* sizes, float* areas, int count) {
    for (int i = threadIdx.x; i < count; i += blockDim.x) {
        Shape* shape = sizes[i] < 0 ? (Shape*)new Circle(-sizes[i]) : new Square(sizes[i]);
        assert(shape != nullptr);
        areas[i] = shape->area();
        if (areas[i] > 1e6f) printf("%d: %f of %s\n", i, areas[i], sizes[i] < 0 ? "a circle" : "a square");
        delete shape;
    }
    areas[count] = ackermann(2, threadIdx.x & 3);
}
__device__ float twice(float x) { return 2 * x; }
__device__ float halved(float x) { return 0.5f * x; }
__device__ float (*const table[])(float) = {twice, halved, sinf, logf};
extern "C" __global__ void pointers(float* a, const int* which) { a[threadIdx.x] = table[which[threadIdx.x] & 3](a[threadIdx.x]); }
#endif
