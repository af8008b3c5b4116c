//! Pointers to functions.

use crate::ptx::program::FuncId;

/// Function pointers are `FUNCTIONS + 16 * id`: no memory is mapped there.
pub const FUNCTIONS: u64 = 0x7e00_0000_0000;

/// The pointer to a function.
pub fn function_address(id: FuncId) -> u64 {
    FUNCTIONS + 16 * u64::from(id.0)
}

/// The function that a pointer names.
pub fn function_at(address: u64) -> Option<FuncId> {
    let offset = address.checked_sub(FUNCTIONS)?;
    (offset % 16 == 0).then(|| u32::try_from(offset / 16).ok().map(FuncId)).flatten()
}
