//! What the front end makes of PTX: names resolved, scopes flattened, constants folded, variables
//! laid out.

use orias::ptx::program::{
    AddressBase, Function, Instruction, LabelId, Operand, Part, Program, Special, SymbolRef,
};
use orias::ptx::types::{Linkage, Space, Type};

const HEAD: &str = ".version 9.0\n.target sm_90a\n.address_size 64\n";

fn load(text: &str) -> String {
    format!("{HEAD}{text}")
}

fn program(source: &str) -> Program<'_> {
    orias::ptx::load(source).unwrap_or_else(|errors| panic!("{}", errors.render("t.ptx", source)))
}

fn body(statements: &str) -> String {
    load(&format!(
        ".global .align 8 .b8 g[64];\n.visible .entry k(.param .u64 p, .param .u32 q)\n{{\n\
         .reg .pred %p<4>; .reg .b16 %h<4>; .reg .b32 %r<9>; .reg .f32 %f<4>; .reg .b64 %d<4>; .reg .f64 %g<4>;\n\
         {statements}\n}}\n"
    ))
}

fn function<'p, 's>(program: &'p Program<'s>, name: &str) -> &'p Function<'s> {
    program.functions.iter().find(|function| function.name == name).unwrap()
}

/// The source operands of the only instruction's second place.
fn second(statements: &str) -> Operand {
    let source = body(statements);
    let program = program(&source);
    function(&program, "k").code.at(0).operands[1].clone()
}

fn names<'s>(function: &Function<'s>, instruction: &Instruction) -> Vec<&'s str> {
    let name = |operand: &Operand| match operand {
        Operand::Reg(reg) => function.regs[reg.0 as usize].name,
        _ => "?",
    };
    instruction.operands.iter().map(name).collect()
}

#[test]
fn the_header_names_version_target_and_options() {
    let source = ".version 8.4\n.target sm_90a, texmode_independent\n.address_size 64\n";
    let program = program(source);
    assert_eq!(program.version, (8, 4));
    assert_eq!((program.target, program.target_options), ("sm_90a", vec!["texmode_independent"]));
    assert_eq!(program.address_size, 64);
}

#[test]
fn an_inner_block_hides_a_register_and_gives_it_back() {
    let source = body(
        "mov.b32 %r1, 1;\n{ .reg .b32 %r<4>; .reg .f32 only; mov.b32 %r1, 2; mov.f32 only, 1.0; }\nmov.b32 %r1, 3;",
    );
    let program = program(&source);
    let k = function(&program, "k");
    let written: Vec<_> = k.code.iter().map(|i| i.operands[0].clone()).collect();
    assert_eq!(written[0], written[3]);
    assert_ne!(written[0], written[1]);
    let types: Vec<Type> = k.regs.iter().map(|reg| reg.ty).collect();
    assert_eq!(types, [Type::B32, Type::B32, Type::F32]);
}

#[test]
fn only_registers_that_are_used_are_in_the_program() {
    let source = body("add.u32 %r7, %r2, %r7;\nret;");
    let program = program(&source);
    let k = function(&program, "k");
    assert_eq!(k.regs.iter().map(|reg| reg.name).collect::<Vec<_>>(), ["%r7", "%r2"]);
    assert_eq!(names(k, &k.code.at(0)), ["%r7", "%r2", "%r7"]);
}

#[test]
fn labels_are_places_in_the_code_and_belong_to_their_block() {
    let source = body("bra END;\n{ L: bra L; }\n{ L: bra L; }\nEND:");
    let program = program(&source);
    let k = function(&program, "k");
    let targets: Vec<usize> = k
        .code
        .iter()
        .map(|i| match i.operands[0] {
            Operand::Label(label) => k.labels[label.0 as usize].0,
            _ => panic!("{i:?}"),
        })
        .collect();
    assert_eq!(targets, [3, 1, 2]);
}

#[test]
fn guards_are_kept_with_their_negation() {
    let source = body("@!%p1 bra L;\n@%p1 ret;\nL: ret;");
    let program = program(&source);
    let k = function(&program, "k");
    let guards: Vec<_> = k.code.iter().map(|i| i.guard.map(|(_, negated)| negated)).collect();
    assert_eq!(guards, [Some(true), Some(false), None]);
}

