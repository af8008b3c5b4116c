//! Runs phases over a world. They are ordinary systems, and say by their parameters what they
//! touch. What bevy does to find it, in the world and in tables of entities, takes longer than most
//! phases run over a small function, and the memory that it goes through more of the processor's
//! cache than such a function. So all that phases name is found once for a whole run ([`Found`]),
//! and each phase gets of that what it names ([`Part`]).

use crate::analysis::Analyses;
use crate::function::{Compiled, FunctionInfo, Marked, Options};
use crate::mercury::{CodeList, Words};
use crate::notes::{Notes, Report};
use crate::params::{Read, Write};
use crate::registers::map::RegisterMap;
use crate::scalar::dead_code::Clean;
use crate::ssa::Form;
use bevy_ecs::prelude::*;
use bevy_ecs::system::{SystemParam, SystemParamFunction, SystemParamItem, SystemState};
use orias_components::body::{Held, Tables, settle};
use orias_components::{Body, Code, Reader};

/// The way into one world.
pub struct States {
    all: SystemState<All<'static, 'static>>,
}

impl States {
    /// The way into this world.
    pub fn new(world: &mut World) -> States {
        States { all: SystemState::new(world) }
    }

    /// Finds all that phases name, when all of the function is in its tables.
    ///
    /// # Panics
    /// When a resource of the phases is not in the world.
    pub fn find<'w>(&mut self, world: &'w mut World) -> Found<'w> {
        settle(world);
        let all = self.all.get_mut(world);
        all.unwrap_or_else(|error| panic!("the world has what phases name: {error}")).found()
    }
}

/// What a phase can name: a parameter of its own, or several.
pub trait Part: SystemParam {
    /// Its part of what was found.
    fn take<'w, 's>(all: &mut Parts<'w>) -> SystemParamItem<'w, 's, Self>;
}

macro_rules! resources {
    ($($name:ident: $of:ty;)*) => {
        #[derive(SystemParam)]
        struct All<'w, 's> { tables: Tables<'w, 's>, $($name: ResMut<'w, $of>,)* }

        impl<'w> All<'w, '_> {
            fn found(self) -> Found<'w> {
                Found { held: self.tables.hold(), $($name: self.$name.into_inner(),)* }
            }
        }

        /// The function of a world and the resources of phases.
        pub struct Found<'w> {
            pub(crate) held: Held<'w>,
            $(pub(crate) $name: &'w mut $of,)*
        }

        /// What a phase has not taken yet.
        pub struct Parts<'w> { body: Option<Body<'w>>, $($name: Option<&'w mut $of>,)* }

        impl Found<'_> {
            fn parts(&mut self) -> Parts<'_> {
                Parts { body: Some(self.held.body()), $($name: Some(self.$name),)* }
            }
        }

        $(impl Part for Read<'_, $of> {
            fn take<'w, 's>(all: &mut Parts<'w>) -> SystemParamItem<'w, 's, Self> {
                Read(all.$name.take().expect(concat!("a phase names one ", stringify!($name))))
            }
        }

        impl Part for Write<'_, $of> {
            fn take<'w, 's>(all: &mut Parts<'w>) -> SystemParamItem<'w, 's, Self> {
                Write(all.$name.take().expect(concat!("a phase names one ", stringify!($name))))
            }
        })*
    };
}

resources! {
    report: Report;
    options: Options;
    clean: Clean;
    analyses: Analyses;
    info: FunctionInfo;
    marked: Marked;
    form: Form;
    compiled: Compiled;
    map: RegisterMap;
    list: CodeList;
    words: Words;
}

impl Found<'_> {
    /// The function, for changes.
    pub fn body(&mut self) -> Body<'_> {
        self.held.body()
    }

    /// Runs a phase.
    ///
    /// # Panics
    /// When the phase names something twice.
    pub fn run<M, F>(&mut self, mut phase: F)
    where
        F: SystemParamFunction<M, In = (), Out = (), Param: Part>,
    {
        let mut parts = self.parts();
        phase.run((), F::Param::take(&mut parts));
    }
}

impl Part for Code<'_> {
    fn take<'w, 's>(all: &mut Parts<'w>) -> SystemParamItem<'w, 's, Self> {
        all.body.take().expect("a phase names the function once").into()
    }
}

impl Part for Reader<'_> {
    fn take<'w, 's>(all: &mut Parts<'w>) -> SystemParamItem<'w, 's, Self> {
        all.body.take().expect("a phase names the function once").into()
    }
}

impl Part for Notes<'_> {
    fn take<'w, 's>(all: &mut Parts<'w>) -> SystemParamItem<'w, 's, Self> {
        Notes(Write::<Report>::take(all))
    }
}

macro_rules! several {
    ($($($part:ident)*;)*) => {
        $(impl<$($part: Part),*> Part for ($($part,)*) {
            fn take<'w, 's>(all: &mut Parts<'w>) -> SystemParamItem<'w, 's, Self> {
                ($($part::take(all),)*)
            }
        })*
    };
}

impl Part for () {
    fn take<'w, 's>(_: &mut Parts<'w>) -> SystemParamItem<'w, 's, ()> {}
}

several! {
    A;
    A B;
    A B C;
    A B C D;
    A B C D E;
    A B C D E F;
    A B C D E F G;
}
