//! A function in the ECS: its tables in a world, and the ways of phases to them.
//!
//! Instructions, blocks and registers are entities of three tables. Rows are spawned in batches,
//! never despawned and never moved between tables, so an id is a row and each table is one slice.
//! They are spawned when a function is there as a whole, before its phases ([`settle`]). What
//! phases make finds rows free that a larger function has left, or lies in [`Arena`] as long as the
//! function is compiled: most of that are values of SSA form, and few of them are left in the end.

use crate::block::Block;
use crate::body::{Arena, Body};
use crate::ids::VRegId;
use crate::inst::{LocId, Row};
use crate::register::{RegFile, VReg};
use bevy_ecs::change_detection::{ContiguousMut, Tick};
use bevy_ecs::prelude::*;
use bevy_ecs::query::{ArchetypeFilter, ContiguousQueryData};
use bevy_ecs::system::{
    SystemAccess, SystemMeta, SystemParam, SystemParamValidationError, SystemState,
};
use bevy_ecs::world::unsafe_world_cell::UnsafeWorldCell;
use std::ops::Deref;

/// Of rows that a function needs more than there are, so many more are spawned, by how many there
/// are: functions each of which is a little larger than the last do not spawn a few each. A world's
/// first function has what it needs and no more: most programs compile one.
const SPARE: usize = 4;

const NO_VREG: VReg =
    VReg { id: VRegId(u32::MAX), file: RegFile::R, cells: 1, align: 1, assigned: None };

/// Gives a world the tables of a body, empty.
pub fn prepare(world: &mut World) {
    if world.contains_resource::<Arena>() {
        return;
    }
    world.init_resource::<Arena>();
    // One of each: where a table has none, a query finds no table.
    world.spawn((Row::NONE, LocId::NONE));
    world.spawn(Block::NONE);
    world.spawn(NO_VREG);
}

/// Spawns the rows that the tables had no room for.
pub fn settle(world: &mut World) {
    let arena = world.resource_mut::<Arena>().into_inner();
    if arena.is_settled() {
        return;
    }
    let (rows, locs) = (std::mem::take(&mut arena.more_rows), std::mem::take(&mut arena.more_locs));
    let blocks = std::mem::take(&mut arena.more_blocks);
    let vregs = std::mem::take(&mut arena.more_vregs);
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

/// So many more entities at once are more than what is wasted on telling the world of them.
const MANY_ENTITIES: usize = 1 << 7;

/// Gives a world's list of entities room for many that come now. By itself the list doubles, one
/// entity at a time, and writes to all the room that it has: for two million and one entities of 24
/// bytes it touched 100 MB, beside 50 of the list before. It grows to what the last of its entities
/// needs at once, where that is named first.
fn expect_entities(world: &mut World, more: usize) {
    if more < MANY_ENTITIES {
        return;
    }
    let all = more + world.archetypes().iter().map(|one| one.len() as usize).sum::<usize>();
    let last = u32::try_from(all).ok().and_then(Entity::from_raw_u32);
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

/// The one table of a query: [`prepare`] has spawned it.
fn slice<'w, 's, D, F>(query: Query<'w, 's, D, F>) -> D::Contiguous<'w, 's>
where
    D: ContiguousQueryData + bevy_ecs::query::IterQueryData,
    F: ArchetypeFilter,
{
    let all = query.contiguous_iter_inner().ok();
    all.and_then(|mut all| all.next()).expect("the world was prepared: one table of components")
}

/// A function whose tables were looked up once, for one phase after another.
pub struct Held<'w> {
    rows: ContiguousMut<'w, Row>,
    locs: ContiguousMut<'w, LocId>,
    blocks: ContiguousMut<'w, Block>,
    vregs: ContiguousMut<'w, VReg>,
    arena: &'w mut Arena,
}

impl<'w> Tables<'w, '_> {
    /// The function of the world.
    pub fn hold(self) -> Held<'w> {
        let (rows, locs) = slice(self.insts);
        Held {
            rows,
            locs,
            blocks: slice(self.blocks),
            vregs: slice(self.vregs),
            arena: self.arena.into_inner(),
        }
    }
}

impl<'w> Held<'w> {
    /// The function, for changes.
    pub fn body(&mut self) -> Body<'_> {
        Body {
            rows: self.rows.bypass_change_detection(),
            locs: self.locs.bypass_change_detection(),
            blocks: self.blocks.bypass_change_detection(),
            vregs: self.vregs.bypass_change_detection(),
            arena: self.arena,
        }
    }

    /// What the function has besides its tables.
    pub fn arena(&self) -> &Arena {
        self.arena
    }

    fn into_body(self) -> Body<'w> {
        Body {
            rows: self.rows.into_iter().into_slice(),
            locs: self.locs.into_iter().into_slice(),
            blocks: self.blocks.into_iter().into_slice(),
            vregs: self.vregs.into_iter().into_slice(),
            arena: self.arena,
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
        Ok(Code(tables?.hold().into_body()))
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

/// A world with one function, and the way into it.
pub struct Function {
    /// One function's instructions, blocks and registers as entities.
    pub world: World,
    tables: SystemState<Tables<'static, 'static>>,
}

impl Default for Function {
    fn default() -> Function {
        let mut world = World::new();
        prepare(&mut world);
        let tables = SystemState::new(&mut world);
        Function { world, tables }
    }
}

impl Function {
    /// The function's tables, once all of it is in them.
    pub fn hold(&mut self) -> Held<'_> {
        settle(&mut self.world);
        self.tables.get_mut(&mut self.world).expect("the world was prepared").hold()
    }

    /// The function, for changes, outside the run of a phase.
    pub fn body(&mut self) -> Body<'_> {
        self.hold().into_body()
    }

    /// Removes everything, ready for the next function. Allocations stay: of blocks each has some
    /// of its own, which the next function finds in the table.
    pub fn clear(&mut self) {
        let arena = self.world.resource_mut::<Arena>().into_inner();
        arena.clear();
        let blocks = std::mem::take(&mut arena.more_blocks);
        self.world.spawn_batch(blocks);
    }

    /// Runs a phase once, and makes edges new that it left stale, as the manager does: for tests.
    pub fn run<M>(&mut self, phase: impl IntoSystem<(), (), M>) {
        settle(&mut self.world);
        let mut phase = IntoSystem::into_system(phase);
        phase.initialize(&mut self.world);
        let done = phase.run((), &mut self.world);
        done.unwrap_or_else(|e| panic!("the phase could not run: {e}"));
        self.body().update_edges();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Inst, Loc, Opcode};

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
        let mut held = function.hold();
        let mut body = held.body();
        for _ in 0..50 {
            body.new_vreg(RegFile::R, 2, 2);
        }
        assert_eq!((body.vreg_count(), body.vreg(VRegId(149)).cells), (150, 2));
        assert!(!held.arena().is_settled());
        assert_eq!([rows::<Row>(&mut function), rows::<VReg>(&mut function)], [100; 2]);
        // Blocks come to the table all the same, with their lists, for the next function.
        let mut held = function.hold();
        (0..5).for_each(|_| _ = held.body().new_block());
        assert_eq!(rows::<Block>(&mut function), 1);
        function.clear();
        assert_eq!(rows::<Block>(&mut function), 6);
        // Who needs more than there is gets some more than that.
        let mut body = function.body();
        assert_eq!(body.inst_count(), 0);
        let block = body.new_block();
        push(&mut body, block, 120);
        _ = function.hold();
        assert_eq!(rows::<Row>(&mut function), 120 + 100 / SPARE);
    }
}
