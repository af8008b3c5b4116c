//! Runs phases over a world. They are ordinary systems, and say by their parameters what they
//! touch; but what bevy keeps of a system's parameters takes longer to make than most phases run
//! over a small function. So it is made once, of all that phases have for parameters, and each
//! phase gets of that what it names ([`Part`]).

use crate::analysis::Analyses;
use crate::function::{Compiled, FunctionInfo, Marked, Options};
use crate::mercury::{CodeList, Words};
use crate::notes::Notes;
use crate::registers::map::RegisterMap;
use crate::scalar::dead_code::Clean;
use crate::ssa::Form;
use bevy_ecs::prelude::*;
use bevy_ecs::system::{
    SystemParam, SystemParamFunction, SystemParamItem, SystemParamValidationError, SystemState,
};
use orias_components::{Code, Reader};

/// The way of all phases into one world. What few name is looked up for those alone.
pub struct States {
    usual: SystemState<Usual<'static, 'static>>,
    all: SystemState<(Usual<'static, 'static>, Rare<'static>)>,
}

impl States {
    /// Makes the states that phases share in this world.
    pub fn new(world: &mut World) -> States {
        States { usual: SystemState::new(world), all: SystemState::new(world) }
    }

    /// Runs a phase.
    ///
    /// # Errors
    /// A resource is not in the world.
    ///
    /// # Panics
    /// When the phase names something twice.
    pub fn run<M, F>(
        &mut self,
        mut phase: F,
        world: &mut World,
    ) -> Result<(), SystemParamValidationError>
    where
        F: SystemParamFunction<M, In = (), Out = (), Param: Part>,
    {
        let mut parts = if F::Param::IS_RARE {
            let (usual, rare) = self.all.get_mut(world)?;
            Parts::of(usual, Some(rare))
        } else {
            Parts::of(self.usual.get_mut(world)?, None)
        };
        phase.run((), F::Param::take(&mut parts));
        Ok(())
    }
}

/// What a phase can name: a parameter of its own, or several.
pub trait Part: SystemParam {
    /// Whether it is looked up for the phases that name it only.
    const IS_RARE: bool = false;

    /// Its part of what was looked up.
    fn take<'w, 's>(all: &mut Parts<'w, 's>) -> SystemParamItem<'w, 's, Self>;
}

macro_rules! params {
    (usual { $($usual:ident: $of:ty;)* } rare { $($rare:ident: $from:ty;)* }) => {
        #[derive(SystemParam)]
        struct Usual<'w, 's> { $($usual: $of,)* }

        #[derive(SystemParam)]
        struct Rare<'w> { $($rare: $from,)* }

        /// What a phase has not taken yet.
        pub struct Parts<'w, 's> { $($usual: Option<$of>,)* $($rare: Option<$from>,)* }

        impl<'w, 's> Parts<'w, 's> {
            fn of(usual: Usual<'w, 's>, rare: Option<Rare<'w>>) -> Parts<'w, 's> {
                let mut parts = Parts { $($usual: Some(usual.$usual),)* $($rare: None,)* };
                if let Some(rare) = rare {
                    $(parts.$rare = Some(rare.$rare);)*
                }
                parts
            }
        }
    };
}

params! {
    usual {
        code: Code<'w, 's>;
        notes: Notes<'w>;
        options: Res<'w, Options>;
        clean: ResMut<'w, Clean>;
        analyses: ResMut<'w, Analyses>;
    }
    rare {
        info: Res<'w, FunctionInfo>;
        marked: ResMut<'w, Marked>;
        form: ResMut<'w, Form>;
        compiled: ResMut<'w, Compiled>;
        map: ResMut<'w, RegisterMap>;
        list: ResMut<'w, CodeList>;
        words: ResMut<'w, Words>;
    }
}

macro_rules! parts {
    ($($type:ty: $field:ident $(($rare:literal))?;)*) => {
        $(impl Part for $type {
            $(const IS_RARE: bool = $rare;)?

            fn take<'w, 's>(all: &mut Parts<'w, 's>) -> SystemParamItem<'w, 's, Self> {
                let part = all.$field.take();
                part.expect(concat!("a phase names one ", stringify!($field))).into()
            }
        })*
    };
}

parts! {
    Code<'_, '_>: code;
    Reader<'_, '_>: code;
    Notes<'_>: notes;
    Res<'_, Options>: options;
    Res<'_, FunctionInfo>: info (true);
    ResMut<'_, Compiled>: compiled (true);
    Res<'_, Marked>: marked (true);
    ResMut<'_, Marked>: marked (true);
    Res<'_, Clean>: clean;
    ResMut<'_, Clean>: clean;
    ResMut<'_, RegisterMap>: map (true);
    Res<'_, CodeList>: list (true);
    ResMut<'_, CodeList>: list (true);
    Res<'_, Words>: words (true);
    ResMut<'_, Words>: words (true);
    Res<'_, Form>: form (true);
    ResMut<'_, Form>: form (true);
    ResMut<'_, Analyses>: analyses;
}

macro_rules! several {
    ($($($part:ident)*;)*) => {
        $(impl<$($part: Part),*> Part for ($($part,)*) {
            const IS_RARE: bool = $($part::IS_RARE)||*;

            fn take<'w, 's>(all: &mut Parts<'w, 's>) -> SystemParamItem<'w, 's, Self> {
                ($($part::take(all),)*)
            }
        })*
    };
}

impl Part for () {
    fn take<'w, 's>(_: &mut Parts<'w, 's>) -> SystemParamItem<'w, 's, ()> {}
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
