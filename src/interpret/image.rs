//! The module in device memory: which functions and variables a kernel reaches, and where each
//! variable lies.

use super::InterpretError;
use super::pointer::function_address;
use crate::launch;
use crate::launch::{
    ClusterRules, Clusters, Launch, LaunchError, MAX_LOCAL, MAX_MEMORY, Parameter, Placed,
};
use crate::ptx::program::{AddressBase, FuncId, Operand, Program, SymbolRef, VarId};
use crate::ptx::types::Space;
use orias_targets::memory::{
    Memory, MemorySpace, Region, SHARED_RESERVED, SHARED_WINDOW, UNWRITTEN,
};

/// Where a variable lies.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Location {
    /// A mapped region, or a kernel parameter in one.
    Mapped(u64),
    /// An address in shared memory.
    Shared(u64),
    /// An offset in the frame of its function in local memory.
    Frame(u64),
    /// Not reached from the kernel, or of a space without memory.
    #[default]
    Nowhere,
}

/// Everything that is the same for all threads of a launch.
pub struct Image {
    /// The kernel.
    pub entry: FuncId,
    /// Buffers, parameters and variables in place.
    pub memory: Memory,
    /// Where the buffers are.
    pub placed: Placed,
    /// By [`VarId`].
    pub locations: Vec<Location>,
    /// By [`FuncId`]: reached from the kernel.
    pub reached: Vec<bool>,
    /// By [`FuncId`]: bytes of the frame in local memory.
    pub frames: Vec<u64>,
    /// Base and size of each constant variable, and of the kernel's parameters.
    pub constants: Vec<(u64, u64)>,
    /// See [`Image::constants`].
    pub parameters: (u64, u64),
    /// The grid by clusters.
    pub clusters: Clusters,
    /// Shared memory of a block in bytes, without the reserved part: static, and all.
    pub static_shared: u64,
    /// See [`Image::static_shared`].
    pub shared: u64,
}

impl Image {
    /// Lays out a launch: buffers first, so that their addresses do not depend on the module, then
    /// the parameters, then the module's variables in their order.
    pub fn new(program: &Program<'_>, launch: &Launch) -> Result<Image, InterpretError> {
        let entry = find_entry(program, &launch.entry)?;
        launch.check_shape(0)?;
        check_directives(program, entry, launch)?;
        let clusters =
            launch.clusters(&cluster_rules(&program.functions[entry.0 as usize].directives))?;
        let mut memory = Memory::default();
        let placed = crate::launch::place(&launch.args, &mut memory);
        let (reached, used) = reach(program, entry);
        let mut image = Image {
            entry,
            memory,
            placed,
            locations: vec![Location::Nowhere; program.vars.len()],
            reached,
            frames: vec![0; program.functions.len()],
            constants: Vec::new(),
            parameters: (0, 0),
            clusters,
            static_shared: 0,
            shared: 0,
        };
        image.place_parameters(program, launch)?;
        image.place_mapped(program, &used)?;
        image.place_shared(program, &used);
        image.shared = image.static_shared + launch.dynamic_shared;
        launch.check_shape(image.static_shared)?;
        image.place_frames(program);
        let frame = image.frames[entry.0 as usize];
        if frame > MAX_LOCAL {
            let kernel = &launch.entry;
            let text = format!(
                "kernel `{kernel}` needs {frame} bytes of local memory a thread, more than {MAX_LOCAL}"
            );
            return Err(LaunchError::Shape(text).into());
        }
        image.relocate(program);
        Ok(image)
    }

    fn place_parameters(
        &mut self,
        program: &Program<'_>,
        launch: &Launch,
    ) -> Result<(), InterpretError> {
        let params = &program.functions[self.entry.0 as usize].params;
        let vars = params.iter().map(|id| &program.vars[id.0 as usize]);
        let layout: Vec<_> = vars.map(|v| Parameter { offset: v.offset(), size: v.size }).collect();
        let block = launch::parameter_block(launch, &layout, &self.placed)?;
        let size = block.len() as u64;
        let base = self.memory.map("the kernel's parameters", MemorySpace::Param, block, false);
        self.parameters = (base, size);
        for (id, parameter) in params.iter().zip(&layout) {
            self.locations[id.0 as usize] = Location::Mapped(base + parameter.offset);
        }
        Ok(())
    }

