// A shuffle under the mask of a branch, behind a 64-bit remainder in a subroutine: from ptxas at -O2 and -O3 its low word is wrong.
// ptxas keeps the mask that the loop takes lanes from in UR6, inside the branch, and the other side of the branch writes UR6 too: where
// the two sides run in turn, as the simulator lets them, one destroys what the other has. Right when a side runs to its end at once.
// Seed 12317; ptxas 13.0.88 stands alone.
// without: ptxas
// nvcc: full
// launch: kernel 12317 grid 1 block 32 outputs 1
// in: dd17833c2e7151f5 00000000900d9fc7 fffffffffffffffa 010000004a369568 0000001055555555 00000000ffffffff 0000080000000000 000000000000000c 48de2cf2cfc23d05 0000000000000002 fd85c6645bf3f93b 0000000000000005 000000000000000c fffffffffffffff3 c807dbb480000000 000000000000001f ffffffffffffffe1 0000000000010000 00000000b2a1abc8 000000000cec8777 0000000000000009 0000000935ced979 0000000000000001 0000ffff00000000 fffffffffffffff0 000000003d9674c2 c3e9d4b000000000 0000000000000004 c7e5c1a24750a1a4 216613348adfe169 000000000000ffff 0bf62ee051647f36 068b6f5f84722a65 ffffffffffffffee 000000001aea8a37 cdc0b945e3e28f93 0000000000000012 0cbffb7c00000000 ff09020e4728b644 00000000a2d67ffc 0000800000000000 b9a6c1a374a3816d 0000000048c43431 1d775ee0bb6c48e7 ffffffffffffffee 0000000000001000 0000000000000002 2348510d172f310b 55555555ffffff81 000000005eab6494 fffffffffffffff6 0000000000000012 ccd3912fcdbda947 000000000000000a 0000001200000004 0000000000000011 0000000000000000 b1b0208eb471ce02 fffffffc00000002 00000000d1e90a70 000000009d85d77f 0000000000000001 0000000000000014 000000057fffffff 0000000800000000 360ecf6ef8981cd4 000000000000000d 0000000099034d6c 00000000f2a62d15 0000000800000000 0000000100000000 c06beff38b243136 0000000028e585bb 39380646f6965f05 0000000000000005 0001000000020000 ffffffff80000000 234c4fa3a2742a65 ffffffffffff0001 0000000097b979df 0000000000000003 0000000000000001 0000001100080000 fd4fac15c17d464f 000000000000007f eff4cf474387ae82 0000001000000000 ffffffff00007fff 321ef12f44a5bc94 3c0da32af49b3ce9 fffffffffffffffd ac6b6ba63a7f1524 000000000000001f 35420811e3081a1a 00000000b6c29965 0002000000000000 ffffffffffffff81 ffffff8100000000 0000000000000080 00000000d5bb2e98 0000000000000007 86d36d8053134dde 00000000bf79eb14 000000002b28c110 a78dd43397e1396b 0000002000000006 a78f976833c0d8a5 20b8f01780000000 fffffffffffffff0 fffffffffffffffc 0200000040000000 fffffffffffffff7 0000000099fcc47c 0000000000000011 0000000000000006 2dfa8be1e78e13eb f9cee83a0000000b 00000001ffffffff 600ccbe1cf4c3e7e 1e7f871af2d5ff8c fffffffffffffffd 293d80635a248efa fffffffffffffff2 00000000fcb8ea35 00000000668d824c 00000000a0b652dc 00000000a1310f2d 283075820f5b0dc0 5e603246dd99826b 44e0e526c05c8e09 00000000f7d8fa42 000000000000000b 000f0ee49df3f9c9 000000005c82bd02 1bcc8f27712df845 932621016893dc8d 0000000044fcca3b 0000000000000013 9f7db79608f8f7bb 0000000000000002 555555550000007f d7745ef5ef97e0f6 0000000000000005 c4a74d6996539b41 be082d8f80000000 0000000000000008 0000080000000000 0000000000000002 000000000700bd19 451ee20ef6c0de35 99df2e8600000007 ffffffffffffffed fffffffffffffffc 000000000000000a 0000002000000012 0000000000000014 ffffffffffffffef 0000000000010000 cd6b2bf5085353cc 447fc390acf2a1c0 fffffffffffffffa 0000000026f5db1d 000000005a4a3bb2 0000000000000006 0000000000000011 0400000000000009 0000000600000011 977ad0122b78c3e9 0080000000000009 0000000000000008 0000000000000003 fffffffffffffff8 7fffffff00000000 c27c864b23a4cd42 137558a465241dae 0000000000008000 14d6a829ca37dc09 0000000000000004 0000000000000001 0000000020000000 0000000000000002 00000000d12b45f4 0008000000000000 4d6334a4a8f8e430 fffffffffffffffb fffffffffffffff9 000000000000000f cda4bbb82d91af0b c7233d3c1e6d1c80 000000007fffffff bdb8fee27e91a99d 300cd871f146209f fffffffffffffff7 000000000000000c b3297a49684cf2b7 fffffffffffffffc ffffffffffffffec d758524a66feb396 ffffffffffffffff fffffffffffffff8 00000000b5fcf22e 0000000000000004 0000000000000014 ffff800100000011 06c12d3964f04a2a 000000000000000d 000000005c47f89c ffffffffffff8000 aac9f3a3911aacee da7e95aaefaa2e5c 00000000d8a907b9 fffffffd0000000e 000000000000000c 0000000000000013 5e4ea4684a5435ea fffffffefc729a38 0000000001a69eab d574bc7f5d5748ae 0000000000000008 fffffffffffffffe db721f76e3a322d8 80000000fffffffe 38ccdacd25a4b1cb 000000004113425e d5cff6b18405307f 36a7f741701ddeac ca781cc248741a01 ba5654367c768354 000000000000000a 0000000000000011 0000000755555555 fffffffffffffffa 000000000000000b 0000000000001000 000000007f369691 0000000000000009 000000005ed2680c dbb28bfeb198fe54 0000000000000000 fb45813c8771ebcb 00000001ffff0000 000000200000000e ffffffffffffffed aaaaaaabffffff01 ffffffffffffffec 00000000000000ff d736aa544644521b 0000000023a35feb 000000008f0d12d2 97b8b5fa53afd55e 0000000000000012 0000000000000004 ffffffffffffffed a1318bba17c443ca 0000000078f86b6c 0040000000000000
// inout: a5a5a5a5a5a5a5a5*32
// inout: 0000000000000000
// u32: 2574644397
// expect: 0000000000000001 0000000000000000*3 0000000000000001 0000000000000000*2 0000000000000001*3 0000000000000000 0000000000000001*2 0000000000000000*3 0000000000000001 0000000000000000*6 0000000000000001 0000000000000000*2 0000000000000001 0000000000000000*5
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

