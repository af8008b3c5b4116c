//! The frame of a function: where variables of the parameter space live while it runs, and how much
//! room it asks for.
//!
//! The variables are the parameters and results of a device function, and those that its calls, or
//! a kernel's, are given. A small one of which code takes no address is kept in registers, a 32-bit
//! word each; any other has a place in the frame. A parameter that the caller has left on the stack
//! stays there.

use super::usage::Usage;
use crate::lower::abi::{Passing, Shape};
use crate::ptx::program::{
    AddressBase, FuncId, Function, Instruction, Operand as Ptx, Program, RegId, VarId,
};
use crate::ptx::types::Space;
use crate::ptx::words::Op;
use orias_components::{Reg, RegFile};
use orias_systems::calls::FRAME_POINTER;
use rustc_hash::{FxHashMap, FxHashSet};

/// The stack pointer.
pub const STACK: Reg = Reg::phys(RegFile::R, 1);

/// Words that registers may hold of one variable: as many as can be passed in them.
const MOST_WORDS: u32 = 12;

/// Where a variable of the parameter space is while the function runs.
#[derive(Clone, Debug)]
pub enum ParamHome {
    /// In registers, from the lowest byte on.
    Words(Vec<Reg>),
    /// In local memory, this far from a register.
    Memory(Reg, i32),
}

/// What a function has in its frame, and the homes of its variables.
#[derive(Default)]
pub struct Frame {
    /// By variable; those that the code names.
    pub homes: FxHashMap<VarId, ParamHome>,
    /// Bytes of arguments on the stack of the calls that it makes: the bottom of its frame.
    pub outgoing: u32,
    /// Bytes of results of calls that are memory, and where they are in the frame.
    pub results: u32,
    /// Bytes from the frame's bottom to the results of calls.
    pub results_at: u32,
    /// Bytes of the frame so far, and their alignment.
    pub bytes: u32,
    /// Bytes, a power of two.
    pub align: u32,
    /// The stack pointer moves (`alloca`): the frame has a pointer of its own.
    pub moves_stack: bool,
    /// How the function itself is called; None for a kernel.
    pub own: Option<Passing>,
    /// The address of the memory for its results.
    pub result_pointer: Option<Reg>,
    /// Vector parameters of narrow elements, and the words that they came in.
    pub packed: Vec<(RegId, Vec<Reg>)>,
}

/// A call as it is written.
pub struct Call<'i> {
    /// Where results go, in order.
    pub returns: &'i [Ptx],
    /// A function, or a register with a pointer to one.
    pub callee: &'i Ptx,
    /// In order of the parameters.
    pub args: &'i [Ptx],
    /// Formal parameters and results.
    pub formal: (&'i [VarId], &'i [VarId]),
}

/// Takes a call apart. Checked programs have calls of this form only.
pub fn call<'i>(
    program: &'i Program<'_>,
    function: &'i Function<'_>,
    inst: &'i Instruction,
) -> Result<Call<'i>, String> {
    let mut operands = inst.operands.iter().peekable();
    let list = |operands: &mut std::iter::Peekable<std::slice::Iter<'i, Ptx>>| match operands
        .next_if(|o| matches!(o, Ptx::List(_)))
    {
        Some(Ptx::List(list)) => list.as_slice(),
        _ => &[],
    };
    let returns = list(&mut operands);
    let callee = operands.next().ok_or("callee")?;
    let args = list(&mut operands);
    let signature = |f: FuncId| {
        let f = &program.functions[f.0 as usize];
        (&*f.params, &*f.returns)
    };
    let formal = match (callee, operands.next()) {
        (Ptx::Func(f), _) => signature(*f),
        (_, Some(Ptx::Prototype(i))) => {
            let (returns, params) = function.prototypes.get(*i as usize).ok_or("prototype")?;
            (params.as_slice(), returns.as_slice())
        }
        (_, Some(Ptx::CallTargets(i))) => {
            let targets = function.call_targets.get(*i as usize);
            signature(*targets.and_then(|t| t.first()).ok_or("list of callees")?)
        }
        _ => return Err("call without a prototype".into()),
    };
    Ok(Call { returns, callee, args, formal })
}

/// How the values of a call are passed. What a formal parameter leaves open is as long as the
/// argument; more arguments than parameters belong to no program.
pub fn passing(program: &Program<'_>, call: &Call<'_>) -> (Passing, Vec<Shape>, Vec<Shape>) {
    let (params, returns) = call.formal;
    let mut shapes = Vec::new();
    for (i, formal) in params.iter().enumerate() {
        let mut shape = Shape::of(program, *formal);
        if let (true, Some(Ptx::Var(actual, _))) = (shape.open, call.args.get(i)) {
            shape.size = Shape::of(program, *actual).size;
        }
        shapes.push(shape);
    }
    let results: Vec<Shape> = returns.iter().map(|v| Shape::of(program, *v)).collect();
    (Passing::new(&shapes, &results), shapes, results)
}

/// Does something with every variable that an operand names.
fn for_each_var(operand: &Ptx, f: &mut impl FnMut(VarId)) {
    match operand {
        Ptx::Var(var, _) | Ptx::Address { base: AddressBase::Var(var), .. } => f(*var),
        Ptx::Vector(list) | Ptx::AddressList(list) | Ptx::List(list) => {
            list.iter().for_each(|o| for_each_var(o, f));
        }
        Ptx::Pair(both) => {
            let (a, b) = &**both;
            for_each_var(a, f);
            for_each_var(b, f);
        }
        Ptx::Neg(a) => for_each_var(a, f),
        _ => {}
    }
}

