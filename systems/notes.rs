//! What a phase reports: rewrites and errors.

use crate::params::Write;
use bevy_ecs::prelude::*;
use bevy_ecs::system::SystemParam;
use orias_components::Loc;

/// What the running phase says, for the manager to take.
#[derive(Resource, Default, Debug)]
pub struct Report {
    /// Rewrites that it made.
    pub rewrites: u32,
    /// What went wrong: the manager stops after a phase that leaves some.
    pub errors: Vec<PhaseError>,
}

/// One complaint of a phase about the function.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PhaseError {
    /// What is wrong, in words for the user.
    pub message: String,
    /// The PTX that it comes from; default when there is none.
    pub loc: Loc,
}

/// The way in for phases.
#[derive(SystemParam)]
pub struct Notes<'w>(pub(crate) Write<'w, Report>);

impl Notes<'_> {
    /// Adds to the running phase's count of rewrites.
    pub fn count(&mut self, n: usize) {
        self.0.rewrites += n as u32;
    }

    /// Notes an error of the running phase.
    pub fn fail(&mut self, message: impl Into<String>, loc: Loc) {
        self.0.errors.push(PhaseError { message: message.into(), loc });
    }
}
