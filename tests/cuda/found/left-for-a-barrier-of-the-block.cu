// A loop that is left in its middle for a barrier of the block, with nothing but the exit behind it: at -O2 and -O3 ptxas has no BREAK
// before that way out (as before a way that only exits), and WARPSYNC.ALL before the barrier. Who waits at the loop's BSYNC and who
// waits at WARPSYNC.ALL wait for each other; so simple a kernel must run on a machine. The simulator lets the former go when no lane
// of the warp can go on otherwise; our code has BREAK there, and is not let go.
// Seed 30777.
// nvcc: little
// launch: kernel 30777 grid 1 block 2 outputs 1
// in: 0000000000000006 c74416829e2eec5b fe2c501d78447968 ffffffffffff0001 000000001ca5eb60 00000000d49769d7 00000000df4b7016 879e67e500000007 1566af667346a1ed 000000800000007f fffffffffffffff0 0000000000000007 1cdc5c5900000010 0000002000000000 000000000000000e ffffffffffffffef
// inout: a5a5a5a5a5a5a5a5*2
// inout: 0000000000000000
// u32: 1761105610
// inout: a5a5a5a5a5a5a5a5
// inout: a5a5
// expect: 0000000000000002 0000000000000001
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

static __device__ inline i8 quotient(i8 x, i8 y) { return (i8)(y == 0 || (y == -1 && x == (-127 - 1)) ? x : (x / y)); }
static __device__ inline i8 remainder(i8 x, i8 y) { return (i8)(y == 0 || (y == -1 && x == (-127 - 1)) ? x : (x % y)); }
static __device__ inline u8 quotient(u8 x, u8 y) { return (u8)(y == 0 ? x : (x / y)); }
static __device__ inline u8 remainder(u8 x, u8 y) { return (u8)(y == 0 ? x : (x % y)); }
static __device__ inline i16 quotient(i16 x, i16 y) { return (i16)(y == 0 || (y == -1 && x == (-32767 - 1)) ? x : (x / y)); }
static __device__ inline i16 remainder(i16 x, i16 y) { return (i16)(y == 0 || (y == -1 && x == (-32767 - 1)) ? x : (x % y)); }
static __device__ inline u16 quotient(u16 x, u16 y) { return (u16)(y == 0 ? x : (x / y)); }
static __device__ inline u16 remainder(u16 x, u16 y) { return (u16)(y == 0 ? x : (x % y)); }
static __device__ inline i32 quotient(i32 x, i32 y) { return (i32)(y == 0 || (y == -1 && x == (-2147483647 - 1)) ? x : (x / y)); }
static __device__ inline i32 remainder(i32 x, i32 y) { return (i32)(y == 0 || (y == -1 && x == (-2147483647 - 1)) ? x : (x % y)); }
static __device__ inline u32 quotient(u32 x, u32 y) { return (u32)(y == 0 ? x : (x / y)); }
static __device__ inline u32 remainder(u32 x, u32 y) { return (u32)(y == 0 ? x : (x % y)); }
static __device__ inline i64 quotient(i64 x, i64 y) { return (i64)(y == 0 || (y == -1 && x == (-9223372036854775807ll - 1)) ? x : (x / y)); }
static __device__ inline i64 remainder(i64 x, i64 y) { return (i64)(y == 0 || (y == -1 && x == (-9223372036854775807ll - 1)) ? x : (x % y)); }
static __device__ inline u64 quotient(u64 x, u64 y) { return (u64)(y == 0 ? x : (x / y)); }
static __device__ inline u64 remainder(u64 x, u64 y) { return (u64)(y == 0 ? x : (x % y)); }

struct S30777_2 {
    f32 f0;
};
struct S30777_3 {
    S30777_2 f0;
    u8 f1;
    u16 f2;
    u64 f3[8];
    u32 f4[2];
};
struct S30777_4 {
    u8 f0;
    u8 f1;
};
struct SW30777 {
    alignas(8) i32 w0;
};
struct GW30777 {
};
extern "C" __global__ void k30777(const u64* __restrict__ in, u64* out, GW30777* gw, u32 v0, S30777_2* g3, u8* g4) {
    const u32 thread = blockIdx.x * 2u + threadIdx.x;
    in += thread * 8u;
    out += thread * 1u;
    const u32 m0 = threadIdx.x / 32 == 0 ? 0x3u : 0xffffffffu;
    __shared__ u8 s1[2];
    s1[threadIdx.x] = u8{};
    __shared__ ulonglong2 s2[2];
    s2[threadIdx.x] = ulonglong2{};
    g3[thread] = S30777_2{};
    g4[thread] = u8{};
    __shared__ SW30777 sw;
    if (threadIdx.x == 0) {
        sw.w0 = (-2147483647 - 1);
    }
    __syncthreads();
    i8 v6 = 0;
    int2 v9 = {};
    i32 v12 = 0;
    i32 v18 = 0;
    i32 v19 = 0;
    i32 v20 = 0;
    v6 = (i8)(1);
    v9.y = (i32)in[5];
    v12 = __all_sync(m0, 0 != 0) != 0;
    v18 = 0;
    do {
        v18++;
        v19 = 0;
        while (v19 < 2 && (u16)max((i32)(u16)(0), (i32)(u16)v6)) {
            v19++;
            v6 = (i8)v9.y;
        }
    } while (v18 < 2 && ((i32)v0 < 0));
    {
        __syncthreads();
        const i32 x1 = sw.w0;
        __syncthreads();
        v20 = x1;
    }
    out[0] = bits((i64)v19);
}
