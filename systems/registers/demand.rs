//! The instruction that names the most registers: when there is no allocation it says why.

use orias_components::{Body, Loc, RegFile, VRegId};

/// The most general registers (32-bit cells) that one instruction reads and writes, and its place.
pub fn greatest(body: &Body<'_>) -> (u32, Loc) {
    let mut most = (0, Loc::default());
    for block in body.layout() {
        for id in body.block(*block).insts() {
            let mut named: Vec<VRegId> = Vec::new();
            let mut add = |u: orias_components::RegUse| {
                if let Some(v) = u.reg.vreg().filter(|v| body.vreg(*v).file == RegFile::R)
                    && !named.contains(&v)
                {
                    named.push(v);
                }
            };
            let inst = body.inst(*id);
            inst.for_each_def(&mut add);
            inst.for_each_use(&mut add);
            let cells = named.iter().map(|v| u32::from(body.vreg(*v).cells)).sum();
            if cells > most.0 {
                most = (cells, body.loc(*id));
            }
        }
    }
    most
}