#[test]
fn branch_targets_are_a_list_of_labels() {
    let source = body("brx.idx %r1, T;\nA: ret;\nB: ret;\nT: .branchtargets A, B, A;");
    let program = program(&source);
    let k = function(&program, "k");
    assert_eq!(k.code.at(0).operands[1], Operand::BranchTargets(0));
    let names: Vec<_> =
        k.branch_targets[0].iter().map(|LabelId(i)| k.labels[*i as usize].1).collect();
    assert_eq!(names, ["A", "B", "A"]);
}

fn int(value: i64) -> Operand {
    Operand::Int(value.into())
}

#[test]
fn constants_are_folded_and_become_what_the_operand_wants() {
    assert_eq!(second("mov.u32 %r1, (3 + 4) * 5 - (1 << 6) / 2;"), int(3));
    assert_eq!(second("mov.u32 %r1, ~0xff & 0xffff | 0x10000 ^ 3;"), int(0x1ff03));
    assert_eq!(second("mov.u32 %r1, (7 > 3) ? 11 : 22;"), int(11));
    assert_eq!(second("mov.u32 %r1, WARP_SZ;"), int(32));
    assert_eq!(second("mov.u32 %r1, WARP_SZ | 1;"), int(33));
    assert_eq!(second("mov.s32 %r1, -1;"), int(-1));
    assert_eq!(second("mov.b64 %d1, 0xffffffffffffffff;"), Operand::Int(u64::MAX.into()));
    assert_eq!(second("mov.u32 %r1, 0777;"), int(0o777));
    assert_eq!(second("mov.f32 %f1, 1.5;"), Operand::F32(1.5));
    assert_eq!(second("mov.f32 %f1, 0d3FF8000000000000;"), Operand::F32(1.5));
    assert_eq!(second("mov.f64 %g1, 0f3FC00000;"), Operand::F64(1.5));
    assert_eq!(second("mov.b32 %r1, 0f3F800000;"), int(0x3f80_0000));
    assert_eq!(second("mov.f32 %f1, -.5;"), Operand::F32(-0.5));
}

#[test]
fn special_registers_have_their_component() {
    assert_eq!(second("mov.u32 %r1, %tid.y;"), Operand::Special(Special::Tid(1)));
    assert_eq!(second("mov.u32 %r1, %laneid;"), Operand::Special(Special::LaneId));
    assert_eq!(second("mov.u64 %d1, %pm3_64;"), Operand::Special(Special::Pm64(3)));
    assert_eq!(second("mov.b32 %r1, %envreg31;"), Operand::Special(Special::EnvReg(31)));
}

#[test]
fn addresses_have_a_base_and_an_offset() {
    let base = |text: &str| match second(text) {
        Operand::Address { base, offset } => (matches!(base, AddressBase::Reg(_)), offset),
        other => panic!("{other:?}"),
    };
    assert_eq!(base("ld.global.u32 %r1, [%d1];"), (true, 0));
    assert_eq!(base("ld.global.u32 %r1, [%d1+8*2];"), (true, 16));
    assert_eq!(base("ld.global.u32 %r1, [%d1+-4];"), (true, -4));
    assert_eq!(base("ld.global.u32 %r1, [g+12];"), (false, 12));
    assert!(matches!(second("mov.u64 %d1, g+4;"), Operand::Var(_, offset) if offset.get() == 4));
}

#[test]
fn an_index_counts_elements() {
    let source = load(
        ".shared .align 4 .u32 a[8];\n.entry k() { .reg .b32 %r<3>; mov.u32 %r1, a[3]; ld.shared.u32 %r2, a[2]; ret; }",
    );
    let program = program(&source);
    let k = function(&program, "k");
    assert!(matches!(k.code.at(0).operands[1], Operand::Var(_, offset) if offset.get() == 12));
    assert!(matches!(k.code.at(1).operands[1], Operand::Address { offset: 8, .. }));
}

