//! The validator as phases: what lowering hands over (`OriCheckInitialProgram`), and what the
//! phases of the initial setup leave (`OriSanitize`), is a sound body. A complaint is a fault of
//! orias, never of the PTX.

use crate::notes::Notes;
use orias_components::validate::validate;
use orias_components::{Loc, Reader};

/// Phases 0 and 13.
pub fn check_program(code: Reader<'_, '_>, mut notes: Notes<'_>) {
    if let Err(error) = validate(&code.body()) {
        notes.fail(format!("internal error: invalid IR at {error}"), Loc::default());
    }
}
