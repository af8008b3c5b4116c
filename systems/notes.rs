//! What a phase reports: rewrites and errors.

use bevy_ecs::prelude::*;
use bevy_ecs::system::SystemParam;
use orias_components::Loc;

/// Rewrites that the running phase made: a phase adds to it, the manager takes it.
#[derive(Resource, Default, Debug)]
pub struct Rewrites(pub u32);

/// What went wrong in the running phase: the manager stops after a phase that leaves some.
#[derive(Resource, Default, Debug)]
pub struct Errors(pub Vec<PhaseError>);

/// One complaint of a phase about the function.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PhaseError {
    pub message: String,
    /// The PTX that it comes from; default when there is none.
    pub loc: Loc,
}

/// The way in for phases.
#[derive(SystemParam)]
pub struct Notes<'w> {
    rewrites: ResMut<'w, Rewrites>,
    errors: ResMut<'w, Errors>,
}

impl Notes<'_> {
    /// Adds to the running phase's count of rewrites.
    pub fn count(&mut self, n: usize) {
        self.rewrites.0 += n as u32;
    }

    /// Notes an error of the running phase.
    pub fn fail(&mut self, message: impl Into<String>, loc: Loc) {
        self.errors.0.push(PhaseError { message: message.into(), loc });
    }
}
