// Threads wait at one vote, that of a function which three places call, under two masks: some for all threads of the warp, others for
// those that are still in the inner loop. The interpreter once took the latter for having come to the vote of all; then the threads
// were apart at the halves of a shuffle, and exchanged nothing. Seed 61711.
// nvcc: little
// launch: kernel 61711 grid 1 block 32 outputs 1
// in: fffffffe0000001f 00000000bc7340aa 0000000f0000000a 878ffcba1e72f014 0000000002000000 ef03eb0205c947c8 0001000000000005 fffffffffffffff0 00000000c6ccd03f 00000000ffffffff 0000800000007fff 000000003e2a2c41 00000000585d5ee6 32be13772739f75a 0100000000000000 bf13684907b2458e be58254d32045578 5112bf41814c3267 45535a4beb99cdba fffffffffffffff8 0000000000000006 000000000000000c 0000000000000008 0000000000000011 aaaaaaab00000011 000000002c6aacbf 00000000b5dad0b1 0000000800008000 00000000c42372fc ffffff8100000001 464cafbea40e2d25 ffffffe000000001 d55b06a91c0c8710 f29f2771e8c32227 fffffffffffffff5 ffffffffffffffe1 c3b4947b00000011 fffffffffffffffd 000000027fffffff ffffffffffffff80 6c40eef8a786685c 0000000000000011 63df6e066d5ced24 00000000dbf22838 0000000000000011 000000008f143645 fffffffffffffff7 fffffffffffffffe fffffffeffffff81 0000001200000011 7b34ca7065f12fac 000000000000000b ffffffff00000001 00007fff7fffffff 76ee5673b36d52a2 fdde53fd6c218c5b 000000007dcdcd6c 0000000000000011 0000000044ae6385 00000000279bfd14 0000001200000014 408e9fd3b0d208f9 0000007f00000002 0000000000000004 00000000c8cb8e32 000000002e16b080 0000040000000000 fffffffffffffff0 7fffffff00000000 fff3759b1405f976 c67060eaa84d069b d642fc6b51d5667b 7b956f7e00000000 1a942a5c9d25bb2a fffffffeffffff81 ffffffffffffffe1 63e65295260cd017 000000006755791a fffffffffffffffc 00000000e2db07cc 0000000000000000 000000000000000b fffffffffffffffc fffffffffffffffd fa8d35b3f5abb9fe 0000000000000020 000000000ccba43d 00000000a1b2fa9b fffffffffffffffa 00000000089afb0d 0000000020093c56 0000000841497e38 7426a82652cfeab0 0000000000000009 00000000471b48bb 000000000000000a fffffffffffffff0 3e011ead63e26485 000000004a829aef 000000000000000a ffffffffffff8001 0000000000000001 000000120000ffff ffffffe000004000 2844a72e16b63aa7 4ada3c56d100e5a8 000000000000000f ffffffffffffffef 0000000000080000 f05ebbcb5230c278 9689f7aca1bfa6a0 00000008ffffff01 fffffffffffffffc e8f26c64342976d8 000000000000001f 0000000000000014 8643fbbad8ddddb5 0000000000000010 0000000000000100 ffffffffffffff01 3c883f3a44bb0ee4 6fa5bac2d71381f4 ad7fb60e77a66c50 929a9c0b99e60f51 00000000eccfff46 c06b90340e88bd99 00000000e5f242be f5233b3bc5504470 000000060000ffff 4c6c26332ef0e801 00000000e751d39f ffffffffffff8000 fffffffffffffff2 0001000000000000 ffffffffffffffec fffffffffffffff7 000000080000000f fffffffffffffffb ffffffffaaaaaaab 000000000006dff4 00000000e6aa538f 000000007fffffff ffffffffaaaaaaab 00000000771c59d8 04000000ff00ff01 00000000905ea468 8000000043c89d12 0000000000000001 0000000024506e08 0000000099436ae3 4abc046acc9eb207 7fffffffffffff01 68225da5bca2ba59 000000005b771afa 1f3197c18a8b969d 0001000000000000 000000000000007f 8948d2a4939c9806 00000000ffffffff ffffff01ffff8001 000000000000000d ffffffffffffffe1 fffffffe00000005 f5dba54d5a13f0fa 0000000000000012 5555555500000010 0000000000000011 fab7d5d56ca2c67f 8e12f9b7d6c6959b fffffffffffffff8 0000000000000012 f287bb2ea381408c 000000006049e0f8 ffffffffffffffec 1018af3723034878 53d2bd4dffffff01 0000000000000000 00000000c87616fd ffffffe1ffff8000 00007fffffffffff ea39d10f0000000a fa9afadab8b3c37f ffffffffffffffe1 1ff1102900010000 4c46ac25f7b236d7 0000000792f93b72 0000000000000011 bd9152077592bbb8 fffffffffffffff1 0000000000000007 0000008040000000 fffffffffffffffd 000000000000000c ffff800000000080 8000000002000000 0000000e00000000 ffffffffffff0001 00000000e3fec529 fffffffffffffffa 80000001000000ff 0000000000000009 00000001ffffffff fffffffffffffff6 000000000000007f 000000000bd09f19 0000040000000000 0000000000000014 ff00ff0155555555 be6f3da71d63a08d 0200000000000000 000000005b3f2daf fffffffffffffff2*2 0000000000000000 000000000000007f fffffffffffffff1 0000000000000012 000100000000000a fffffffffffffff8 5fc387d2ef90f7ad e4c58ddac2588447 5a08a6cb10e2abd4 000000100000007f 0000000000000010 00000000d3d3b26a aaaaaaab60f5aab8 00000000f0ea49fa affc62f4fb1e30af fffffffffffffffd 000000000b0af6ef 0000800002000000 fffffffffffffff4 000000000000000a 0000002000000012 0000000000007fff 0000000800007fff 00000000a3456aab 00000013b123d386 04ad3e0e5749475e 0000000000000002 000000002405a4b2 64963d2f8499bbeb fffffffffffffffc ffffffe100000012 0000000d00000020 683903b981f5c031 30c67f8c00000000 4f0e37411ffdb7cd c0d9b4ceebf66357 00000000073947db 0000000000000001 00000004f5d8cbd4 0000000000008000 000000001573615c 7e085a3bd2c230d1 fda23f8e00000005
// inout: a5a5a5a5a5a5a5a5*32
// inout: 0000000000000000
// u32: 1101260791
// inout: a5a5a5a5a5a5a5a5*48
// inout: a5a5a5a5a5a5a5a5*192
// expect: 3ff0000000000000*32
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

