//! A function in the ECS: its tables in a world, and the ways of phases to them.
//!
//! Instructions, blocks and registers are entities of three tables. Rows are spawned in batches,
//! never despawned and never moved between tables, so an id is a row and each table is one slice.
//! Tables grow between functions: what a function has beyond their rows lies in [`Arena`] as long
//! as it is compiled, and the next one finds rows for it ([`Function::clear`]). So a program that
//! compiles one function makes no world, which would be a fiftieth of its time if the function is
//! small, and more than its own memory if it is huge: a world keeps 60 bytes for each entity.

use crate::block::Block;
use crate::body::{Arena, Body};
use crate::inst::{LocId, Row};
use crate::register::{RegFile, VReg};
use bevy_ecs::change_detection::Tick;
use bevy_ecs::prelude::*;
use bevy_ecs::query::{ArchetypeFilter, ContiguousQueryData, IterQueryData};
use bevy_ecs::system::{SystemAccess, SystemMeta, SystemParam, SystemParamValidationError};
use bevy_ecs::world::unsafe_world_cell::UnsafeWorldCell;
use std::cell::UnsafeCell;
use std::mem::take;
use std::ops::Deref;
use std::ptr;

/// Of rows that a function needs more than there are, so many more are spawned, by how many there
/// are: functions each of which is a little larger than the last do not spawn a few each.
const SPARE: usize = 4;

const NO_VREG: VReg = VReg { file: RegFile::R, cells: 1, align: 1, assigned: None };

/// Spawns the rows that the tables had no room for.
fn settle(world: &mut World, arena: &mut Arena) {
    if arena.is_settled() {
        return;
    }
    let (rows, locs) = (take(&mut arena.more_rows), take(&mut arena.more_locs));
    let (blocks, vregs) = (take(&mut arena.more_blocks), take(&mut arena.more_vregs));
    let more = [rows.len(), blocks.len(), vregs.len()];
    let all = [arena.insts, arena.blocks, arena.vregs];
    let spare = |i: usize| if more[i] == 0 { 0 } else { (all[i] - more[i]) / SPARE };
    let spares = [spare(0), spare(1), spare(2)];
    expect_entities(world, more.into_iter().chain(spares).sum());
    let none = (0..spares[0]).map(|_| (Row::NONE, LocId::NONE));
    world.spawn_batch(rows.into_iter().zip(locs).chain(none));
    world.spawn_batch(blocks.into_iter().chain((0..spares[1]).map(|_| Block::NONE)));
    world.spawn_batch(vregs.into_iter().chain((0..spares[2]).map(|_| NO_VREG)));
}

/// All components of a type, in the order in which they were spawned: rows stay in the one table
/// where they are. A query says the same, but for a world's only function it takes longer to make
/// than a phase runs.
fn column<T: Component>(world: &World) -> *mut [T] {
    let id = world.component_id::<T>();
    let found = id.and_then(|id| {
        let table = world.storages().tables.iter().find(|table| table.has_column(id))?;
        // SAFETY: the component with this number is `T`.
        unsafe { table.get_data_slice_for::<T>(id) }
    });
    let cells = found.unwrap_or(&[]);
    ptr::slice_from_raw_parts_mut(UnsafeCell::raw_get(cells.as_ptr()), cells.len())
}

/// So many more entities at once are more than what is wasted on telling the world of them.
const MANY_ENTITIES: usize = 1 << 7;

/// Entities that are spawned one by one where bevy runs a phase ([`Function::run`]): one for the
/// arena, and of each table.
const ALONE: usize = 4;

/// Gives a world's list of entities room for many that come now. By itself the list doubles, one
/// entity at a time, and writes to all the room that it has: for two million and one entities of 24
/// bytes it touched 100 MB, beside 50 of the list before. It grows to what the last of its entities
/// needs at once, where that is named first.
fn expect_entities(world: &mut World, more: usize) {
    if more < MANY_ENTITIES {
        return;
    }
    let all = more + world.archetypes().iter().map(|one| one.len() as usize).sum::<usize>();
    let last = u32::try_from(all + ALONE).ok().and_then(Entity::from_raw_u32);
    // One that nobody has yet, and behind this nobody has it again.
    if let Some(last) = last.filter(|_| world.entities().len() as usize <= all)
        && world.spawn_empty_at(last).is_ok()
    {
        world.despawn_no_free(last);
    }
}

