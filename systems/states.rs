//! Runs phases. What bevy keeps of a system's parameters (which tables and resources they are) costs much more to make than most
//! phases take over a small function, and many phases have the same parameters: those share it, and it is made when the first
//! of them runs.

use bevy_ecs::prelude::*;
use bevy_ecs::system::{SystemParam, SystemParamFunction, SystemParamValidationError, SystemState};
use rustc_hash::FxHashMap;
use std::any::{Any, TypeId};

/// The states of the parameters of systems in one world.
#[derive(Default)]
pub struct States(FxHashMap<TypeId, Box<dyn Any + Send>>);

impl States {
    fn of<P: SystemParam + 'static>(&mut self, world: &mut World) -> &mut SystemState<P> {
        let state = self.0.entry(TypeId::of::<P>());
        let state = state.or_insert_with(|| Box::new(SystemState::<P>::new(world)));
        state.downcast_mut().expect("it has the type that it was made for")
    }

    /// Runs a system.
    ///
    /// # Errors
    /// A resource of its parameters is not there.
    pub fn run<M, F>(
        &mut self,
        mut system: F,
        world: &mut World,
    ) -> Result<(), SystemParamValidationError>
    where
        F: SystemParamFunction<M, In = (), Out = (), Param: 'static>,
    {
        let params = self.of::<F::Param>(world).get_mut(world)?;
        system.run((), params);
        Ok(())
    }
}
