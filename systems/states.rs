//! Runs phases over a world. They are ordinary systems, and say by their parameters what they touch; but what bevy keeps of a
//! system's parameters takes longer to make than most phases run over a small function. So it is made once, of all that phases
//! have for parameters, and each phase gets of that what it names ([`Part`]).

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

/// The way of all phases into one world.
pub struct States(SystemState<All<'static, 'static>>);

impl States {
    pub fn new(world: &mut World) -> States {
        States(SystemState::new(world))
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
        let mut all = Parts::from(self.0.get_mut(world)?);
        phase.run((), F::Param::take(&mut all));
        Ok(())
    }
}

/// What a phase can name: a parameter of its own, or several.
pub trait Part: SystemParam {
    fn take<'w, 's>(all: &mut Parts<'w, 's>) -> SystemParamItem<'w, 's, Self>;
}

macro_rules! all {
    ($($field:ident: $type:ty;)*) => {
        #[derive(SystemParam)]
        struct All<'w, 's> { $($field: $type,)* }

        /// What a phase has not taken yet.
        pub struct Parts<'w, 's> { $($field: Option<$type>,)* }

        impl<'w, 's> From<All<'w, 's>> for Parts<'w, 's> {
            fn from(all: All<'w, 's>) -> Parts<'w, 's> {
                Parts { $($field: Some(all.$field),)* }
            }
        }
    };
}

all! {
    code: Code<'w, 's>;
    notes: Notes<'w>;
    options: Res<'w, Options>;
    info: Res<'w, FunctionInfo>;
    compiled: ResMut<'w, Compiled>;
    marked: ResMut<'w, Marked>;
    clean: ResMut<'w, Clean>;
    map: ResMut<'w, RegisterMap>;
    list: ResMut<'w, CodeList>;
    words: ResMut<'w, Words>;
    form: ResMut<'w, Form>;
    analyses: ResMut<'w, Analyses>;
}

macro_rules! parts {
    ($($type:ty: $field:ident;)*) => {
        $(impl Part for $type {
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
    Res<'_, FunctionInfo>: info;
    ResMut<'_, Compiled>: compiled;
    Res<'_, Marked>: marked;
    ResMut<'_, Marked>: marked;
    ResMut<'_, Clean>: clean;
    ResMut<'_, RegisterMap>: map;
    Res<'_, CodeList>: list;
    ResMut<'_, CodeList>: list;
    Res<'_, Words>: words;
    ResMut<'_, Words>: words;
    Res<'_, Form>: form;
    ResMut<'_, Form>: form;
    ResMut<'_, Analyses>: analyses;
}

macro_rules! several {
    ($($($part:ident)*;)*) => {
        $(impl<$($part: Part),*> Part for ($($part,)*) {
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
