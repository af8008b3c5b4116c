//! The validator as phases: what lowering hands over (`OriCheckInitialProgram`), and what the
//! phases of the initial setup leave (`OriSanitize`), is a sound body. A complaint is a fault of
//! orias, never of the PTX: so builds for use look under `--verify-each` only (it was 1 % of the
//! time of a compile), and those with debug assertions always.

use crate::function::Options;
use crate::notes::Notes;
use crate::parallel;
use crate::params::{Read, Write};
use crate::scalar::dead_code::Clean;
use orias_components::validate::{is_surely_sound, validate, validate_with};
use orias_components::{InstId, Loc, Reader};

/// Phases 0 and 13.
pub fn check_program(
    code: Reader<'_>,
    options: Read<'_, Options>,
    mut clean: Write<'_, Clean>,
    mut notes: Notes<'_>,
) {
    if !options.verify_each && !cfg!(debug_assertions) {
        return;
    }
    let body = code.body();
    // The setup mostly finds nothing to change.
    if std::mem::replace(&mut clean.checked, body.stamp()) == body.stamp() {
        return;
    }
    let count = body.inst_count();
    let result = if parallel::has_help(count) {
        let mut sound = vec![false; count];
        let body = &*body;
        parallel::fill(&mut sound, |start, sound| {
            let ids = (start as u32..).map(InstId);
            sound.iter_mut().zip(ids).for_each(|(is, id)| *is = is_surely_sound(body, id));
        });
        validate_with(body, |id| sound.get(id.0 as usize).is_some_and(|is| *is))
    } else {
        validate(&body)
    };
    if let Err(error) = result {
        notes.fail(format!("internal error: invalid IR at {error}"), Loc::default());
    }
}