#[test]
fn vectors_pairs_and_sinks() {
    let source = body(
        "ld.global.v2.u32 {%r1, _}, [%d1];\nsetp.eq.u32 %p1|_, %r1, %r2;\nshfl.sync.idx.b32 %r1|%p1, %r2, 0, 31, -1;",
    );
    let program = program(&source);
    let code = &function(&program, "k").code;
    assert!(matches!(&code.at(0).operands[0], Operand::Vector(items) if items[1] == Operand::Sink));
    assert!(matches!(&code.at(1).operands[0], Operand::Pair(both) if both.1 == Operand::Sink));
    assert!(matches!(&code.at(2).operands[0], Operand::Pair(..)));
}

#[test]
fn parts_of_registers_in_video_instructions() {
    let source = body(
        "vadd4.u32.u32.u32 %r1, %r2.b7610, %r3, %r1;\nvadd.u32.u32.u32 %r1, %r2.h1, %r3.b0;\nvmad.s32.s32.s32 %r1, %r2, %r3, -%r1;",
    );
    let program = program(&source);
    let code = &function(&program, "k").code;
    let part = |operand: &Operand| match operand {
        Operand::Part(_, part) => *part,
        other => panic!("{other:?}"),
    };
    assert_eq!(
        part(&code.at(0).operands[1]),
        Part { halves: false, count: 4, lanes: [7, 6, 1, 0] }
    );
    assert!(matches!(&code.at(2).operands[3], Operand::Neg(_)));
    assert_eq!(part(&code.at(1).operands[1]), Part { halves: true, count: 1, lanes: [1, 0, 0, 0] });
}

#[test]
fn kernel_parameters_are_laid_out_by_their_alignment() {
    let source = load(
        ".visible .entry k(.param .u8 a, .param .u64 b, .param .align 16 .b8 c[20], .param .u16 d) { ret; }",
    );
    let program = program(&source);
    let places: Vec<_> = function(&program, "k")
        .params
        .iter()
        .map(|id| &program.vars[id.0 as usize])
        .map(|var| (program.name(var), var.offset(), var.size, var.align()))
        .collect();
    assert_eq!(places, [("a", 0, 1, 1), ("b", 8, 8, 8), ("c", 16, 20, 16), ("d", 36, 2, 2)]);
}

#[test]
fn initialisers_become_bytes_and_relocations() {
    let source = load(
        ".global .u32 t[2][3] = {{1, 2}, {-1}};\n.const .f32 f[2] = {1.5, 0f40000000};\n\
         .global .u64 p[2] = {t+8, generic(t)};\n.global .u8 m[2] = {0xff(t), 0xff00(t)};\n.func f1() { ret; }\n\
         .global .u64 fn = f1;\n.const .u16 n[] = {1, 2, 3};\n.global .b32 z[4];",
    );
    let program = program(&source);
    let var = |name: &str| program.vars.iter().find(|var| program.name(var) == name).unwrap();
    let words = |name: &str| -> Vec<u32> {
        let bytes = &var(name).init.as_ref().unwrap().bytes;
        bytes.chunks(4).map(|word| u32::from_le_bytes(word.try_into().unwrap())).collect()
    };
    assert_eq!(words("t"), [1, 2, 0, u32::MAX, 0, 0]);
    assert_eq!(words("f"), [0x3fc0_0000, 0x4000_0000]);
    let relocs: Vec<_> =
        var("p").relocs().map(|r| (r.offset, r.bytes, r.addend, r.generic)).collect();
    assert_eq!(relocs, [(0, 8, 8, false), (8, 8, 0, true)]);
    let masks: Vec<_> = var("m").relocs().map(|r| (r.offset, r.bytes, r.shift)).collect();
    assert_eq!(masks, [(0, 1, 0), (1, 1, 8)]);
    assert!(matches!(var("fn").relocs().next().unwrap().target, SymbolRef::Func(_)));
    assert_eq!((var("n").size, var("z").size, var("z").init.is_none()), (6, 16, true));
}

