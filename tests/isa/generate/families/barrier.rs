//! Barriers, fences and mbarrier objects.

use crate::generate::{Family, Row, each, turn};

pub const BARRIER: Family = Family::rows("barrier", BARRIER_ROWS);

const BARRIER_ROWS: &[Row] = &[
    turn("<bar/bar.cta/barrier/barrier.cta>.sync %b32</, 64/, %b32>"),
    turn("<barrier/barrier.cta>.sync.aligned %b32</, 64/, %b32>"),
    turn("<bar/bar.cta/barrier/barrier.cta>.sync <0/1/15></, 64/, %b32>"),
    turn("<barrier/barrier.cta>.sync.aligned <0/1/15></, 64/, %b32>"),
    turn("<bar/bar.cta/barrier/barrier.cta>.arrive <0/1/%b32>, <64/%b32>"),
    turn("<barrier/barrier.cta>.arrive.aligned <0/1/%b32>, <64/%b32>"),
    turn(
        "<bar/bar.cta/barrier/barrier.cta>.red.popc.u32 =u32, <1/%b32></, 64/, %b32>, <%pred/!%pred>",
    ),
    turn(
        "<bar/bar.cta/barrier/barrier.cta>.red.<and/or>.pred =pred, <1/%b32></, 64/, %b32>, <%pred/!%pred>",
    ),
    turn("<barrier/barrier.cta>.red.popc.aligned.u32 =u32, <1/%b32></, 64/, %b32>, <%pred/!%pred>"),
    turn(
        "<barrier/barrier.cta>.red.<and/or>.aligned.pred =pred, <1/%b32></, 64/, %b32>, <%pred/!%pred>",
    ),
    turn("bar.warp.sync <%b32/0xffffffff/0xf>"),
    turn("barrier.cluster.arrive</.release/.relaxed></.aligned>"),
    turn("barrier.cluster.wait</.acquire></.aligned>"),
    each("barrier.cluster.arrive; barrier.cluster.wait"),
    turn("membar.<cta/gl/sys>"),
    turn("membar.proxy.<alias/async/async.global/async.shared::cta/async.shared::cluster>"),
    turn("fence</.sc/.acq_rel/.acquire/.release>.<cta/cluster/gpu/sys>"),
    turn(
        "fence.proxy.<alias/async/async.global/async.shared::cta/async.shared::cluster/async.generic>",
    ),
    turn("fence.mbarrier_init.release.cluster"),
    turn("fence.proxy.tensormap::generic.release.<cta/cluster/gpu/sys>"),
    turn("fence.proxy.tensormap::generic.acquire.<cta/cluster/gpu/sys> [@], 128"),
    turn("fence.proxy.async::generic.acquire.sync_restrict::shared::cluster.cluster"),
    turn("fence.proxy.async::generic.release.sync_restrict::shared::cta.cluster"),
    turn(
        "fence.<acquire.sync_restrict::shared::cluster/release.sync_restrict::shared::cta>.cluster",
    ),
    turn(
        "fence.<acq_rel/sc>.<cta/cluster/gpu/sys>; ld.relaxed.gpu.global.u32 =u32, [@.global]; fence.$1.$2",
    ),
];

pub const MBARRIER: Family = Family::rows("mbarrier", MBARRIER_ROWS);

const MBARRIER_ROWS: &[Row] = &[
    each("mbarrier.init</.shared/.shared::cta>.b64 [@$1], <%b32/1>"),
    each("mbarrier.inval</.shared/.shared::cta>.b64 [@$1]"),
    turn(
        "mbarrier.<expect_tx/complete_tx></.relaxed.cta/.relaxed.cluster></.shared/.shared::cta/.shared::cluster>.b64 [@$3], <%b32/256>",
    ),
    turn(
        "mbarrier.<arrive/arrive_drop></.release.cta/.release.cluster/.relaxed.cta/.relaxed.cluster></.shared/.shared::cta>.b64 =b64, [@$3]</, %b32/, 3>",
    ),
    turn(
        "mbarrier.<arrive/arrive_drop></.release.cta/.release.cluster/.relaxed.cta/.relaxed.cluster></.shared/.shared::cta/.shared::cluster>.b64 _, [@$3]</, %b32/, 3>",
    ),
    turn(
        "mbarrier.<arrive/arrive_drop>.expect_tx</.release.cta/.release.cluster/.relaxed.cta/.relaxed.cluster></.shared/.shared::cta>.b64 =b64, [@$3], <%b32/256>",
    ),
    turn(
        "mbarrier.<arrive/arrive_drop>.expect_tx</.release.cta/.release.cluster/.relaxed.cta/.relaxed.cluster></.shared/.shared::cta/.shared::cluster>.b64 _, [@$3], <%b32/256>",
    ),
    turn(
        "mbarrier.<arrive/arrive_drop>.noComplete</.release.cta></.shared/.shared::cta>.b64 =b64, [@$3], <%b32/2>",
    ),
    turn(
        "mbarrier.<test_wait/try_wait></.acquire.cta/.acquire.cluster/.relaxed.cta/.relaxed.cluster></.shared/.shared::cta>.b64 =pred, [@$3], %b64",
    ),
    turn(
        "mbarrier.try_wait</.acquire.cta/.acquire.cluster/.relaxed.cta/.relaxed.cluster></.shared/.shared::cta>.b64 =pred, [@$2], %b64, <%b32/1000>",
    ),
    turn(
        "mbarrier.<test_wait/try_wait>.parity</.acquire.cta/.acquire.cluster/.relaxed.cta/.relaxed.cluster></.shared/.shared::cta>.b64 =pred, [@$3], <%b32/0/1>",
    ),
    turn(
        "mbarrier.try_wait.parity</.acquire.cta/.acquire.cluster/.relaxed.cta/.relaxed.cluster></.shared/.shared::cta>.b64 =pred, [@$2], %b32, <%b32/1000>",
    ),
    each("mbarrier.<test_wait/try_wait>.shared.b64 =pred, [@.shared], %b64"),
    each("mbarrier.<test_wait/try_wait>.parity.shared.b64 =pred, [@.shared], %b32"),
    each("mbarrier.arrive.shared.b64 =b64, [@.shared]"),
    each("mbarrier.arrive.expect_tx.shared.b64 =b64, [@.shared], %b32"),
    each("mbarrier.arrive.shared::cluster.b64 _, [@.shared::cluster]"),
    turn("mbarrier.pending_count.b64 =b32, %b64"),
    turn("cp.async.mbarrier.arrive</.noinc></.shared/.shared::cta>.b64 [@$2]"),
];