/// Variables of the parameter space that a function's code or its list of parameters names: others
/// need no home.
fn named(program: &Program<'_>, function: &Function<'_>) -> FxHashSet<VarId> {
    let mut found: FxHashSet<VarId> =
        function.params.iter().chain(&function.returns).copied().collect();
    let mut note = |var: VarId| {
        if program.vars[var.0 as usize].space == Space::Param {
            found.insert(var);
        }
    };
    for operand in function.code.iter().flat_map(|inst| inst.operands) {
        for_each_var(operand, &mut note);
    }
    found
}

/// Variables of the parameter space that must be memory: code takes their address, or reaches into
/// them in a way that words cannot follow.
fn in_memory(program: &Program<'_>, function: &Function<'_>) -> FxHashSet<VarId> {
    let mut found = FxHashSet::default();
    let mut note = |var: &VarId| {
        if program.vars[var.0 as usize].space == Space::Param {
            found.insert(*var);
        }
    };
    for inst in &function.code {
        if inst.opcode == Op::Call {
            continue;
        }
        let bytes = inst.types.first().map_or(1, |t| i64::from(t.bytes().max(1)));
        let access = matches!(inst.opcode, Op::Ld | Op::St | Op::Ldu);
        for operand in inst.operands {
            match operand {
                Ptx::Var(var, _) => note(var),
                Ptx::Address { base: AddressBase::Var(var), offset } => {
                    let size = program.vars[var.0 as usize].size as i64;
                    let parts = inst.operands.iter().find_map(|o| match o {
                        Ptx::Vector(parts) => Some(parts.len() as i64),
                        _ => None,
                    });
                    let end = offset + bytes * parts.unwrap_or(1);
                    if !access || offset % bytes.min(4) != 0 || *offset < 0 || end > size {
                        note(var);
                    }
                }
                _ => {}
            }
        }
    }
    found
}

impl Frame {
    /// Finds a home for every variable, and lays out the frame: outgoing arguments, results of
    /// calls, `.local` variables (of `local` bytes and alignment), parameter variables. Gives the
    /// place of the `.local` ones too.
    ///
    /// # Errors
    /// When a call is of a form that no checked program has.
    pub fn new(
        program: &Program<'_>,
        (id, function, usage): (FuncId, &Function<'_>, &Usage),
        local: (u32, u32),
        frame_align: u32,
        mut word: impl FnMut() -> Reg,
    ) -> Result<(Frame, u32), String> {
        let (align, moves_stack) = (local.1.max(1), usage.moves_stack);
        let mut all = Frame { align, moves_stack, ..Frame::default() };
        for at in &usage.calls {
            all.align = all.align.max(frame_align);
            let inst = function.code.at(*at as usize);
            let (passing, ..) = passing(program, &call(program, function, &inst)?);
            all.outgoing = all.outgoing.max(passing.stack_bytes);
            all.results = all.results.max(passing.result_bytes);
            all.align = all.align.max(passing.align);
        }
        if all.moves_stack || !function.entry {
            all.align = all.align.max(frame_align);
        }
        if all.moves_stack {
            all.outgoing = all.outgoing.next_multiple_of(all.align);
        }
        all.bytes = all.outgoing.next_multiple_of(16.min(all.align));
        all.results_at = all.place(all.results, 16.min(all.align));
        let locals_at = all.place(local.0, local.1);
        if !function.entry {
            let shapes = |vars: &[VarId]| -> Vec<Shape> {
                vars.iter().map(|v| Shape::of(program, *v)).collect()
            };
            all.own = Some(Passing::new(&shapes(&function.params), &shapes(&function.returns)));
        }
        let formals: FxHashSet<VarId> = function.params.iter().copied().collect();
        let may_need_home = |id: &VarId| {
            let is_param = program.vars[id.0 as usize].space == Space::Param;
            is_param && !(function.entry && formals.contains(id))
        };
        let owned = program.owned.of(id);
        if !owned.iter().any(may_need_home) {
            return Ok((all, locals_at));
        }
        let (named, memory) = (named(program, function), in_memory(program, function));
        for var_id in owned.iter().copied().filter(may_need_home) {
            let var = &program.vars[var_id.0 as usize];
            if !named.contains(&var_id) {
                continue;
            }
            let words = (var.size as u32).div_ceil(4);
            let home = if words > MOST_WORDS || words == 0 || memory.contains(&var_id) {
                let align = (var.align().max(4) as u32).min(16);
                all.align = all.align.max(align);
                ParamHome::Memory(all.pointer(), all.place(words * 4, align) as i32)
            } else {
                ParamHome::Words((0..words).map(|_| word()).collect())
            };
            all.homes.insert(var_id, home);
        }
        Ok((all, locals_at))
    }

    /// The register that places in the frame are counted from.
    pub fn pointer(&self) -> Reg {
        if self.moves_stack { Reg::phys(RegFile::R, FRAME_POINTER) } else { STACK }
    }

    fn place(&mut self, bytes: u32, align: u32) -> u32 {
        let at = self.bytes.next_multiple_of(align.max(1));
        self.bytes = at + bytes;
        at
    }

    /// Where a variable of the parameter space is; None for a kernel's own parameter.
    pub fn home(&self, var: VarId) -> Option<&ParamHome> {
        self.homes.get(&var)
    }
}
