//! A function in the ECS: its tables in a world, and the ways of phases to them.
//!
//! Instructions, blocks and registers are entities of three tables. Rows are spawned in batches,
//! never despawned and never moved between tables, so an id is a row and each table is one slice.
//! They are spawned when a function is there as a whole, before its phases ([`Held::settle`]). What
//! phases make finds rows free that a larger function has left, or lies in [`Arena`] as long as the
//! function is compiled: most of that are values of SSA form, and few of them are left in the end.
//! So does a huge function until phases have made it smaller: for each instruction's 24 bytes the
//! world keeps 60 of its own.

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
/// are: functions each of which is a little larger than the last do not spawn a few each. A world's
/// first function has what it needs and no more: most programs compile one.
const SPARE: usize = 4;

const NO_VREG: VReg = VReg { file: RegFile::R, cells: 1, align: 1, assigned: None };

/// Spawns the rows that the tables had no room for.
fn settle(world: &mut World, arena: &mut Arena) {
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

/// Where the tables of a world are, as long as nothing is spawned.
struct Columns {
    rows: *mut [Row],
    locs: *mut [LocId],
    blocks: *mut [Block],
    vregs: *mut [VReg],
}

impl Columns {
    fn of(world: &mut World) -> Columns {
        Columns {
            rows: column(world),
            locs: column(world),
            blocks: column(world),
            vregs: column(world),
        }
    }

    /// # Safety
    /// Nothing was spawned since, and nobody else uses the world as long as the body is there.
    unsafe fn body<'a>(&self, arena: &'a mut Arena) -> Body<'a> {
        // SAFETY: as the caller says; each column is another one's.
        unsafe {
            Body {
                rows: &mut *self.rows,
                locs: &mut *self.locs,
                blocks: &mut *self.blocks,
                vregs: &mut *self.vregs,
                arena,
            }
        }
    }
}

/// A function whose tables were looked up once, for one phase after another.
pub struct Held<'w> {
    function: &'w mut Function,
    columns: Columns,
}

impl Held<'_> {
    /// The function, for changes.
    pub fn body(&mut self) -> Body<'_> {
        // SAFETY: the function is borrowed, and who spawns looks the columns up again.
        unsafe { self.columns.body(&mut self.function.arena) }
    }

    /// What the function has besides its tables.
    pub fn arena(&self) -> &Arena {
        &self.function.arena
    }

    /// Spawns what the tables had no room for.
    pub fn settle(&mut self) {
        let Function { world, arena } = &mut *self.function;
        if !arena.is_settled() {
            settle(world, arena);
            self.columns = Columns::of(world);
        }
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
    /// One function's instructions, blocks and registers as entities.
    pub world: World,
    arena: Arena,
}

impl Function {
    /// The function's tables, which may not have all of it yet ([`Held::settle`]).
    pub fn hold(&mut self) -> Held<'_> {
        let columns = Columns::of(&mut self.world);
        Held { function: self, columns }
    }

    /// The function, for changes, outside the run of a phase.
    pub fn body(&mut self) -> Body<'_> {
        let Function { world, arena } = self;
        if !arena.is_settled() {
            settle(world, arena);
        }
        // SAFETY: the world is borrowed for as long as the body is.
        unsafe { Columns::of(world).body(arena) }
    }

    /// Removes everything, ready for the next function. Allocations stay: of blocks each has some
    /// of its own, which the next function finds in the table.
    pub fn clear(&mut self) {
        self.arena.clear();
        self.world.spawn_batch(take(&mut self.arena.more_blocks));
    }

    /// Runs a phase once, and makes edges new that it left stale, as the manager does: for tests.
    pub fn run<M>(&mut self, phase: impl IntoSystem<(), (), M>) {
        let Body { rows, blocks, vregs, .. } = self.body();
        let are_missing = [rows.is_empty(), blocks.is_empty(), vregs.is_empty()];
        // One of each: where a table has none, a query finds no table.
        let world = &mut self.world;
        are_missing[0].then(|| world.spawn((Row::NONE, LocId::NONE)).id());
        are_missing[1].then(|| world.spawn(Block::NONE).id());
        are_missing[2].then(|| world.spawn(NO_VREG).id());
        world.insert_resource(take(&mut self.arena));
        let mut phase = IntoSystem::into_system(phase);
        phase.initialize(world);
        let done = phase.run((), world);
        self.arena = world.remove_resource().expect("it was inserted");
        done.unwrap_or_else(|e| panic!("the phase could not run: {e}"));
        self.body().update_edges();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Inst, Loc, Opcode, VRegId};

    fn rows<T: Component>(function: &mut Function) -> usize {
        function.world.query::<&T>().iter(&function.world).count()
    }

    #[test]
    fn what_phases_make_lies_beside_the_tables() {
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
        // A function that is held is in the tables once that is asked for.
        assert_eq!(function.hold().body().inst_count(), 100);
        assert_eq!([rows::<Row>(&mut function), rows::<VReg>(&mut function)], [0; 2]);
        let mut held = function.hold();
        held.settle();
        assert!(held.arena().is_settled());
        let mut body = held.body();
        assert_eq!((body.rows.len(), body.vregs.len()), (100, 100));
        for _ in 0..50 {
            body.new_vreg(RegFile::R, 2, 2);
        }
        assert_eq!((body.vreg_count(), body.vreg(VRegId(149)).cells), (150, 2));
        assert!(!held.arena().is_settled());
        assert_eq!([rows::<Row>(&mut function), rows::<VReg>(&mut function)], [100; 2]);
        // Blocks come to the table all the same, with their lists, for the next function.
        let mut held = function.hold();
        held.settle();
        (0..5).for_each(|_| _ = held.body().new_block());
        assert_eq!(rows::<Block>(&mut function), 1);
        function.clear();
        assert_eq!(rows::<Block>(&mut function), 6);
        // Who needs more than there is gets some more than that.
        let mut body = function.body();
        assert_eq!(body.inst_count(), 0);
        let block = body.new_block();
        push(&mut body, block, 120);
        function.hold().settle();
        assert_eq!(rows::<Row>(&mut function), 120 + 100 / SPARE);
    }
}
