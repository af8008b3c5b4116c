//! `setmaxnreg`: a kernel begins with fewer registers than it uses after it asked for more.

use super::bench::{Case, check};
use std::fmt::Write;

const VALUES: usize = 128;

/// Adds to each of 128 live values another one; a thread begins with 96 registers.
fn source() -> String {
    let mut text = ".visible .entry pool(.param .u64 a) .maxntid 128, 1, 1 .maxnreg 96 {\n\
        .reg .b32 %thread, %r<128>;\n.reg .b64 %a;\nld.param.u64 %a, [a];\nmov.u32 %thread, %tid.x;\n\
        mad.wide.u32 %a, %thread, 512, %a;\nsetmaxnreg.inc.sync.aligned.u32 168;\n"
        .to_string();
    for i in 0..VALUES {
        let _ = writeln!(text, "ld.global.b32 %r{i}, [%a+{}];", 4 * i);
    }
    text += "bar.sync 0;\n";
    for i in 0..VALUES {
        let _ = writeln!(text, "add.u32 %r{i}, %r{i}, %r{};", other(i));
    }
    for i in 0..VALUES {
        let _ = writeln!(text, "st.global.b32 [%a+{}], %r{i};", 4 * i);
    }
    text + "setmaxnreg.dec.sync.aligned.u32 24;\nret;\n}\n"
}

fn other(i: usize) -> usize {
    (i * 37 + 5) % VALUES
}

#[test]
fn registers_that_the_pool_gives() {
    let before: Vec<u32> = (0..128 * VALUES as u32).map(|i| i.wrapping_mul(0x9e37_79b9)).collect();
    let mut after = before.clone();
    for thread in after.chunks_mut(VALUES) {
        for i in 0..VALUES {
            thread[i] = thread[i].wrapping_add(thread[other(i)]);
        }
    }
    let bytes = |words: &[u32]| words.iter().flat_map(|w| w.to_le_bytes()).collect::<Vec<u8>>();
    let (buffers, want) = (vec![bytes(&before)], vec![Some(bytes(&after))]);
    check(&[Case { name: "pool".into(), source: source(), threads: 128, buffers, want }]);
}
