typedef signed char i8;
typedef unsigned char u8;
typedef short i16;
typedef unsigned short u16;
typedef int i32;
typedef unsigned int u32;
typedef long long i64;
typedef unsigned long long u64;
typedef float f32;
typedef double f64;

// Bits of a number, where all NaNs are one.
static __device__ inline u64 bits(i64 x) { return (u64)x; }
static __device__ inline u64 bits(u64 x) { return x; }
static __device__ inline u64 bits(f32 x) { return x != x ? 0x7fc00000u : __float_as_uint(x); }
static __device__ inline u64 bits(f64 x) {
    return x != x ? 0x7ff8000000000000ull : (u64)__double_as_longlong(x);
}

// The lane with this number in a mask, from its lowest on.
static __device__ inline u32 nth(u32 mask, u32 number) {
    for (number %= __popc(mask); number > 0; number--) mask &= mask - 1;
    return __ffs(mask) - 1;
}

// The mask where all its threads have one value, else none.
template <class T> static __device__ inline u32 match_all(u32 mask, T value) {
    int all;
    u32 same = __match_all_sync(mask, value, &all);
    return all ? same : 0;
}

// nvcc 13.0.88 folds `ceil` of a constant beyond 64 bits to -2^63.
static __device__ inline f64 up(f64 x) { return fabs(x) < 0x1p62 ? ceil(x) : x; }

// Where a value is; an array's first element.
template <class T> static __device__ __forceinline__ T* at(T& x) { return &x; }
template <class T, int N> static __device__ __forceinline__ T* at(T (&x)[N]) { return x; }
template <class T> static __device__ __forceinline__ T* at(T*& x) { return x; }

