// Products of CUTLASS 2: tiles of a block, from the cores and by tensor cores, without tensor maps.
// module gemm-simt-f32 -DSIMT -DOUR_ELEMENT=float
// module gemm-simt-f64 -DSIMT -DOUR_ELEMENT=double
// module gemm-f16-128x128 -DTENSOR -DOUR_ELEMENT=cutlass::half_t -DOUR_SUM=float -DOUR_M=128 -DOUR_N=128 -DOUR_K=32 -DOUR_STAGES=4
// module gemm-bf16-64x256 -DTENSOR -DOUR_ELEMENT=cutlass::bfloat16_t -DOUR_SUM=float -DOUR_M=64 -DOUR_N=256 -DOUR_K=32 -DOUR_STAGES=3
// module gemm-tf32-128x64 -DTENSOR -DOUR_ELEMENT=cutlass::tfloat32_t -DOUR_OUTPUT=float -DOUR_SUM=float -DOUR_M=128 -DOUR_N=64 -DOUR_K=32 -DOUR_STAGES=3
// module conv2d-f16 -DCONVOLUTION
#include <cutlass/conv/convolution.h>
#include <cutlass/conv/conv2d_problem_size.h>
#include <cutlass/conv/device/implicit_gemm_convolution.h>
#include <cutlass/conv/kernel/default_conv2d_fprop.h>
#include <cutlass/epilogue/thread/linear_combination_gelu.h>
#include <cutlass/gemm/device/gemm.h>
using namespace cutlass;

#if defined(SIMT)
using Operation = gemm::device::Gemm<OUR_ELEMENT, layout::RowMajor, OUR_ELEMENT, layout::ColumnMajor, OUR_ELEMENT, layout::RowMajor>;
#elif defined(TENSOR)
#ifndef OUR_OUTPUT
#define OUR_OUTPUT OUR_ELEMENT
#endif
template <int K16>
using Step = gemm::GemmShape<16, 8, K16>;
using Operation = gemm::device::Gemm<
    OUR_ELEMENT, layout::RowMajor, OUR_ELEMENT, layout::ColumnMajor, OUR_OUTPUT, layout::RowMajor, OUR_SUM, arch::OpClassTensorOp,
    arch::Sm80, gemm::GemmShape<OUR_M, OUR_N, OUR_K>, gemm::GemmShape<OUR_M / 2, OUR_N / 2, OUR_K>, Step<32 / sizeof(OUR_ELEMENT)>,
    epilogue::thread::LinearCombinationGELU<OUR_OUTPUT, 16 / sizeof(OUR_OUTPUT), OUR_SUM, OUR_SUM>,
    gemm::threadblock::GemmIdentityThreadblockSwizzle<8>, OUR_STAGES>;
#else
using Output = epilogue::thread::LinearCombination<half_t, 8, float, float>;
using Forward = conv::kernel::DefaultConv2dFprop<
    half_t, layout::TensorNHWC, half_t, layout::TensorNHWC, half_t, layout::TensorNHWC, float, arch::OpClassTensorOp,
    arch::Sm80, gemm::GemmShape<128, 128, 32>, gemm::GemmShape<64, 64, 32>, gemm::GemmShape<16, 8, 16>, Output,
    gemm::threadblock::GemmIdentityThreadblockSwizzle<4>, 3, arch::OpMultiplyAdd, conv::IteratorAlgorithm::kOptimized>::Kernel;
using Operation = conv::device::ImplicitGemmConvolution<Forward>;
#endif

Status launch(Operation& operation, const Operation::Arguments& arguments) { return operation(arguments); }
