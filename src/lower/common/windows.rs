//! The windows of generic addresses in which shared, local, constant and parameter memory lie.

use super::access::plain_address;
use crate::lower::context::cx::Cx;
use orias_components::{Mod, Opcode, Operand, Reg};
use orias_systems::build::{Address, Emit, r, wide};

/// Where bank 0 tells of the windows of kernel parameters (its first and last byte) and of
/// constants (its first).
pub const PARAM_WINDOW: [i32; 2] = [0x198, 0x1a0];

/// See [`PARAM_WINDOW`].
pub const CONST_WINDOW: i32 = 0xd0;

/// Two words of bank 0 at a byte offset.
pub fn driver_pair(cx: &mut Cx<'_, '_>, offset: i32) -> Reg {
    let d = cx.e.temp(2);
    cx.e.ldc(&[Mod::_64], wide(d, 2), Operand::constant(0, offset));
    d
}

/// The generic address of the kernel's parameters.
pub fn param_window(cx: &mut Cx<'_, '_>) -> Reg {
    driver_pair(cx, PARAM_WINDOW[0])
}

/// A predicate: the generic address lies in this window.
pub fn lies_in(e: &mut Emit<'_>, window: Mod, address: Address) -> Operand {
    let p = r(e.temp_pred());
    let operands = [p, Operand::RZ, plain_address(address)];
    e.put(Opcode::QSPC, &[Mod::E, window], 2, &operands);
    p
}
