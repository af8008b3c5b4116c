//! The validator as phases: what lowering hands over (`OriCheckInitialProgram`), and what the phases of the initial setup
//! leave (`OriSanitize`), is a sound body. A complaint is a fault of orias, never of the PTX.

use crate::manager::fail;
use bevy_ecs::world::World;
use orias_components::validate::validate;
use orias_components::{Body, Loc};

/// Phases 0 and 13.
pub fn check_program(world: &mut World) {
    let checked = validate(&Body::new(world));
    if let Err(error) = checked {
        fail(world, format!("internal error: invalid IR at {error}"), Loc::default());
    }
}
