//! Whether a function is in SSA form.

use bevy_ecs::prelude::*;

/// Whether the function in the world is in SSA form.
#[derive(Resource, Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Form {
    pub is_ssa: bool,
}
