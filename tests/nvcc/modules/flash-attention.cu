// Attention of FlashInfer: prefill by the tensor cores of older machines and by warpgroups, decoding.
// module flash-prefill-causal -DPREFILL -DOUR_MASK=kCausal -DOUR_PLACES=kNone -DOUR_ELEMENT=half -DOUR_KEYS=2 -DOUR_WIDTH=8
// module flash-prefill-rotary -DPREFILL -DOUR_MASK=kNone -DOUR_PLACES=kRoPELlama -DOUR_ELEMENT=nv_bfloat16 -DOUR_KEYS=4 -DOUR_WIDTH=4
// module flash-decode -DDECODE -DOUR_PLACES=kRoPELlama -DOUR_ELEMENT=nv_bfloat16
// module flash-hopper -DHOPPER
#if defined(HOPPER)
#include <flashinfer/attention/hopper/default_params.cuh>
#include <flashinfer/attention/hopper/prefill_sm90.cuh>
#include <flashinfer/attention/hopper/variants.cuh>
using namespace flashinfer;
using Params = SinglePrefillParams<cutlass::half_t, cutlass::half_t, cutlass::half_t>;
auto attend = &SinglePrefillWithKVCacheDispatched<128, 128, MaskMode::kCausal, false, DefaultAttention<false>, Params>;
#elif defined(PREFILL)
#include <flashinfer/attention/default_prefill_params.cuh>
#include <flashinfer/attention/prefill.cuh>
#include <flashinfer/attention/variants.cuh>
using namespace flashinfer;
using Params = SinglePrefillParams<OUR_ELEMENT, OUR_ELEMENT, OUR_ELEMENT>;
using Variant = DefaultAttention<false, false, false, false>;
using Traits = KernelTraits<MaskMode::OUR_MASK, 128, 2, OUR_KEYS, OUR_WIDTH, OUR_WIDTH, 4, 1, PosEncodingMode::OUR_PLACES, OUR_ELEMENT, OUR_ELEMENT, OUR_ELEMENT,
                            float, int32_t, Variant>;
template __global__ void flashinfer::SinglePrefillWithKVCacheKernel<Traits, Params>(const __grid_constant__ Params);
#else
#include <flashinfer/attention/decode.cuh>
#include <flashinfer/attention/default_decode_params.cuh>
#include <flashinfer/attention/variants.cuh>
using namespace flashinfer;
using Params = SingleDecodeParams<OUR_ELEMENT, OUR_ELEMENT, OUR_ELEMENT>;
auto attend = &SingleDecodeWithKVCacheDispatched<128, PosEncodingMode::OUR_PLACES, DefaultAttention<false, false, false, false>, Params>;
#endif