    fn place_mapped(&mut self, program: &Program<'_>, used: &[bool]) -> Result<(), LaunchError> {
        let mut total = 0u64;
        for (index, var) in program.vars.iter().enumerate() {
            let constant = var.space == Space::Const;
            if !used[index] || !(constant || var.space == Space::Global) {
                continue;
            }
            total = total.saturating_add(var.size);
            if total > MAX_MEMORY {
                let text = format!("the module's variables need more than {MAX_MEMORY} bytes");
                return Err(LaunchError::Shape(text));
            }
            let bytes = var.init.as_ref().map(|init| init.bytes.to_vec());
            let bytes = bytes.unwrap_or_else(|| vec![0; var.size as usize]);
            let space = if constant { MemorySpace::Const } else { MemorySpace::Global };
            let base =
                self.memory.map(format!("variable {}", program.name(var)), space, bytes, !constant);
            self.locations[index] = Location::Mapped(base);
            if constant {
                self.constants.push((base, var.size));
            }
        }
        Ok(())
    }

    /// Static variables in order, then the dynamic ones: all at the end, over each other.
    fn place_shared(&mut self, program: &Program<'_>, used: &[bool]) {
        let shared = |index: usize| used[index] && program.vars[index].space == Space::Shared;
        let mut end = 0u64;
        let mut dynamic_align = 1;
        for (index, var) in program.vars.iter().enumerate().filter(|(i, _)| shared(*i)) {
            if var.size == 0 {
                dynamic_align = var.align().max(dynamic_align);
                continue;
            }
            end = end.next_multiple_of(var.align());
            self.locations[index] = Location::Shared(SHARED_RESERVED + end);
            end += var.size;
        }
        let dynamic = end.next_multiple_of(dynamic_align);
        let mut any = false;
        for (index, _) in program.vars.iter().enumerate().filter(|(i, _)| shared(*i)) {
            if self.locations[index] == Location::Nowhere {
                self.locations[index] = Location::Shared(SHARED_RESERVED + dynamic);
                any = true;
            }
        }
        self.static_shared = if any { dynamic } else { end };
    }

    /// Local variables, call parameters and a device function's own parameters share its frame.
    fn place_frames(&mut self, program: &Program<'_>) {
        // What has no size of its own, the arguments of a variable list, comes last: a call makes
        // room for it.
        let sized = program.vars.iter().enumerate().filter(|(_, var)| var.size > 0);
        let unsized_ = program.vars.iter().enumerate().filter(|(_, var)| var.size == 0);
        for (index, var) in sized.chain(unsized_) {
            let Some(owner) = var.owner() else { continue };
            let in_frame = matches!(var.space, Space::Local | Space::Param);
            if !in_frame || self.locations[index] != Location::Nowhere {
                continue;
            }
            let frame = &mut self.frames[owner.0 as usize];
            *frame = frame.next_multiple_of(var.align());
            self.locations[index] = Location::Frame(*frame);
            *frame += var.size;
        }
    }

    fn relocate(&mut self, program: &Program<'_>) {
        for (index, var) in program.vars.iter().enumerate() {
            let Location::Mapped(base) = self.locations[index] else { continue };
            for reloc in var.relocs() {
                let address = match reloc.target {
                    SymbolRef::Func(function) => function_address(function),
                    SymbolRef::Var(target) => match self.locations[target.0 as usize] {
                        Location::Mapped(address) => address,
                        Location::Shared(address) if reloc.generic => SHARED_WINDOW + address,
                        Location::Shared(address) => address,
                        Location::Frame(_) | Location::Nowhere => 0,
                    },
                };
                let value = address.wrapping_add_signed(reloc.addend) >> reloc.shift.min(63);
                let Some(region) = self.memory.region_mut(base) else { continue };
                let (at, bytes) = (reloc.offset as usize, reloc.bytes.min(8) as usize);
                if let Some(to) = region.bytes.get_mut(at..at + bytes) {
                    to.copy_from_slice(&value.to_le_bytes()[..bytes]);
                }
            }
        }
    }

