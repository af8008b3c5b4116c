//! A function's body: access to the entities of a `World` by dense ids, and the edits that phases make.

use crate::block::{Block, BlockId, Layout};
use crate::inst::{Inst, InstId, Loc};
use crate::register::{Reg, RegFile, VReg, VRegId};
use bevy_ecs::prelude::*;
use bevy_ecs::resource::IsResource;

/// From dense ids to entities; a removed instruction's place is `None`.
#[derive(Resource, Clone, Debug, Default)]
pub struct Ids {
    pub insts: Vec<Option<Entity>>,
    pub blocks: Vec<Option<Entity>>,
    pub vregs: Vec<Entity>,
}

/// The function in a `World`, for reading and editing.
///
/// Ids come from this function's own lists, so a lookup fails only by a programming error: those panic and name the id.
pub struct Body<'w> {
    pub world: &'w mut World,
}

impl<'w> Body<'w> {
    /// Takes the world's function, with empty resources where there are none yet.
    pub fn new(world: &'w mut World) -> Body<'w> {
        world.init_resource::<Ids>();
        world.init_resource::<Layout>();
        Body { world }
    }

    fn ids(&self) -> &Ids {
        self.world.resource::<Ids>()
    }

    pub fn inst_entity(&self, id: InstId) -> Option<Entity> {
        self.ids().insts.get(id.0 as usize).copied().flatten()
    }

    pub fn block_entity(&self, id: BlockId) -> Option<Entity> {
        self.ids().blocks.get(id.0 as usize).copied().flatten()
    }

    fn live_inst(&self, id: InstId) -> Entity {
        self.inst_entity(id).unwrap_or_else(|| panic!("no instruction {id:?}"))
    }

    fn live_block(&self, id: BlockId) -> Entity {
        self.block_entity(id).unwrap_or_else(|| panic!("no block {id}"))
    }

    pub fn inst(&self, id: InstId) -> &Inst {
        self.world.get(self.live_inst(id)).expect("every instruction entity has Inst")
    }

    pub fn inst_mut(&mut self, id: InstId) -> Mut<'_, Inst> {
        let entity = self.live_inst(id);
        self.world.get_mut(entity).expect("every instruction entity has Inst")
    }

    pub fn loc(&self, id: InstId) -> Loc {
        self.world.get(self.live_inst(id)).copied().unwrap_or_default()
    }

    pub fn block(&self, id: BlockId) -> &Block {
        self.world.get(self.live_block(id)).expect("every block entity has Block")
    }