#[test]
fn calls_name_their_function_and_arguments() {
    let source = load(
        ".func (.param .b32 r) f(.param .b32 a, .param .b32 b);\n\
         .func (.reg .b32 r) g(.reg .b32 a) { add.u32 r, a, 1; ret; }\n\
         .entry k() { .reg .b32 %r<3>; .reg .b64 %d<2>; .param .b32 x; .param .b32 y;\n\
         call.uni (x), f, (x, y);\ncall (%r1), g, (%r2);\n\
         P: .callprototype (.param .b32 _) _ (.param .b32 _);\ncall (x), %d1, (y), P;\n\
         T: .calltargets f;\ncall (x), %d1, (x, y), T; ret; }",
    );
    let program = program(&source);
    let k = function(&program, "k");
    assert!(
        matches!(k.code.at(0).operands, [Operand::List(_), Operand::Func(_), Operand::List(a)] if a.len() == 2)
    );
    assert!(
        matches!(&k.code.at(1).operands[0], Operand::List(r) if matches!(r[0], Operand::Reg(_)))
    );
    assert_eq!(k.code.at(2).operands[3], Operand::Prototype(0));
    assert_eq!((k.prototypes[0].0.len(), k.prototypes[0].1.len()), (1, 1));
    assert_eq!(k.code.at(3).operands[3], Operand::CallTargets(0));
    assert!(!function(&program, "f").defined && function(&program, "g").defined);
    let g = function(&program, "g");
    let params = [g.returns[0], g.params[0]].map(|id| program.vars[id.0 as usize].reg());
    assert!(params.iter().all(Option::is_some) && params[0] != params[1]);
}

/// The bytes of a variable, or the error.
fn initial(declaration: &str) -> Result<Vec<u8>, String> {
    let source =
        format!(".version 9.0\n.target sm_90a\n.address_size 64\n.global .u32 a;\n{declaration}\n");
    let program = orias::ptx::load(&source).map_err(|errors| errors.to_string())?;
    let last = program.vars.iter().last().expect("a variable");
    Ok(last.init.as_ref().map_or(Vec::new(), |init| init.bytes.to_vec()))
}

#[test]
fn numbers_beside_each_other_are_what_each_of_them_is() {
    let elements = [
        "0",
        "7",
        "255",
        "300",
        "1234567",
        "123456789012",
        "-1",
        "0x1f",
        "017",
        "5U",
        "(3+4)",
        "0b11",
    ];
    for ty in ["b8", "u16", "s32", "b64"] {
        for from in 0..elements.len() {
            let some: Vec<&str> = elements.iter().cycle().skip(from).take(7).copied().collect();
            let of = |list: &str| initial(&format!(".global .{ty} t[7] = {{{list}}};"));
            // No list is read at once that has comments.
            let alone = of(&some.join("/**/,/**/"));
            assert!(alone.is_ok(), "{some:?}: {alone:?}");
            for between in [",", ", ", " ,\n\t", ",  "] {
                assert_eq!(of(&some.join(between)), alone, "{ty} {some:?}");
            }
        }
    }
    let floats = initial(".global .f32 t[4] = {0f3F800000, 0d4000000000000000, -0f3F800000, 1.0};");
    let words = [0x3f80_0000_u32, 0x4000_0000, 0xbf80_0000, 0x3f80_0000];
    assert_eq!(floats, Ok(words.iter().flat_map(|word| word.to_le_bytes()).collect()));
    let nested = initial(".global .b8 t[2][3] = {{1, 2}, {3, 4, 5}};");
    assert_eq!(nested, Ok(vec![1, 2, 0, 3, 4, 5]));
    assert_eq!(
        initial(".global .u64 t[3] = {1, a, 2};").map(|bytes| (bytes[0], bytes[16])),
        Ok((1, 2))
    );
}

