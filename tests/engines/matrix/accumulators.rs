//! Products in a loop, as kernels have them: their tuples of registers stay where they are.

use orias::dis::{self, DisOptions};
use orias::driver::{self, CompileOptions, Output};
use std::fmt::Write;

fn list(name: &str, count: usize) -> String {
    let all: Vec<String> = (0..count).map(|i| format!("%{name}{i}")).collect();
    format!("{{{}}}", all.join(", "))
}

/// A kernel that adds products to `sums` floats in a loop and stores them.
fn source(directives: &str, before: &str, body: &str, sums: usize) -> String {
    let mut text = format!(
        ".version 8.6\n.target sm_90a\n.address_size 64\n\
        .visible .entry loop(.param .u64 o, .param .u32 count) {directives} {{\n\
        .shared .align 1024 .b8 s[65536];\n.reg .f32 %f<{sums}>;\n.reg .b32 %r<32>;\n.reg .b64 %d<8>;\n.reg .pred %p<4>;\n\
        ld.param.u64 %d0, [o];\nld.param.u32 %r0, [count];\nmov.u32 %r1, %tid.x;\nmad.wide.u32 %d0, %r1, 512, %d0;\n\
        mov.u32 %r2, s;\nmad.lo.u32 %r2, %r1, 16, %r2;\nmov.u32 %r3, 0;\n{before}"
    );
    for i in 0..sums {
        let _ = writeln!(text, "mov.f32 %f{i}, 0f00000000;");
    }
    let _ = writeln!(text, "again:\n{body}");
    text += "add.u32 %r3, %r3, 1;\nsetp.lt.u32 %p1, %r3, %r0;\n@%p1 bra again;\n";
    for i in 0..sums {
        let _ = writeln!(text, "st.global.f32 [%d0+{}], %f{i};", 4 * i);
    }
    text + "end:\nret;\n}\n"
}

fn compile(source: &str, opt_level: u8) -> Output {
    let options = CompileOptions { opt_level, verify_each: true, ..Default::default() };
    driver::compile_source(source, &options).unwrap_or_else(|e| panic!("{}", e.render("", source)))
}

/// Opcodes of the loop: of the instructions from the first of a product on to the branch back.
fn opcodes(output: &Output) -> Vec<String> {
    let listing = dis::cubin(&output.cubin, DisOptions::default()).expect("our own cubin");
    let lines = listing.lines().filter_map(|l| l.split_once("*/"));
    let opcode = |text: &str| text.trim_start().split([' ', ';']).next().unwrap_or("").to_string();
    let all = lines.map(|(_, text)| opcode(text));
    let from = all.skip_while(|op| !op.contains("MMA") && !op.starts_with("LDSM"));
    from.take_while(|op| !op.starts_with("ISETP")).collect()
}

fn products(ops: &[String]) -> usize {
    ops.iter().filter(|op| op.contains("MMA")).count()
}

fn spilled(output: &Output) -> u32 {
    output.functions.iter().map(|f| f.spill_store_bytes).sum()
}

#[test]
fn sums_of_half_a_register_file_stay_in_place() {
    let descriptors = "cvt.u64.u32 %d1, %r2;\nadd.s64 %d2, %d1, 64;\n";
    let product = format!(
        "wgmma.mma_async.sync.aligned.m64n256k16.f32.f16.f16 {}, %d1, %d2, 1, 1, 1, 0, 0;\nadd.s64 %d1, %d1, 2;\n",
        list("f", 128)
    );
    let body = format!(
        "wgmma.fence.sync.aligned;\n{}wgmma.commit_group.sync.aligned;\nwgmma.wait_group.sync.aligned 0;",
        product.repeat(4)
    );
    let pool = "setp.ge.u32 %p2, %r1, 128;\n@%p2 bra more;\nsetmaxnreg.dec.sync.aligned.u32 40;\nbra end;\nmore:\n\
        setmaxnreg.inc.sync.aligned.u32 240;\n";
    for (directives, before) in [
        (".maxntid 256, 1, 1 .minnctapersm 1", descriptors.to_string()),
        (".maxntid 384, 1, 1 .minnctapersm 1", format!("{pool}{descriptors}")),
    ] {
        let source = source(directives, &before, &body, 128);
        for opt_level in [1, 3] {
            let output = compile(&source, opt_level);
            let ops = opcodes(&output);
            assert_eq!(spilled(&output), 0, "{directives} -O{opt_level}");
            assert_eq!(products(&ops), 4, "{ops:?}");
            // An arrival between products would be for a copy.
            let copy = |op: &&String| op.as_str() == "MOV" || op.starts_with("WARPGROUP.ARRIVE");
            assert_eq!(ops.iter().filter(copy).count(), 0, "{directives} -O{opt_level}: {ops:?}");
        }
    }
}

#[test]
fn a_fragment_that_several_products_read_is_not_copied() {
    let body = "ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%r4, %r5, %r6, %r7}, [%r2];\n\
        ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%r8, %r9, %r10, %r11}, [%r2+8192];\n\
        mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%f0, %f1, %f2, %f3}, {%r4, %r5, %r6, %r7}, {%r8, %r9}, {%f0, %f1, %f2, %f3};\n\
        mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%f4, %f5, %f6, %f7}, {%r4, %r5, %r6, %r7}, {%r10, %r11}, {%f4, %f5, %f6, %f7};\n";
    for opt_level in [1, 3] {
        let ops = opcodes(&compile(&source(".maxntid 128, 1, 1", "", body, 8), opt_level));
        assert_eq!(products(&ops), 2, "{ops:?}");
        assert!(!ops.iter().any(|op| op == "MOV"), "-O{opt_level}: {ops:?}");
    }
}
