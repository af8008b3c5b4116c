//! Coalescing: registers that a copy joins share a place where their ranges never meet, so that the
//! copy does nothing.
//!
//! A class is a set of virtual registers with fixed distances in cells. Its widest member gives
//! width and alignment; the others lie within that one, so that a class never needs more room than
//! its widest member. The pieces of 64-bit and 128-bit values join their whole this way, and its
//! pieces join it when it is taken apart.

use super::ranges::{Ranges, Segment, join_into, overlap};
use crate::analysis::ControlFlow;
use crate::analysis::liveness::CellMap;
use crate::effects::{Copy, as_copy, may_copy};
use orias_components::scratch;
use orias_components::scratch::Scratch;
use orias_components::{Body, RegFile, RegUse, VRegId};
use std::num::NonZeroU32;

/// Where a register lies: `offset` cells into the class of `leader`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Place {
    /// The register that the class is named by.
    pub leader: VRegId,
    /// In cells.
    pub offset: u8,
}

/// A class: one unit of allocation.
#[derive(Clone, Debug)]
pub struct Class {
    /// The file of all its members.
    pub file: RegFile,
    /// Its width.
    pub cells: u8,
    /// What its first register's number is a multiple of.
    pub align: u8,
    /// The physical register of the first cell, where it is given from the start.
    pub fixed: Option<u8>,
    /// How many virtual registers are in it.
    pub members: u32,
    /// Where in [`Classes::joined`] its ranges are, once there are several members.
    joined: Option<NonZeroU32>,
}

const _: () = assert!(size_of::<Class>() == 16, "there is one for each register");

/// All classes of a function, by their leader.
#[derive(Clone, Debug)]
pub struct Classes {
    places: Scratch<Vec<Place>>,
    classes: Scratch<Vec<Class>>,
    /// Ranges of classes that have joined others, by cell; the first belongs to none.
    joined: Scratch<Vec<Cells>>,
}

/// Two classes that are to be one: the inner one lies `shift` cells into the outer.
#[derive(Clone, Copy, Debug)]
pub struct Joint {
    /// Leader of the class that goes on.
    pub outer: VRegId,
    /// Leader of the class that becomes part of it.
    pub inner: VRegId,
    /// In cells.
    pub shift: u8,
}

/// The range of each cell of a class.
type Cells = Scratch<Vec<Scratch<Vec<Segment>>>>;

fn cells() -> Cells {
    scratch!(Vec<Scratch<Vec<Segment>>>)
}

impl Classes {
    /// Every register in a class of its own.
    pub fn single(body: &Body<'_>) -> Classes {
        let ids = || (0..body.vreg_count() as u32).map(VRegId);
        Classes {
            places: scratch!(Vec<Place>).with(ids().map(|leader| Place { leader, offset: 0 })),
            classes: scratch!(Vec<Class>).with(ids().map(|id| {
                let v = body.vreg(id);
                Class {
                    file: v.file,
                    cells: v.cells,
                    align: v.align.max(1),
                    fixed: v.assigned,
                    members: 1,
                    joined: None,
                }
            })),
            joined: scratch!(Vec<Cells>).with([cells()]),
        }
    }

    /// Joins the registers of copies as long as their ranges do not meet; copies that run often
    /// first. Registers that are `alone` stay so.
    pub fn coalesce(
        body: &Body<'_>,
        map: &CellMap,
        ranges: &Ranges,
        flow: &ControlFlow,
        alone: impl Fn(VRegId) -> bool,
    ) -> Classes {
        let mut classes = Classes::single(body);
        let mut copies = scratch!(Vec<(u64, u32, Copy)>);
        for &block in body.layout() {
            for &id in body.block(block).insts() {
                if !may_copy(body.op(id)) {
                    continue;
                }
                if let Some(copy) = as_copy(body.inst(id)) {
                    let at = copies.len() as u32;
                    copies.push((flow.frequency(block.0), at, copy));
                }
            }
        }
        copies.sort_unstable_by_key(|(frequency, at, _)| (std::cmp::Reverse(*frequency), *at));
        for &(_, _, copy) in copies.iter() {
            let is_alone = |r: RegUse| r.reg.vreg().is_some_and(&alone);
            if !is_alone(copy.to) && !is_alone(copy.from) {
                classes.try_join(map, ranges, copy);
            }
        }
        classes.shorten();
        classes
    }

    /// Leaves a direct way from each register to its leader.
    pub fn shorten(&mut self) {
        for id in (0..self.len()).map(VRegId) {
            self.find(id);
        }
    }

    /// [`Classes::place`], which leaves a direct way to the leader behind it.
    fn find(&mut self, id: VRegId) -> Place {
        let found = self.place(id);
        let mut at = id;
        let mut offset = found.offset;
        while at != found.leader {
            let up = self.places[at.0 as usize];
            self.places[at.0 as usize] = Place { leader: found.leader, offset };
            offset -= up.offset;
            at = up.leader;
        }
        found
    }