    /// A block's shared memory, zero-filled.
    pub fn shared_region(&self) -> Region {
        let bytes = vec![UNWRITTEN; self.shared as usize];
        Region::new("the block's shared memory", MemorySpace::Shared, SHARED_RESERVED, bytes)
    }
}

fn find_entry(program: &Program<'_>, name: &str) -> Result<FuncId, LaunchError> {
    let kernels = || program.functions.iter().filter(|f| f.entry && f.defined);
    let found = program.functions.iter().position(|f| f.entry && f.defined && f.name == name);
    found.map(|index| FuncId(index as u32)).ok_or_else(|| LaunchError::NoKernel {
        name: name.to_string(),
        kernels: kernels().map(|f| f.name.to_string()).collect(),
    })
}

/// What the directives of a kernel say of its clusters.
fn cluster_rules(directives: &[(&str, Vec<u64>)]) -> ClusterRules {
    let mut rules = ClusterRules::default();
    for (name, numbers) in directives {
        let number = |axis: usize| numbers.get(axis).map_or(1, |n| *n as u32);
        match *name {
            "reqnctapercluster" => rules.required = Some([number(0), number(1), number(2)]),
            "explicitcluster" => rules.explicit = true,
            "maxclusterrank" => rules.max_blocks = Some(number(0)),
            "blocksareclusters" => rules.blocks_are_clusters = true,
            _ => {}
        }
    }
    rules
}

/// `.reqntid` and `.maxntid` bound the block.
fn check_directives(
    program: &Program<'_>,
    entry: FuncId,
    launch: &Launch,
) -> Result<(), LaunchError> {
    for (name, numbers) in &program.functions[entry.0 as usize].directives {
        let size: Vec<u64> = (0..3).map(|axis| numbers.get(axis).copied().unwrap_or(1)).collect();
        let [x, y, z] = launch.block;
        let block = [x, y, z].map(u64::from);
        if *name == "reqntid" && size != block {
            return Err(LaunchError::Shape(format!(
                "kernel `{}` requires blocks of {} x {} x {} threads, the launch has {x} x {y} x {z}",
                launch.entry, size[0], size[1], size[2]
            )));
        }
        let most = size.iter().product::<u64>();
        if *name == "maxntid" && u64::from(launch.threads()) > most {
            return Err(LaunchError::Shape(format!(
                "kernel `{}` takes blocks of at most {most} threads, the launch has {}",
                launch.entry,
                launch.threads()
            )));
        }
    }
    Ok(())
}

/// The functions and variables that the kernel names, directly or through others.
fn reach(program: &Program<'_>, entry: FuncId) -> (Vec<bool>, Vec<bool>) {
    let mut functions = vec![false; program.functions.len()];
    let mut vars = vec![false; program.vars.len()];
    let mut todo = vec![SymbolRef::Func(entry)];
    while let Some(symbol) = todo.pop() {
        match symbol {
            SymbolRef::Func(FuncId(id)) => {
                if !std::mem::replace(&mut functions[id as usize], true) {
                    for inst in &program.functions[id as usize].code {
                        inst.operands.iter().for_each(|o| named(o, &mut todo));
                    }
                }
            }
            SymbolRef::Var(VarId(id)) => {
                if !std::mem::replace(&mut vars[id as usize], true) {
                    todo.extend(program.vars[id as usize].relocs().map(|r| r.target));
                }
            }
        }
    }
    (functions, vars)
}

fn named(operand: &Operand, out: &mut Vec<SymbolRef>) {
    match operand {
        Operand::Func(id) => out.push(SymbolRef::Func(*id)),
        Operand::Var(id, _) => out.push(SymbolRef::Var(*id)),
        Operand::Address { base: AddressBase::Var(id), .. } => out.push(SymbolRef::Var(*id)),
        Operand::Vector(list) | Operand::AddressList(list) | Operand::List(list) => {
            list.iter().for_each(|o| named(o, out));
        }
        Operand::Pair(both) => {
            let (a, b) = &**both;
            named(a, out);
            named(b, out);
        }
        Operand::Neg(inner) => named(inner, out),
        _ => {}
    }
}
