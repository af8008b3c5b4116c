// Kernels of FlashInfer beside attention: activations, positions, sampling, pages.
// module flash-activations -DACTIVATIONS
// module flash-positions -DPOSITIONS
// module flash-softmax -DSOFTMAX
// module flash-sampling -DSAMPLING
// module flash-pages -DPAGES
// module flash-states -DSTATES
#include <flashinfer/activation.cuh>
#include <flashinfer/attention/cascade.cuh>
#include <flashinfer/page.cuh>
#include <flashinfer/pos_enc.cuh>
#if defined(SOFTMAX) || defined(SAMPLING)
#include <flashinfer/sampling.cuh>
#endif
using namespace flashinfer;

// What has its address taken is made with all its kernels.
#if defined(ACTIVATIONS)
__device__ __forceinline__ float silu(const float& x) { return x / (1.0f + __expf(-x)); }
__device__ __forceinline__ float gelu(const float& x) { return 0.5f * x * (1.0f + erff(x * 0.70710678f)); }
auto narrow = &activation::act_and_mul_kernel<half, silu, 8>;
auto wide = &activation::act_and_mul_kernel<nv_bfloat16, gelu, 4>;
#elif defined(POSITIONS)
auto rotary = &BatchQKApplyRotaryPosIdsCosSinCache<half, int>;
#elif defined(SOFTMAX)
auto softmax = &sampling::OnlineSoftmax<float>;
#elif defined(SAMPLING)
auto both = &sampling::MinPSamplingFromProb<float, int>;
#elif defined(PAGES)
auto append = &AppendPagedKVCache<half, int>;
auto decode = &AppendPagedKVCacheDecode<half, int>;
#else
auto merge = &MergeStates<half, half>;
auto pair = &MergeState<nv_bfloat16, nv_bfloat16>;
#endif
