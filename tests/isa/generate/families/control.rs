//! Control flow, calls, and kernels of several instructions: texts in `idioms/`.

use crate::generate::Family;

pub const CONTROL: Family = Family::text("control", include_str!("../idioms/control.ptx"));

pub const CALL: Family = Family::text("call", include_str!("../idioms/call.ptx"));

pub const NO_ABI: Family = Family::text("no_abi", include_str!("../idioms/no_abi.ptx"));

pub const IDIOM: Family = Family::text("idiom", include_str!("../idioms/idiom.ptx"));
