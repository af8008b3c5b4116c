//! CalcRegisterMap: how many registers of each file the finished function uses.

use super::{limits, pool};
use crate::function::{Compiled, FunctionInfo};
use crate::params::{Read, Write};
use bevy_ecs::prelude::*;
use orias_components::{Body, Reader, RegFile, RegUse};

/// Highest physical register + 1 by file, over all operands.
#[derive(Resource, Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct RegisterMap {
    /// By the number of the file.
    pub used: [u32; 5],
}

impl RegisterMap {
    /// Of a body with physical registers.
    pub fn of(body: &Body<'_>) -> RegisterMap {
        let mut map = RegisterMap::default();
        let mut note = |r: RegUse| {
            if let Some(index) = r.reg.phys_index() {
                let used = &mut map.used[r.reg.file() as usize];
                *used = (*used).max(index + u32::from(r.count));
            }
        };
        for &block in body.layout() {
            for &id in body.block(block).insts() {
                let inst = body.inst(id);
                inst.for_each_def(&mut note);
                inst.for_each_use(&mut note);
            }
        }
        map
    }
}

/// The phase: `Compiled::registers` counts as `EIATTR_REGCOUNT` does.
pub fn calc_register_map(
    code: Reader<'_>,
    info: Read<'_, FunctionInfo>,
    mut compiled: Write<'_, Compiled>,
    mut map: Write<'_, RegisterMap>,
) {
    let body = code.body();
    *map = RegisterMap::of(&body);
    let highest = map.used[RegFile::R as usize].checked_sub(1);
    let mut registers = limits::counted(highest);
    if pool::is_used(&body) {
        // The pool is what the warps begin with: all that the directives allow. Observed: ptxas
        // 13.0.88.
        let asked = info.max_registers;
        registers = asked.unwrap_or(registers);
    }
    compiled.registers = registers;
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing;
    use orias_components::{Inst, Loc, Opcode, Operand, Reg};

    #[test]
    fn a_quad_counts_to_its_last_register() {
        let mut function = testing::function();
        let mut body = function.body();
        let block = body.new_block();
        let quad = Operand::Reg(RegUse::wide(Reg::phys(RegFile::R, 8), 4));
        let guard = Reg::phys(RegFile::P, 2);
        let inst = Inst::new(Opcode::LDS, &[], 1, &[quad, Operand::RZ]).guarded(guard, true);
        body.push(block, inst, Loc::default());
        function.run(calc_register_map);
        // R8..R11, and the two that the hardware keeps: observed for copy_vec4, ptxas 13.0.88 -O3.
        assert_eq!(function.world().resource::<Compiled>().registers, 14);
        assert_eq!(function.world().resource::<RegisterMap>().used, [12, 0, 3, 0, 0]);
    }

    #[test]
    fn a_kernel_without_registers_counts_four() {
        let mut function = testing::function();
        function.body().new_block();
        function.run(calc_register_map);
        assert_eq!(function.world().resource::<Compiled>().registers, 4);
    }
}
