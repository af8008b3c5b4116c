// A vote of the whole warp, and one of those for whom it did not hold, in a loop: nvcc copies them into both ways of a branch that
// threads take apart. PTX lets threads at different votes of one mask vote together; the interpreter and our code let them vote apart,
// and then wait for each other for ever.
// Seed 61927.
// nvcc: full
// launch: kernel 61927 grid 1 block 32 outputs 0
// in: 19a18ac5ac20a071 fffffffffffffff6 000000000f5ec6cc 0000000014e0c2bc 000000000000000e e60eba246c1ca0c3 0000000031cdc3a9 fffffffffffffff2 0002000000000000 3e6000f5033b229a ffffffffffffffff ffffffffffff0000 0000000000000014 00000000d0d5e879 000000002bc833ff 000000005f6dda29 ffffffffffffff01 0000000061d7e7f5 0000000037ada639 0000000000000013 4c3042a4393149b8 000000008bfd8097 963e25c37e76bd6d ffffffffffffffed fffffffffffffffe fffffffffffffff2 ffffffffffffffee 0000000000000000 0000000000000001 c3a897ae5ee7905e 0000000040000000 ee6da7f2316eb6f9 4c43b6c1dd4cda1f 000000004e863c33 ffffffffffff8001 34c5994db0c33053 650daaba90e38331 00000000475a80d4 7b2839a5fffffffd 762a88178c1c6168 e23c82398e045e8d ffffffffffffffec ffff0000ffff0001 0000000022abdc17 fffffffffffffffb ffffffe000000012 00000000c0923348 ffffff01ffffff80 ffffffffffffffff fffffffffffffffc 000000004d49df8f 0000000000000006 00000000b787f58a 0000000400000000 00000009ffffffff 0000000fffffff80 0000000000000001 00000006ffff0000 000000086b14ca38 fffffffffffffff4 c4f6b9d815e7a70e 000000000000000a*2 0000000000000008 fffffffffffffff8 0000000000ff00ff 000000009641a789 0000000000000000 0000000f00000000 ffffffffffffffee 000000008d80daec d44d9663fc49f377 0000000a00000005 000000000000000d 000000000000000c 0000000000000008 ffff00002d681363 0000000000000002 0000000000000000*2 fffffffe0000007f 000000000000000a 000000004740fe2d 000000000000ffff b362858ec316273e 0000000000000004 000000000000000b ba6c979096215877 000000000000000b 8000000000000000 a2b9187187ae4ab8 000000009ca248e2 00000000fc4cfb4a 0000000060cdb404 000000004d19fe15 000000007aca7058 eb1e83a5278f8a92 00000000ffffffff aeadeee342fc0f4a 00000000efa8615c 0000000000000009 0000000000000012 0000000000000009 58ec74c0448cb4e8 0000000077c84efd 398f734d17627103 1539b367d124b9ae 0000000060ae76ce 00000000e303832a ffffffffffff0000 ffffffff00000000 0000000000000010 fffffffffffffff2 fffffffffffffff1 0000000000000000 fb75cabe1d52e19c fffffffffffffffd 0000000068aedf6e 00000000be4f727b 00010000d0578310 5ffc17b155977113 bb89e204ff00ff01 2a9206f1e3f4d6b2 0000000000000010 a819ef103a88d28f b1027d8319432b6a 00000000a9b55d73 5555555500000002 00000000f25bddda 00000000964e1b5c 8218c15600000004 0000000027b26b84 00000000c0979581 beff7626d9cc9fe0 0000000ea4de7eb9 a18104b6b73ed567 000000000000000b 0000000000000003 0000000000002000 ffffffff00000001 fffffffffffffffe 0000000180000000 000000000000000d 00000000b93b106c 0000000000000008 00000001ff00ff01 0000000055555555 00000000731839bf 00000000ecb7da7f 0000000000000040 3fff0f8e592628bc 0000000000000008 00000000bc699376 ee3abee6457a817e ffff800100040000 0000000000000000 8c114efc1e0921f9 ffffffffffffffe0 0000000000000014 fffffffe00000003 000000ff3b3240d1 0000000155555555 000000004f0ca813 ffffffffffffffed 120163002b6beded ffffff01ffffffe1 0000000000000004 164de2b269d1ce87 ffffff8000000013 000000000000000c fffffffffffffffc 0000000700000006 0000000000008000 75e409857fac9b7c fffffffffffffffb fffffffffffffff7 cb181f53bf23e6ae 0000040000000000 21be939a3d091e9f 000000020000000a 0000000050ecf8c9 0000000400000000 fffffffffffffff6 933e835cd930886a 0000000180000000 0000000000000001 0000000b0000000d 4458e4ef94beb77b 0000000000000011 00000000c89c7f4c 496145727111060d 000000000000000d 811c8f9ba4bd0351 0000000000000013 0000000000000002 c509852900000004 000000003fda92de 7bb55b200ed6332b 00000000ff5b46ce a68c55ae667182c0 0000ffff5376fc33 9ca68ee30000000e 0000400000000003 fffffffffffffff3 4e947d00c58fab98 3e505962ce9c86e7 00000000a19802f9 93936a3937111802 ffffffffffff8000 fdc9ab5ece607d7e 2b6063f9a09e1e6e 00000000d4de3bda ffffffffffffff01 0000000000000008 0000000080000000 0000000000000011 fffffffffffffff9 0000000000000013*2 7f392b08b91405c6 0010000080000000 0000000900ff00ff 74209e403a438061 0000000082af329c 00000000000000ff 00000000ba7d424a 0000008000000000 ffffffffffffffee 0000000000000007 db57f28674136228 0000000049cc4541 0040000000000000 0000ffff14605c84 ffffffffffffffed 60862f5600000020 7e9440b55facff27 153623e19b7e0a98 000000015ea9d8a8 fffffffffffffffc e6cea18a5b187aea 0400000000000000 fa873736d7cbfcf7 ffff800078bd6a34 0000000000008000 0000000026d4e9db ffffffe000000400 fffffffffffffffd 00000000c17f397e ffffffffffffffed 10ba8926e6b3742f ffffffffaaaaaaab 000000006d21ee58 000000000000000e 0000000000007fff ffffff8100000013 00000000c5b0b10f
// inout: a5a5a5a5a5a5a5a5*32
// inout: 0000000000000000
// u64: 3120818181992723055
// inout: a5a5a5a5a5a5a5a5*352
// inout: a5a5a5a5a5a5a5a5*352
// expect: 
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

