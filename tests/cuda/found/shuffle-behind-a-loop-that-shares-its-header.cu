// A shuffle of the whole warp in a loop, behind a compare-and-swap loop on shared memory: with constants moved out of the way the two loops
// have one header, and those who have to try again waited at the end of the round for those who wait for them at the shuffle: a deadlock.
// ptxas has no barrier where rounds end that a collective stands in one way to. Seed 951316.
// nvcc: full
// launch: kernel 951316 grid 1 block 32 outputs 0
// in: fffffffffffffffe b10a1462f3a123e3 0000000000000020 0000001100000011 3241c86aba364b5b 000000007cb60092 ce0d37deffff8001 fffffffffffffff6 0000000600000400 0000000000000013 ffff0001ffffffff 000000000000000c 0000000024ed2db9 0000800000000000 0000000098c1b395 8c3da0ec2b2601c0 ffffffe100000000 00000080000000ff 000000005da10ba7 000000000000000f ffff000100000007 ae6ee71f215db413 ffffffffffffffee 0000000000000006 000000000000000c 0000000000000008 fa052de7fea783ac 0000000061c61abf 4fdd6adfee549c72 ffffffff55555555 0000000000000006 e902a1685724c9de 00000080e2beb8c5 81c973a4eba7dd85 ffffffffffffff80 00000009cc68cc93 fffffffffffffffd 0000000400000004 df30db5d03a20f7f 0000000000000003 4c47ce05f13b222c f8120872d64c133c df3e6e364227a983 000000005a076d66 00000003ffffff01 0000000000000003 0000000200000000 f26f8c5e04d717ea 7d65dc7ad02d9e45 ffffffffffffff80 0000000000000011 ec1a0173902dc4c6 ffffffffffff8000 000000000000000c 0000000055555555 14291530ffffffe1 a8f6d51c0c39636d 659d3994c7cff89b 000000007e4d3356 00d5711a6b1d0ccd ffffffffffffffef 0000000000000009 dad65fa8b05febd7 32601fb8ce6bb868 00000000e69897b6 0000000000010000 0000000058f95fb6 55555555ffffffe0 00000000ffff0000 000000037fffffff ffffffffffff8000 000000000000000c 780a7ece00000000 00000000195881a4 00000012ffff8000 00000000311cf6b8 00c8400af51038ea ffb75337ffffffff 00000000460c7620 0000001400000020 60ee89e0a8b516f0 0000000a65f1a2c5 ffffffffffffffed d17c7dd18903138a a4226b656744c4a5 ffffffffffffffef 71ca72c9a8db3c96 fffffffffffffffc 2af371827ce66b89 0000000000000006 9aea5a031a987bb7 0000000099c1d906 0000000000008000 0000000000010000 00000007751c7a06 3e0b6ae609ba6fe8 00000000c39ccbc2 0000000020000000 00000000681d1ace 000000000000000b 020715856737e48c 50cd0b03f160ff2c 6a07f9fe91321f75 fffffffffffffffa 0000800064661503 99df662f0ec05d61 0000000000000012 fffffffffffffffa 000000ff00000014 000000000000000f c0a781d6aebe8d75 0000000000000008 cac28c3a83c6c8c0 01000000c66e8073 0000000000000012 000000002f33b89c 0000020000000000 0000000000000003 ffffffe00000007f 0000000000000000 000000007a41aa17 0000000c5b39df46 fffffffffffffff2 000000000000000e ecef20e36e1de74a 0000000d00000003 fffffffffffffff9 0000000000000000 ffffffffffffffff 00000000b24a5986 5c09ddb94b7d60e2 55555555000000ff ffffffffffffffff 00000002ffff0001 00000000ffff8001 fffffffe00400000 00000004a3ef8025 0000000000000004 0000000000000003 89a5c3a2d2989e1b aaaaaaab00000000 ffff800000000006 0000000000000009 000000004d4090f8 0000000000000003 0001000000000000 79bf090600000000 000000007eea310e c59b53811615e448 0000000055555555 000000800000ffff 0000000000000012 000000003ed7077b fffffffffffffff2 00000000f5f6cecf ef514053d21051d4 000000000000000b 5d67a4782fbca961 8000000000000000 ffb3cd370000000e 0000000000000003 0000000000000000 fffffffffffffffb 0000000000000004 0000000000000009 0000010000000000 ffffffffffff0001 c872fb16a60fee36 b6357d636be2438b 0002000000200000 cf15979a00000002 fffffffffffffffc 0000000000000005 00000000f0221673 fffffffffffffffd 00000000e122f881 00000002b6a564e8 0000000000020000 b7aeceeb04fb8a71 0000000100000000 00000000ebef6864 75d0008800010000 0000000000000004 0bdc516e23f85d05 000000000000000a 00000000b434b5a4 00000000e865b159 f819f7efc24d11d2 ffffffffffffffef 0000000000000003 00000000925d6931 00000000662fa326 ffffffe100000000 ffffffffffff8001 0000000023f87186 0000000000000014 000000007fffffff 0a101a1a43a6a090 00000000ff79c4ea 0000000000000009 00000000528c3592 0000000039865136 0000000000000020 ffffffff00000009 2d191f5567acbb92 0000000068c2715d 000000000000001f 000000010000000b fffffffffffffff7 6942191430cd7196 729026fa0a3b9995 000000005c1a96c8 0000001400000003 0000000000000012 00000000ea1c88fa bf5254b9d1553dd2 0000000023c4ba4f 66ac05b18f57d77b fffffffffffffff0 23333922dbe2c23b 00000000e7c53b10 3fbf6126081954d3 c2ee12be26eeff3f 0000000000000010 000000004f3081c8 5ff4e6f15d143a89 fffffffffffffffd 01948cf1289e4ab9 0000000000000100 2c74cc6130c65b39 01000000ffffffe1 d29c36c1c3fe275f 00000010ffff0001 0000000c0000007f 000000ffabf6e479 e129859be8f93b33 00000000932fefee 12f887b22f5dcc7d 0000001300000002 7fffffff00000000 0000000000000013 0000000bffffff80 3b4836f920328d85 dc60251c2378fc0b 0000000000000008 0040000000000000 0000000600007fff f1fb78e4cabbed07 0000000effffff81 000000000000000b 838c15a644866116 0000000000000100 0000000029fddf9a ffffffffffffff81 080000008a2484e2 0000000000000005
// inout: a5a5a5a5a5a5a5a5*32
// inout: 0000000000000000
// u32: 1524548908
// u32: 3
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

// seed 951316
struct S951316_2 {
    u64 f0;
};
struct S951316_3 {
    ulonglong2 f0;
    u64 f1;
};
struct S951316_4 {
    u32 f0;
    u32 f1;
    u32 f2;
    u64 f3;
};
struct SW951316 {
    alignas(8) u64 w0;
    alignas(8) u32 w1;
};
struct GW951316 {
};
extern "C" __global__ void k951316(const u64* __restrict__ in, u64* out, GW951316* gw, u32 v0, i32 v1) {
    const u32 thread = blockIdx.x * 32u + threadIdx.x;
    in += thread * 8u;
    out += thread * 0u;
    const u32 m0 = 0xffffffffu;
    __shared__ SW951316 sw;
    if (threadIdx.x == 0) {
        sw.w0 = 17968515521334926104ull;
        sw.w1 = 4294967295u;
    }
    __syncthreads();
    i64 v7 = 0;
    i32 v8 = 0;
    for (v8 = 0; v8 < (i32)((u32)(i32)v0 % 3); v8 += 1) {
        atomicAdd(&sw.w0, 1ull);
        v7 = __shfl_xor_sync(m0, (1ll), (u32)1u % 4, 4);
    }
}
