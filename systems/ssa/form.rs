//! Whether a function is in SSA form.

use bevy_ecs::prelude::*;

/// Whether the function in the world is in SSA form.
#[derive(Resource, Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Form {
    pub is_ssa: bool,
    /// It was, and something read each value of it: what SSA form's copies made of that is read,
    /// too.
    pub left_all_read: bool,
}
