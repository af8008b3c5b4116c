//! The validator as phases: what lowering hands over (`OriCheckInitialProgram`), and what the
//! phases of the initial setup leave (`OriSanitize`), is a sound body. A complaint is a fault of
//! orias, never of the PTX.

use crate::notes::Notes;
use crate::params::Write;
use crate::scalar::dead_code::Clean;
use orias_components::validate::validate;
use orias_components::{Loc, Reader};

/// Phases 0 and 13.
pub fn check_program(code: Reader<'_>, mut clean: Write<'_, Clean>, mut notes: Notes<'_>) {
    let body = code.body();
    // The setup mostly finds nothing to change.
    if std::mem::replace(&mut clean.checked, body.stamp()) == body.stamp() {
        return;
    }
    if let Err(error) = validate(&body) {
        notes.fail(format!("internal error: invalid IR at {error}"), Loc::default());
    }
}