struct S61927_0 {
    u32 f0[8];
    u8 f1;
    u32 f2[5];
    i64 f3;
};
struct S61927_1 {
    f64 f0;
    S61927_0 f1;
    i32 f2;
    u8 f3;
    u64 f4;
};
struct SW61927 {
    alignas(8) i32 w0;
    alignas(8) u32 w1;
};
struct GW61927 {
};
extern "C" __global__ void k61927(const u64* __restrict__ in, u64* out, GW61927* gw, u64 v0, S61927_1* g2, S61927_1* g3) {
    const u32 thread = blockIdx.x * 32u + threadIdx.x;
    in += thread * 8u;
    out += thread * 0u;
    const u32 m0 = 0xffffffffu;
    __shared__ i16 s1[32];
    s1[threadIdx.x] = i16{};
    g2[thread] = S61927_1{};
    g3[thread] = S61927_1{};
    __shared__ SW61927 sw;
    if (threadIdx.x == 0) {
        sw.w0 = 919548871;
        sw.w1 = 1671856394u;
    }
    __syncthreads();
    volatile f64 v4 = 0;
    f32 v5 = 0;
    S61927_0 v8 = {};
    S61927_1 v9 = {};
    i32 v13 = 0;
    i32 v15 = 0;
    u32 v19 = 0;
    v5 = (f32)in[6];
    v8.f2[0] = (u32)in[2];
    for (v13 = 0; v13 < (i32)((u32)(i32)((u32)1 - (u32)(i32)blockIdx.x) % 2); v13 += 1) {
        {
            const bool c1 = (v5 <= (0x0p-149f));
            const u32 m1 = __ballot_sync(m0, c1);
            const u32 m2 = m0 ^ m1;
            if (c1) {
            } else {
                v9.f3 = (u8)(u32)(i32)(0u >= v8.f0[(u32)(i32)(threadIdx.x % 32) % 8]);
                {
                    u32 m3 = m2;
                    for (v15 = 0;; v15 += 1) {
                        const bool c2 = v15 < 1 && ((f32)v8.f2[0] > (0x0p-149f));
                        m3 = __ballot_sync(m3, c2);
                        if (!c2) break;
                    }
                }
            }
        }
    }
    v4 = (f64)v9.f3;
    {
        __syncthreads();
        const u32 x3 = sw.w1;
        __syncthreads();
        v19 = x3;
    }
}
