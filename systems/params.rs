//! What phases have for parameters beside the body: resources to read and to write.
//!
//! They are bevy's own, without the record of when they changed, which nothing here asks for: so a
//! reference will do, and what was looked up once serves one phase after another.

use bevy_ecs::change_detection::Tick;
use bevy_ecs::component::Mutable;
use bevy_ecs::prelude::*;
use bevy_ecs::system::{SystemAccess, SystemMeta, SystemParam, SystemParamValidationError};
use bevy_ecs::world::unsafe_world_cell::UnsafeWorldCell;
use std::ops::{Deref, DerefMut};

/// A resource that the phase reads.
pub struct Read<'w, T>(pub(crate) &'w T);

/// A resource that the phase changes.
pub struct Write<'w, T>(pub(crate) &'w mut T);

impl<T> Deref for Read<'_, T> {
    type Target = T;
    #[inline]
    fn deref(&self) -> &T {
        self.0
    }
}

impl<T> Deref for Write<'_, T> {
    type Target = T;
    #[inline]
    fn deref(&self) -> &T {
        self.0
    }
}

impl<T> DerefMut for Write<'_, T> {
    #[inline]
    fn deref_mut(&mut self) -> &mut T {
        self.0
    }
}

/// A parameter that is another one, of whose item it keeps the reference.
macro_rules! as_the_other {
    ($of:ident, $other:ident, $($bound:tt)*) => {
        // SAFETY: state, access and what is fetched are the other's, which is a parameter too.
        unsafe impl<T: Resource $($bound)*> SystemParam for $of<'_, T> {
            type State = <$other<'static, T> as SystemParam>::State;
            type Item<'w, 's> = $of<'w, T>;

            fn init_state(world: &mut World) -> Self::State {
                <$other<'_, T>>::init_state(world)
            }

            fn init_access(
                state: &Self::State,
                meta: &mut SystemMeta,
                access: &mut SystemAccess,
                world: &mut World,
            ) {
                <$other<'_, T>>::init_access(state, meta, access, world);
            }

            unsafe fn get_param<'w>(
                state: &mut Self::State,
                meta: &SystemMeta,
                world: UnsafeWorldCell<'w>,
                tick: Tick,
            ) -> Result<$of<'w, T>, SystemParamValidationError> {
                // SAFETY: the caller keeps for this parameter what the other asks for.
                let found = unsafe { <$other<'_, T>>::get_param(state, meta, world, tick) };
                Ok($of(found?.into_inner()))
            }
        }
    };
}

as_the_other!(Read, Res,);
as_the_other!(Write, ResMut, <Mutability = Mutable>);

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Resource)]
    struct Number {
        value: u32,
    }

    #[test]
    fn a_system_writes_what_the_next_one_reads() {
        let mut world = World::new();
        world.insert_resource(Number { value: 1 });
        let mut double = IntoSystem::into_system(|mut n: Write<'_, Number>| n.value *= 2);
        let mut read = IntoSystem::into_system(|n: Read<'_, Number>| n.value);
        double.initialize(&mut world);
        read.initialize(&mut world);
        double.run((), &mut world).expect("the resource is there");
        assert_eq!(read.run((), &mut world).expect("the resource is there"), 2);
    }

    #[test]
    fn a_resource_that_is_not_there_is_an_error() {
        let mut world = World::new();
        let mut read = IntoSystem::into_system(|_: Read<'_, Number>| ());
        read.initialize(&mut world);
        assert!(read.run((), &mut world).is_err());
    }

    #[test]
    #[should_panic(expected = "conflicts with a previous system parameter")]
    fn a_resource_is_not_written_twice_at_once() {
        let mut world = World::new();
        world.insert_resource(Number { value: 1 });
        let mut both = IntoSystem::into_system(|_: Write<'_, Number>, _: Write<'_, Number>| ());
        both.initialize(&mut world);
    }
}