// seed 12317
struct S12317_0 {
    i64 f0;
    i8 f1;
    i32 f2[5];
    i64 f3;
    i32 f4[8];
};
struct SW12317 {
};
struct GW12317 {
};
extern "C" __global__ void k12317(const u64* __restrict__ in, u64* out, GW12317* gw, i32 v0) {
    const u32 thread = blockIdx.x * 32u + threadIdx.x;
    in += thread * 8u;
    out += thread * 1u;
    const u32 m0 = 0xffffffffu;
    __shared__ u8 s1[32];
    s1[threadIdx.x] = u8{};
    __shared__ u32 s2[32];
    s2[threadIdx.x] = u32{};
    i16 v3 = 0;
    u64 v4 = 0;
    u16 v5 = 0;
    u32 v7 = 0;
    u64* v8;
    u8* v9;
    i32 v10 = 0;
    i64 v11 = 0;
    v3 = (i16)in[5];
    v5 = (u16)in[7];
    v7 = (u32)in[1];
    v8 = 0 ? at(v4) : at(v4);
    v9 = 0 ? at(s1[threadIdx.x]) : at(s1[threadIdx.x]);
    {
        const bool c1 = (1 > (i32)v7);
        const u32 m1 = __ballot_sync(m0, c1);
        const u32 m2 = m0 ^ m1;
        if (c1) {
            (*v8) = remainder((u64)v3, (u64)v5);
            v11 = __shfl_sync(m1, (1ll), nth(m1, (u32)845446701u));
        } else {
            v10 = __shfl_sync(m2, 0, nth(m2, (u32)5u));
        }
    }
    (*v9) = (u8)v4;
    out[0] = bits((i64)v11);
}