#[test]
fn what_is_wrong_with_a_list_of_numbers_is_found() {
    let errors = [
        ("b8 t[2] = {1, 2, 3}", "Greater number of elements"),
        ("b8 t[2][2] = {{1, 2, 3}}", "Greater number of elements"),
        ("b8 t[2][2] = {1, 2}", "Initial value type mismatch"),
        ("b8 t[2] = {1, 2, }", "Parsing error near '}'"),
        ("b8 t[2] = {, 2}", "Parsing error near ','"),
        ("b8 t[2] = {1 2}", "Parsing error near '2'"),
        ("b8 t[2] = {1, 12ab}", "12ab"),
        ("f32 t[2] = {0f3F800000, 1}", "Initial value type mismatch"),
        ("b8 t[2] = {1, 0f3F800000}", ""),
        ("b8 t[9] = {1, 99999999999999999999}", "invalid number"),
        ("b8 t[9] = {1, 2", ""),
    ];
    for (declaration, error) in errors {
        let found = initial(&format!(".global .{declaration};"));
        let with_comments = initial(&format!(".global .{};", declaration.replace(',', " , /**/ ")));
        let message = |result: &Result<Vec<u8>, String>| {
            result.clone().err().map(|text| {
                text.lines()
                    .next()
                    .unwrap_or_default()
                    .rsplit(": ")
                    .next()
                    .unwrap_or_default()
                    .to_string()
            })
        };
        assert_eq!(message(&found), message(&with_comments), "{declaration}: {found:?}");
        if let Err(text) = &found {
            assert!(text.contains(error), "{declaration}: {text}");
        }
    }
}

#[test]
fn a_declaration_and_its_definition_are_one_function() {
    let source = load(
        ".func (.param .b32 r) f(.param .b32 a);\n.entry k() { .param .b32 x; call (x), f, (x); ret; }\n\
         .func (.param .b32 r) f(.param .b32 a) { ret; }",
    );
    let program = program(&source);
    assert_eq!(program.functions.len(), 2);
    assert!(function(&program, "f").defined);
}

#[test]
fn linkage_spaces_and_directives() {
    let source = load(
        ".extern .shared .align 16 .b8 dyn[];\n.visible .const .u32 c = 1;\n.weak .global .u32 w;\n\
         .visible .entry k() .maxntid 256, 1, 1 .minnctapersm 2 .pragma \"nounroll\"; { ret; }\n\
         .func quiet() .noreturn { trap; }",
    );
    let program = program(&source);
    let var = |name: &str| {
        let var = program.vars.iter().find(|var| program.name(var) == name).unwrap();
        (var.linkage, var.space, var.size, var.align())
    };
    assert_eq!(var("dyn"), (Linkage::Extern, Space::Shared, 0, 16));
    assert_eq!(var("c"), (Linkage::Visible, Space::Const, 4, 4));
    assert_eq!(var("w"), (Linkage::Weak, Space::Global, 4, 4));
    let k = function(&program, "k");
    let directives =
        [("maxntid", vec![256, 1, 1]), ("minnctapersm", vec![2]), ("nounroll", vec![])];
    assert_eq!(k.directives, directives);
    assert_eq!(function(&program, "quiet").directives, [("noreturn", vec![])]);
}

#[test]
fn words_that_are_in_no_list_are_spelled_as_they_stand() {
    let source = load(
        ".entry k() {\n.reg .pred %p; .reg .b32 %r<3>;\n\
         @!%p tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [%r1], %r2;\n\
         @%p add.u32 %r1, %r2, 3;\n}",
    );
    let source = source.replace("sm_90a", "sm_100a");
    let program = program(&source);
    let code = function(&program, "k").code.iter();
    let spellings: Vec<String> = code
        .map(|inst| inst.spelling(&source[inst.span.start as usize..inst.span.end as usize]))
        .collect();
    let later = "tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32";
    assert_eq!(spellings, [later, "add.u32"]);
}

#[test]
fn source_places_come_from_loc() {
    let source = load(
        ".file 1 \"a b.cu\"\n.entry k() {\nret;\n.loc 1 10 3\nret;\n.loc 1 11 5, function_name $L, inlined_at 1 9 2\nret;\n}\n\
         .section .debug_str { $L: .b8 65, 0 }",
    );
    let program = program(&source);
    let code = &function(&program, "k").code;
    let locs = [(0, 0, 0), (1, 10, 3), (1, 11, 5)];
    assert!(code.locs().take(code.len()).eq(locs));
    assert_eq!([0, 1, 2].map(|at| code.loc(at)), locs);
    assert_eq!((program.files[0].index, program.files[0].path.as_ref()), (1, "a b.cu"));
    assert_eq!(program.sections[0].0, "debug_str");
}
