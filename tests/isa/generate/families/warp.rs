//! Exchange between the threads of a warp, and of a cluster.

use crate::generate::{Family, Row, each, few, turn};

pub const WARP: Family = Family::rows("warp", ROWS);

const ROWS: &[Row] = &[
    few("shfl.sync.<up/down/bfly/idx>.b32 =b32|=pred, %b32, %b32, %b32, %b32"),
    each("shfl.sync.<up/down/bfly/idx>.b32 =b32, %b32, %b32, %b32, -1"),
    turn(
        "shfl.sync.<up/down/bfly/idx>.b32 =b32</|=pred>, %b32, <0/1/16/31/%b32>, <0/31/0x1f/0x1c1f/%b32>, <0xffffffff/%b32>",
    ),
    few("vote.sync.<all/any/uni>.pred =pred, <%pred/!%pred>, <%b32/0xffffffff>"),
    few("vote.sync.ballot.b32 =b32, <%pred/!%pred>, <%b32/0xffffffff>"),
    turn("vote.<all/any/uni>.pred =pred, %pred"),
    turn("vote.ballot.b32 =b32, %pred"),
    few("match.any.sync.<b32/b64> =b32, %$1, <%b32/0xffffffff>"),
    few("match.all.sync.<b32/b64> =b32</|=pred>, %$1, <%b32/0xffffffff>"),
    each("activemask.b32 =b32"),
    few("redux.sync.<add/min/max>.<s32/u32> =$2, %$2, <%b32/0xffffffff>"),
    few("redux.sync.<and/or/xor>.b32 =b32, %b32, <%b32/0xffffffff>"),
    turn("redux.sync.<min/max></.abs></.NaN>.f32 =f32, %f32, <%b32/0xffffffff>"),
    turn("elect.sync <=b32/_>|=pred, <%b32/0xffffffff>"),
    turn("griddepcontrol.<launch_dependents/wait>"),
    turn("nanosleep.u32 <%u32/100>"),
    turn("pmevent <0/1/7/15>"),
    turn("pmevent.mask <1/0x8000/0xff>"),
    turn(
        "clusterlaunchcontrol.try_cancel.async</.shared::cta>.mbarrier::complete_tx::bytes</.multicast::cluster::all>.b128 [@$1], [@.shared]",
    ),
    turn("clusterlaunchcontrol.query_cancel.is_canceled.pred.b128 =pred, %b128"),
    turn("clusterlaunchcontrol.query_cancel.get_first_ctaid.v4.b32.b128 =b32*4, %b128"),
    turn("clusterlaunchcontrol.query_cancel.get_first_ctaid::<x/y/z>.b32.b128 =b32, %b128"),
];
