//! What the threads of a warp or block do together.

use super::{Family, block, warp, whole_warp};

pub const SHUFFLE: Family = Family {
    name: "shuffle",
    weight: 2,
    rows: &[
        whole_warp(
            "shfl.sync.<up/down/bfly/idx>.b32 =b32, %b32, #(0,31), <0/31/0x1f/0x1c1f/0x1800/0x101f>, -1",
        ),
        whole_warp(
            "shfl.sync.<up/down/bfly/idx>.b32 =b32|=pred, !b32, !b32, <0/31/0x1f/0x1c1f/0x1800/0x101f>, -1",
        ),
        whole_warp(
            "{ .reg .b32 %t; and.b32 %t, !b32, 0x1f1f; shfl.sync.<up/down/bfly/idx>.b32 =b32|=pred, !b32, !b32, %t, -1; }",
        ),
        // From the highest thread of the mask: a thread that is not in it has nothing to give.
        warp(
            "{ .reg .b32 %t; mov.b32 %t, &M; bfind.u32 %t, %t; shfl.sync.idx.b32 =b32, !b32, %t, 31, &M; }",
        ),
        warp(
            "{ .reg .b32 %t; mov.b32 %t, &M; brev.b32 %t, %t; bfind.shiftamt.u32 %t, %t; shfl.sync.idx.b32 =b32|=pred, !b32, %t, 31, &M; }",
        ),
    ],
};

pub const VOTE: Family = Family {
    name: "vote",
    weight: 3,
    rows: &[
        warp("vote.sync.<all/any/uni>.pred =pred, ~pred, &M"),
        warp("vote.sync.ballot.b32 =b32, ~pred, &M"),
        warp("match.any.sync.<b32/b64> =b32, !$1, &M"),
        warp("{ .reg .b32 %t; and.b32 %t, !b32, #(0,3); match.any.sync.b32 =b32, %t, &M; }"),
        warp("match.all.sync.<b32/b64> =b32</|=pred>, !$1, &M"),
        warp("{ .reg .b32 %t; and.b32 %t, !b32, #(0,1); match.all.sync.b32 =b32|=pred, %t, &M; }"),
        warp("elect.sync <=b32/_>|=pred, &M"),
        warp("bar.warp.sync &M"),
    ],
};

pub const REDUX: Family = Family {
    name: "redux",
    weight: 1,
    rows: &[
        warp("redux.sync.<add/min/max>.<s32/u32> =$2, !$2, &M"),
        warp("redux.sync.<and/or/xor>.b32 =b32, !b32, &M"),
    ],
};

pub const BARRIER: Family = Family {
    name: "barrier",
    weight: 2,
    rows: &[
        block("bar.sync 0"),
        block("barrier.sync #(1,15)"),
        block("bar.red.popc.u32 =u32, 0, ~pred"),
        block("bar.red.<and/or>.pred =pred, 0, ~pred"),
        block("barrier.cta.red.<and/or>.pred =pred, #(1,15), ~pred"),
    ],
};
