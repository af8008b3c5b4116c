//! Runs phases over a function. They are ordinary systems, and say by their parameters what they
//! touch. What bevy does to find it, in the world and in tables of entities, takes longer than most
//! phases run over a small function, and the memory that it goes through more of the processor's
//! cache than such a function. So all that phases name is found once for a whole run ([`Found`]),
//! and each phase gets of that what it names ([`Part`]).
//!
//! For the same reason a worker's resources stand beside its world ([`Resources`]): in it each is
//! an entity with an archetype and a table of its own, and a process that compiles one small kernel
//! would run a twentieth of its code to make them. Where a phase is run by bevy itself, as tests
//! do, it finds them in the world.

use crate::analysis::Analyses;
use crate::function::{Compiled, FunctionInfo, Marked, Options};
use crate::mercury::{CodeList, Words};
use crate::notes::{Notes, Report};
use crate::params::{Read, Write};
use crate::registers::map::RegisterMap;
use crate::scalar::dead_code::Clean;
use crate::ssa::Form;
use bevy_ecs::prelude::*;
use bevy_ecs::system::{SystemParam, SystemParamFunction, SystemParamItem};
use orias_components::world::Held;
use orias_components::{Body, Code, Function, Reader};

/// What a phase can name: a parameter of its own, or several.
pub trait Part: SystemParam {
    /// Its part of what was found.
    fn take<'w, 's>(all: &mut Parts<'w>) -> SystemParamItem<'w, 's, Self>;
}

/// A resource before the first phase.
macro_rules! first {
    (options, $options:ident) => {
        $options
    };
    ($other:ident, $options:ident) => {
        Default::default()
    };
}

macro_rules! resources {
    ($($name:ident: $of:ty;)*) => {
        /// What phases read and write beside the function: one of each type.
        pub struct Resources { $(pub $name: $of,)* }

        impl Resources {
            /// As they are before the first phase, under these options.
            pub fn new(options: Options) -> Resources {
                Resources { $($name: first!($name, options),)* }
            }

            /// Finds all that phases name.
            pub fn find<'w>(&'w mut self, function: &'w mut Function) -> Found<'w> {
                Found { held: function.hold(), $($name: &mut self.$name,)* }
            }

            /// Gives the resources to a world, for phases that bevy runs there.
            pub fn insert_into(self, world: &mut World) {
                $(world.insert_resource(self.$name);)*
            }
        }

        /// A function and the resources of phases.
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
