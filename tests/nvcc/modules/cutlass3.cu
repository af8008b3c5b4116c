// Products of CUTLASS 3: warps that load by tensor maps, warpgroups that multiply.
// module hopper-f16-pingpong -DOUR_ELEMENT=cutlass::half_t -DOUR_SCHEDULE=KernelTmaWarpSpecializedPingpong -DOUR_M=64 -DOUR_N=128 -DOUR_K=64
// module hopper-f16-cooperative -DOUR_ELEMENT=cutlass::half_t -DOUR_SCHEDULE=KernelTmaWarpSpecializedCooperative -DOUR_M=128 -DOUR_N=256 -DOUR_K=64
// module hopper-e4m3 -DOUR_ELEMENT=cutlass::float_e4m3_t -DOUR_SCHEDULE=KernelTmaWarpSpecialized -DOUR_M=64 -DOUR_N=64 -DOUR_K=128
// module hopper-tf32 -DOUR_ELEMENT=float -DOUR_SCHEDULE=KernelTmaWarpSpecialized -DOUR_M=128 -DOUR_N=128 -DOUR_K=32
#include <cutlass/epilogue/collective/collective_builder.hpp>
#include <cutlass/gemm/collective/collective_builder.hpp>
#include <cutlass/gemm/device/gemm_universal_adapter.h>
#include <cutlass/gemm/kernel/gemm_universal.hpp>

// Both have names for everything: those here hide them.
namespace ours {
using namespace cute;
using namespace cutlass;

using BlockTile = Shape<Int<OUR_M>, Int<OUR_N>, Int<OUR_K>>;
using Blocks = Shape<_2, _1, _1>;
constexpr int ALIGNMENT = 16 / sizeof(OUR_ELEMENT);
using Stored = std::conditional_t<sizeof(OUR_ELEMENT) == 1, bfloat16_t, OUR_ELEMENT>;
constexpr int OUTPUT_ALIGNMENT = 16 / sizeof(Stored);
constexpr bool COOPERATIVE = std::is_same_v<gemm::OUR_SCHEDULE, gemm::KernelTmaWarpSpecializedCooperative>;
using EpilogueSchedule =
    std::conditional_t<COOPERATIVE, epilogue::TmaWarpSpecializedCooperative, epilogue::TmaWarpSpecialized>;

using Epilogue = epilogue::collective::CollectiveBuilder<
    arch::Sm90, arch::OpClassTensorOp, BlockTile, Blocks, epilogue::collective::EpilogueTileAuto, float, float,
    Stored, layout::RowMajor, OUTPUT_ALIGNMENT, Stored, layout::RowMajor, OUTPUT_ALIGNMENT, EpilogueSchedule>::CollectiveOp;
using Mainloop = gemm::collective::CollectiveBuilder<
    arch::Sm90, arch::OpClassTensorOp, OUR_ELEMENT, layout::RowMajor, ALIGNMENT, OUR_ELEMENT, layout::ColumnMajor, ALIGNMENT, float,
    BlockTile, Blocks, gemm::collective::StageCountAutoCarveout<int(sizeof(typename Epilogue::SharedStorage))>,
    gemm::OUR_SCHEDULE>::CollectiveOp;
using Product = gemm::kernel::GemmUniversal<Shape<int, int, int, int>, Mainloop, Epilogue>;
}

template __global__ void cutlass::device_kernel<ours::Product>(const __grid_constant__ ours::Product::Params);
