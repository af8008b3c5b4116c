//! What the file says of a function's code besides its words.

use orias_systems::function::Needs;

/// What the file says of a kernel's or a function's code. Offsets are bytes in its text.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct CodeFacts {
    /// Operations that threads of a warp do together because the PTX says so, with their masks: all
    /// ones, or the register that holds it.
    pub cooperative: Vec<(u32, u32)>,
    /// Such operations that the compiler makes for itself.
    pub warp_wide: Vec<u32>,
    /// Operations on mbarriers: offset, base register, displacement, kind with uniform register.
    pub mbarriers: Vec<[u32; 4]>,
    /// How many of them initialise one; `u16::MAX` where one does so in a loop.
    pub mbarrier_inits: u16,
    /// Registers with the count of arrivals without completion.
    pub counts: Vec<(u32, u8)>,
    /// Stores and loads of spill code.
    pub spills: Vec<u32>,
    /// Branches through tables, each with its targets.
    pub jumps: Vec<(u32, Vec<u32>)>,
    /// There are `wmma` instructions.
    pub wmma: bool,
    /// The places that the system reserves in shared memory are asked for.
    pub reserved_shared: bool,
    /// Among them those that a linker sets, which leave the symbol that it has resolved.
    pub reserved_names: bool,
    /// What the code needs of the machine beyond the base ISA.
    pub needs: Needs,
}

impl CodeFacts {
    /// Adds what is said of a function whose code begins at `base`.
    pub fn append(&mut self, other: &CodeFacts, base: u32) {
        let moved = |at: &u32| base + at;
        self.cooperative.extend(other.cooperative.iter().map(|(at, mask)| (base + at, *mask)));
        self.warp_wide.extend(other.warp_wide.iter().map(moved));
        let barriers = other.mbarriers.iter();
        self.mbarriers
            .extend(barriers.map(|[at, rest @ ..]| [base + at, rest[0], rest[1], rest[2]]));
        self.mbarrier_inits = self.mbarrier_inits.saturating_add(other.mbarrier_inits);
        self.counts.extend(other.counts.iter().map(|(at, register)| (base + at, *register)));
        self.spills.extend(other.spills.iter().map(moved));
        let jumps = other.jumps.iter();
        self.jumps
            .extend(jumps.map(|(at, targets)| (base + at, targets.iter().map(moved).collect())));
        self.wmma |= other.wmma;
        self.reserved_shared |= other.reserved_shared;
        self.reserved_names |= other.reserved_names;
        self.needs = self.needs.and(other.needs);
    }
}