    pub fn block_mut(&mut self, id: BlockId) -> Mut<'_, Block> {
        let entity = self.live_block(id);
        self.world.get_mut(entity).expect("every block entity has Block")
    }

    pub fn vreg(&self, id: VRegId) -> &VReg {
        self.world.get(self.ids().vregs[id.0 as usize]).expect("every register entity has VReg")
    }

    pub fn vreg_mut(&mut self, id: VRegId) -> Mut<'_, VReg> {
        let entity = self.ids().vregs[id.0 as usize];
        self.world.get_mut(entity).expect("every register entity has VReg")
    }

    pub fn layout(&self) -> &[BlockId] {
        &self.world.resource::<Layout>().0
    }

    pub fn set_layout(&mut self, order: Vec<BlockId>) {
        self.world.resource_mut::<Layout>().0 = order;
    }

    /// One more than the largest instruction id so far: the size of a table by instruction.
    pub fn inst_count(&self) -> usize {
        self.ids().insts.len()
    }

    /// One more than the largest block id so far: the size of a table by block.
    pub fn block_count(&self) -> usize {
        self.ids().blocks.len()
    }

    /// One more than the largest register id so far: the size of a table by register.
    pub fn vreg_count(&self) -> usize {
        self.ids().vregs.len()
    }

    /// A new virtual register; `align` in cells.
    pub fn new_vreg(&mut self, file: RegFile, cells: u8, align: u8) -> Reg {
        let id = VRegId(self.vreg_count() as u32);
        let entity = self.world.spawn(VReg { id, file, cells, align, assigned: None }).id();
        self.world.resource_mut::<Ids>().vregs.push(entity);
        Reg::virt(file, id)
    }

    /// A new block at the end of the layout.
    pub fn new_block(&mut self) -> BlockId {
        let id = self.new_detached_block();
        self.world.resource_mut::<Layout>().0.push(id);
        id
    }

    /// A new block that is in no layout yet.
    pub fn new_detached_block(&mut self) -> BlockId {
        let id = BlockId(self.block_count() as u32);
        let block = Block { id, insts: Vec::new(), succs: Vec::new(), preds: Vec::new() };
        let entity = self.world.spawn(block).id();
        self.world.resource_mut::<Ids>().blocks.push(Some(entity));
        id
    }

    /// Removes a block and its instructions, from the layout too. Edges of other blocks are the caller's matter.
    pub fn remove_block(&mut self, id: BlockId) {
        self.remove_blocks(&[id]);
    }

    /// The same of many, with one walk over the layout.
    pub fn remove_blocks(&mut self, ids: &[BlockId]) {
        ids.iter().for_each(|id| self.remove_detached_block(*id));
        if !ids.is_empty() {
            self.world.resource_scope(|world, mut layout: Mut<'_, Layout>| {
                let blocks = &world.resource::<Ids>().blocks;
                layout.0.retain(|b| blocks[b.0 as usize].is_some());
            });
        }
    }

    /// Removes a block that is in no layout, and its instructions.
    pub fn remove_detached_block(&mut self, id: BlockId) {
        for inst in std::mem::take(&mut self.block_mut(id).insts) {
            self.despawn_inst(inst);
        }
        let entity = self.live_block(id);
        self.world.despawn(entity);
        self.world.resource_mut::<Ids>().blocks[id.0 as usize] = None;
    }

    /// A new instruction that is in no block yet.
    pub fn new_inst(&mut self, inst: Inst, loc: Loc) -> InstId {
        let id = InstId(self.inst_count() as u32);
        let entity = self.world.spawn((inst, id, loc)).id();
        self.world.resource_mut::<Ids>().insts.push(Some(entity));
        id
    }

    /// Appends to a block.
    pub fn push(&mut self, block: BlockId, inst: Inst, loc: Loc) -> InstId {
        let id = self.new_inst(inst, loc);
        self.block_mut(block).insts.push(id);
        id
    }

    /// Inserts before position `at` of the block's list.
    pub fn insert(&mut self, block: BlockId, at: usize, inst: Inst, loc: Loc) -> InstId {
        let id = self.new_inst(inst, loc);
        self.block_mut(block).insts.insert(at, id);
        id
    }

    /// Removes an instruction from its block and the world. For many at once use [`Body::retain`].
    pub fn remove(&mut self, block: BlockId, inst: InstId) {
        self.block_mut(block).insts.retain(|i| *i != inst);
        self.despawn_inst(inst);
    }

    /// Keeps the block's instructions for which `keep` holds; returns how many went.
    pub fn retain(
        &mut self,
        block: BlockId,
        mut keep: impl FnMut(&Body<'_>, InstId) -> bool,
    ) -> usize {
        let all = std::mem::take(&mut self.block_mut(block).insts);
        let (kept, gone): (Vec<InstId>, Vec<InstId>) =
            all.into_iter().partition(|id| keep(self, *id));
        for id in &gone {
            self.despawn_inst(*id);
        }
        self.block_mut(block).insts = kept;
        gone.len()
    }

    /// Removes from the world an instruction that is in no block's list (any more).
    pub fn discard(&mut self, inst: InstId) {
        self.despawn_inst(inst);
    }

    fn despawn_inst(&mut self, id: InstId) {
        let entity = self.live_inst(id);
        self.world.despawn(entity);
        self.world.resource_mut::<Ids>().insts[id.0 as usize] = None;
    }

    /// Instructions that are in the world: what `--stat=phase-wise` counts.
    pub fn live_inst_count(&self) -> usize {
        self.ids().insts.iter().flatten().count()
    }

    /// Removes everything, ready for the next function: **every resource of the world too** (bevy keeps them as entities).
    /// Allocations stay, and this function's own lists are put back, empty.
    pub fn clear(&mut self) {
        let mut ids = self.world.remove_resource::<Ids>().unwrap_or_default();
        let mut layout = self.world.remove_resource::<Layout>().unwrap_or_default();
        // The world remembers the entity of each resource: it must forget them before they go.
        let held: Vec<Entity> = self.world.resource_entities().iter().map(|(_, e)| e).collect();
        for entity in held {
            self.world.entity_mut(entity).remove::<IsResource>();
        }
        self.world.flush();
        self.world.clear_entities();
        ids.insts.clear();
        ids.blocks.clear();
        ids.vregs.clear();
        layout.0.clear();
        self.world.insert_resource(ids);
        self.world.insert_resource(layout);
    }
}