/// The tables and the arena of a world's function, as a system parameter.
#[derive(SystemParam)]
pub struct Tables<'w, 's> {
    insts: Query<'w, 's, (&'static mut Row, &'static mut LocId)>,
    blocks: Query<'w, 's, &'static mut Block>,
    vregs: Query<'w, 's, &'static mut VReg>,
    arena: ResMut<'w, Arena>,
}

/// The one table of a query: [`Function::run`] sees to it that there is one.
fn slice<'w, 's, D, F>(query: Query<'w, 's, D, F>) -> D::Contiguous<'w, 's>
where
    D: ContiguousQueryData + IterQueryData,
    F: ArchetypeFilter,
{
    let all = query.contiguous_iter_inner().ok();
    all.and_then(|mut all| all.next()).expect("the world was prepared: one table of components")
}

impl<'w> Tables<'w, '_> {
    /// The function of the world.
    fn into_body(self) -> Body<'w> {
        let (rows, locs) = slice(self.insts);
        Body {
            rows: rows.into_iter().into_slice(),
            locs: locs.into_iter().into_slice(),
            blocks: slice(self.blocks).into_iter().into_slice(),
            vregs: slice(self.vregs).into_iter().into_slice(),
            arena: self.arena.into_inner(),
        }
    }
}

/// A function whose tables were looked up once, for one phase after another.
pub struct Held<'w>(Body<'w>);

impl Held<'_> {
    /// The function, for changes.
    pub fn body(&mut self) -> Body<'_> {
        let Body { rows, locs, blocks, vregs, arena } = &mut self.0;
        Body { rows, locs, blocks, vregs, arena }
    }

    /// What the function has besides its tables.
    pub fn arena(&self) -> &Arena {
        self.0.arena
    }
}

/// The function of a world, as a system parameter: for phases that edit it.
pub struct Code<'w>(Body<'w>);

impl<'w> Code<'w> {
    /// The function in the phase's world, for changes.
    pub fn body(self) -> Body<'w> {
        self.0
    }
}

impl<'w> From<Body<'w>> for Code<'w> {
    fn from(body: Body<'w>) -> Code<'w> {
        Code(body)
    }
}

// SAFETY: state, access and what is fetched are those of `Tables`, which is a parameter too.
unsafe impl SystemParam for Code<'_> {
    type State = <Tables<'static, 'static> as SystemParam>::State;
    type Item<'w, 's> = Code<'w>;

    fn init_state(world: &mut World) -> Self::State {
        Tables::init_state(world)
    }

    fn init_access(
        state: &Self::State,
        meta: &mut SystemMeta,
        access: &mut SystemAccess,
        world: &mut World,
    ) {
        Tables::init_access(state, meta, access, world);
    }

    unsafe fn get_param<'w>(
        state: &mut Self::State,
        meta: &SystemMeta,
        world: UnsafeWorldCell<'w>,
        tick: Tick,
    ) -> Result<Code<'w>, SystemParamValidationError> {
        // SAFETY: the caller keeps for this parameter what `Tables` asks for.
        let tables = unsafe { Tables::get_param(state, meta, world, tick) };
        Ok(Code(tables?.into_body()))
    }
}

/// The same for phases that only read: they get no more than `&Body`.
#[derive(SystemParam)]
pub struct Reader<'w>(Code<'w>);

impl<'w> From<Body<'w>> for Reader<'w> {
    fn from(body: Body<'w>) -> Reader<'w> {
        Reader(Code(body))
    }
}

impl<'w> Reader<'w> {
    /// The function in the phase's world, for reading.
    pub fn body(self) -> impl Deref<Target = Body<'w>> {
        ReadOnly(self.0.body())
    }
}

struct ReadOnly<'w>(Body<'w>);

impl<'w> Deref for ReadOnly<'w> {
    type Target = Body<'w>;
    fn deref(&self) -> &Body<'w> {
        &self.0
    }
}

