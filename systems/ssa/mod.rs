//! Static single assignment, from `GenerateMovPhi` to `ConvertAllMovPhiToMov`.
//!
//! What holds between the two phases ([`check`] holds a body to it):
//! * A value is one cell of a virtual register: 32 bits, or one predicate. A wide register is the
//!   tuple of its cells' values; they may be written by one instruction or by several, but each by
//!   one only, which stands on every way to its readers.
//! * MOVPHI, first in its block, gives a cell the value of the way by which control came: `d =
//!   MOVPHI v0, BB0, v1, BB1, …` with one pair for each predecessor, in any order. RZ and PT say
//!   that the way brings no value.
//! * A guarded definition names what its destinations hold where the guard is false, behind `else`
//!   ([`Inst::tied`]); without that nothing is known of it.
//!
//! [`Inst::tied`]: orias_components::Inst::tied
//!
//! Registers that are no values stay as they are ([`values::is_value`]): physical ones, uniform
//! ones (one for the warp, whatever way its threads take), convergence barriers, and those that a
//! product of a warpgroup writes (it goes on writing them behind its instruction, so none may be
//! copied), and those that all copies of what a warp does together name (`sync/collective.rs`).

mod check;
mod construct;
mod destruct;
mod form;
mod groups;
mod values;

pub use check::check;
pub use construct::generate_mov_phi;
pub(crate) use construct::{construct, copy};
pub use destruct::convert_all_mov_phi_to_mov;
pub use form::Form;
pub use values::{Fixed, is_value};

use orias_components::{Body, Cloner};

/// Clones blocks of a body in this form: values get new names.
pub fn cloner(body: &Body<'_>, form: Form) -> Cloner {
    match form.is_ssa {
        true => Cloner::in_ssa(Fixed::of(body).0.into_inner()),
        false => Cloner::outside_ssa(),
    }
}