// seed 61711
struct S61711_2 {
    f64 f0;
    u64 f1;
    i32 f2;
    f32 f3[3];
    ulonglong2 f4;
};
struct SW61711 {
};
struct GW61711 {
};
extern "C" __global__ void k61711(const u64* __restrict__ in, u64* out, GW61711* gw, i32 v0, uint3* g1, S61711_2* g2) {
    const u32 thread = blockIdx.x * 32u + threadIdx.x;
    in += thread * 8u;
    out += thread * 1u;
    const u32 m0 = 0xffffffffu;
    g1[thread] = uint3{};
    g2[thread] = S61711_2{};
    i8 v5 = 0;
    f64 v8[8] = {};
    i32 v12 = 0;
    i32 v13 = 0;
    v5 = (i8)in[6];
    {
        u32 m1 = m0;
        for (v12 = 0;; v12 += 1) {
            const bool c1 = v12 < 1 && ((i8)__sad(0, 0, 0u) != (i8)(1));
            m1 = __ballot_sync(m1, c1);
            if (!c1) break;
            {
                u32 m2 = m1;
                for (v13 = 0;; v13 += 1) {
                    const bool c2 = v13 < 1 && (v5 <= (i8)(0));
                    m2 = __ballot_sync(m2, c2);
                    if (!c2) break;
                    v5 = (i8)(threadIdx.x % 32);
                }
            }
        }
    }
    v8[1] = __shfl_up_sync(m0, (f64)(i8)(1), (u32)1u % 32);
    out[0] = bits(v8[1]);
}