/// A world with one function, and what the function has besides its entities: where bevy runs a
/// phase, that is a resource of the world.
#[derive(Default)]
pub struct Function {
    /// One function's instructions, blocks and registers as entities; none as long as there are no
    /// rows.
    world: Option<Box<World>>,
    arena: Arena,
}

impl Function {
    /// The world, for what else it is to have.
    pub fn world(&mut self) -> &mut World {
        self.world.get_or_insert_default()
    }

    /// The function, looked up once for many phases.
    pub fn hold(&mut self) -> Held<'_> {
        Held(self.body())
    }

    /// The function, for changes, outside the run of a phase.
    pub fn body(&mut self) -> Body<'_> {
        let Function { world, arena } = self;
        let Some(world) = world else { return arena.alone() };
        // SAFETY: the world is borrowed for as long as the body is, and each column once.
        unsafe {
            Body {
                rows: &mut *column(world),
                locs: &mut *column(world),
                blocks: &mut *column(world),
                vregs: &mut *column(world),
                arena,
            }
        }
    }

    /// Removes everything, ready for the next function, for which there are as many rows from now
    /// on as this one needed. Allocations stay: of blocks each has some of its own.
    pub fn clear(&mut self) {
        let Function { world, arena } = self;
        if !arena.is_settled() {
            settle(world.get_or_insert_default(), arena);
        }
        arena.clear();
    }

    /// Runs a phase once, and makes edges new that it left stale, as the manager does: for tests.
    pub fn run<M>(&mut self, phase: impl IntoSystem<(), (), M>) {
        let Function { world, arena } = self;
        let world = world.get_or_insert_default();
        settle(world, arena);
        // One of each: where a table has none, a query finds no table.
        let are_missing = [arena.insts, arena.blocks, arena.vregs].map(|count| count == 0);
        are_missing[0].then(|| world.spawn((Row::NONE, LocId::NONE)).id());
        are_missing[1].then(|| world.spawn(Block::NONE).id());
        are_missing[2].then(|| world.spawn(NO_VREG).id());
        world.insert_resource(take(arena));
        let mut phase = IntoSystem::into_system(phase);
        phase.initialize(world);
        let done = phase.run((), world);
        *arena = world.remove_resource().expect("it was inserted");
        done.unwrap_or_else(|e| panic!("the phase could not run: {e}"));
        self.body().update_edges();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Inst, Loc, Opcode, VRegId};

    fn rows<T: Component>(function: &mut Function) -> usize {
        let world = function.world();
        world.query::<&T>().iter(world).count()
    }

    #[test]
    fn tables_grow_between_functions() {
        let mut function = Function::default();
        let mut body = function.body();
        let block = body.new_block();
        let push = |body: &mut Body<'_>, block, count| {
            for _ in 0..count {
                body.push(block, Inst::new(Opcode::NOP, &[], 0, &[]), Loc::default());
                body.new_vreg(RegFile::R, 1, 1);
            }
        };
        push(&mut body, block, 100);
        assert_eq!(function.hold().body().inst_count(), 100);
        assert!(function.world.is_none(), "the only function needs no world");
        function.clear();
        let counts = |f: &mut Function| [rows::<Row>(f), rows::<Block>(f), rows::<VReg>(f)];
        assert_eq!(counts(&mut function), [100, 1, 100]);
        // The next one lies in them as far as they go.
        let mut held = function.hold();
        let mut body = held.body();
        assert_eq!((body.inst_count(), body.rows.len(), body.vregs.len()), (0, 100, 100));
        let block = body.new_block();
        push(&mut body, block, 120);
        (0..5).for_each(|_| _ = body.new_block());
        assert_eq!((body.vreg_count(), body.vreg(VRegId(119)).cells), (120, 1));
        assert_eq!((body.arena.more_rows.len(), body.arena.more_vregs.len()), (20, 20));
        function.clear();
        // Who needed more than there was leaves some more than that.
        let spare = 100 / SPARE;
        assert_eq!(counts(&mut function), [120 + spare, 6, 120 + spare]);
        assert_eq!(function.body().inst_count(), 0);
    }
}
