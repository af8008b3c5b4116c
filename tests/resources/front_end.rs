//! What the front end asks the allocator for: not more for each instruction, operand or token.

use orias::ptx;
use orias_components::heap;
use std::fmt::Write;

/// A kernel that has each kind of line so many times.
fn kernel(times: usize) -> String {
    let mut text = String::from(
        ".version 9.0\n.target sm_90a\n.address_size 64\n.shared .align 16 .b8 s[64];\n\
         .visible .entry k(.param .u64 p, .param .u32 n) {\n.reg .pred %p<4>;\n\
         .reg .b32 %r<64>;\n.reg .b64 %rd<8>;\n.reg .f32 %f<8>;\n.reg .f64 %fd<4>;\n",
    );
    for i in 0..times {
        let (a, b) = (i % 60, (i + 1) % 60);
        let _ = writeln!(
            text,
            "ld.param.u64 %rd1, [p];\ncvta.to.global.u64 %rd2, %rd1;\nmov.u32 %r{a}, %tid.x;\n\
             .loc 1 {i} 3\nmov.u32 %r{b}, %laneid;\nmov.u32 %r60, s;\n// a comment\n\
             mad.lo.s32 %r{a}, %r{b}, 12, %r{a};\nsetp.lt.s32 %p1, %r{a}, 0x40;\n\
             @!%p1 bra $L_{i};\nadd.s32 %r{b}, %r{a}, -1;\nand.pred %p2, %p1, !%p3;\n\
             mul.wide.s32 %rd3, %r{a}, 4;\nadd.s64 %rd4, %rd2, %rd3;\n\
             ld.global.f32 %f1, [%rd4+4];\nfma.rn.f32 %f2, %f1, 0f3F800000, %f1;\n\
             mov.f64 %fd1, 0d3FF0000000000000;\n{{\n.reg .b32 %t<4>;\nmov.b32 %t1, %r{a};\n\
             xor.b32 %r{b}, %t1, %r{a};\n}}\nbar.sync 0;\nst.global.f32 [%rd4], %f2;\n\
             $L_{i}:\nst.shared.b32 [%r60 + 4], %r{b};"
        );
    }
    text + "ret;\n}\n"
}

/// Blocks asked for by a thread that has read the text before.
fn allocations(text: &str) -> u64 {
    let load = || ptx::load(text).unwrap_or_else(|e| panic!("{}", e.render("k.ptx", text)));
    drop(load());
    let _watch = heap::watch();
    let before = heap::mark();
    let program = load();
    let used = heap::now().since(before);
    drop(program);
    used.allocations
}

#[test]
fn no_instruction_operand_or_token_asks_for_memory() {
    assert!(heap::is_counted(), "this program's allocator counts");
    let [small, large] = [100, 1000].map(|times| allocations(&kernel(times)));
    // 18,000 more instructions with 45,000 operands, of which a list of each function's has a
    // thousand; lists of labels and names double now and then.
    assert!(large < small + 200, "{small} allocations, and {large} for ten times the text");
}