    /// Where a register lies.
    pub fn place(&self, id: VRegId) -> Place {
        let mut place = self.places[id.0 as usize];
        loop {
            let up = self.places[place.leader.0 as usize];
            if up.leader == place.leader {
                return place;
            }
            place = Place { leader: up.leader, offset: place.offset + up.offset };
        }
    }

    /// One more than the largest register id when the classes were made.
    pub fn len(&self) -> u32 {
        self.places.len() as u32
    }

    /// Whether the function has no virtual registers.
    pub fn is_empty(&self) -> bool {
        self.places.is_empty()
    }

    /// Whether a class is named by the register.
    pub fn is_leader(&self, id: VRegId) -> bool {
        self.places[id.0 as usize].leader == id
    }

    /// The class of a leader.
    pub fn class(&self, leader: VRegId) -> &Class {
        &self.classes[leader.0 as usize]
    }

    /// Leaders in the order of their ids.
    pub fn leaders(&self) -> impl Iterator<Item = VRegId> + '_ {
        (0..self.places.len() as u32).map(VRegId).filter(|id| self.is_leader(*id))
    }

    /// The range of one cell of a class.
    pub fn range<'a>(
        &'a self,
        map: &CellMap,
        ranges: &'a Ranges,
        leader: VRegId,
        cell: u8,
    ) -> &'a [Segment] {
        match self.class(leader).joined {
            Some(joined) => &self.joined[joined.get() as usize][cell as usize],
            None => ranges.of(map.first(leader) + u32::from(cell)),
        }
    }

    fn try_join(&mut self, map: &CellMap, ranges: &Ranges, copy: Copy) -> bool {
        self.try_join_if(map, ranges, copy, |_, _| true)
    }

    /// Joins the classes of a copy's registers where their ranges allow it, and `allowed` does: it
    /// is given the place that each register would have in the class of both.
    pub fn try_join_if(
        &mut self,
        map: &CellMap,
        ranges: &Ranges,
        copy: Copy,
        allowed: impl FnOnce(&Classes, Joint) -> bool,
    ) -> bool {
        let (Some(a), Some(b)) = (copy.to.reg.vreg(), copy.from.reg.vreg()) else { return false };
        let (a, b) = (self.find(a), self.find(b));
        if a.leader == b.leader {
            return false;
        }
        let a_cell = i32::from(a.offset + copy.to.cell);
        let b_cell = i32::from(b.offset + copy.from.cell);
        // The wider class takes the other one in; of equals, the one with the lower number.
        let (wa, wb) = (self.class(a.leader).cells, self.class(b.leader).cells);
        let a_leads = wa > wb || (wa == wb && a.leader < b.leader);
        let (outer, inner, shift) = if a_leads {
            (a.leader, b.leader, a_cell - b_cell)
        } else {
            (b.leader, a.leader, b_cell - a_cell)
        };
        let (o, i) = (self.class(outer), self.class(inner));
        let fits = shift >= 0
            && shift + i32::from(i.cells) <= i32::from(o.cells)
            && shift % i32::from(i.align) == 0
            && o.align % i.align == 0;
        if !fits || o.file != i.file || o.fixed.is_some() || i.fixed.is_some() {
            return false;
        }
        let shift = shift as u8;
        let (inner_cells, outer_cells) = (i.cells, o.cells);
        for cell in 0..inner_cells {
            let of_inner = self.range(map, ranges, inner, cell);
            if overlap(of_inner, self.range(map, ranges, outer, cell + shift)) {
                return false;
            }
        }
        if !allowed(self, Joint { outer, inner, shift }) {
            return false;
        }
        let place = self.classes[outer.0 as usize].joined;
        let mut joined = match place {
            Some(place) => std::mem::replace(&mut self.joined[place.get() as usize], cells()),
            None => {
                let range = |cell| ranges.of(map.first(outer) + u32::from(cell)).iter().copied();
                cells().with((0..outer_cells).map(|c| scratch!(Vec<Segment>).with(range(c))))
            }
        };
        for cell in 0..inner_cells {
            join_into(&mut joined[(cell + shift) as usize], self.range(map, ranges, inner, cell));
        }
        let of_inner = self.classes[inner.0 as usize].joined.take();
        let members = self.class(inner).members;
        // Nobody asks for the inner one's any more.
        let place = place.or(of_inner).or_else(|| {
            self.joined.push(cells());
            NonZeroU32::new(self.joined.len() as u32 - 1)
        });
        if let Some(place) = place {
            self.joined[place.get() as usize] = joined;
        }
        if let Some(free) = of_inner.filter(|free| Some(*free) != place) {
            self.joined[free.get() as usize] = cells();
        }
        let class = &mut self.classes[outer.0 as usize];
        class.joined = place;
        class.members += members;
        self.places[inner.0 as usize] = Place { leader: outer, offset: shift };
        true
    }
}
