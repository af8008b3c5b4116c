//! Functions in pieces, which stand in SSA form together again, do what they did whole.

use orias_components::{Body, text};
use orias_systems::knobs::Knobs;
use orias_systems::testing::{Random, run};
use orias_systems::{Options, Worker};

/// One thing after another: straight code, ways that part and meet, loops that count.
fn program(random: &mut Random) -> String {
    let mut text = String::from(
        "vreg %R0:2 align 2\nvreg %R2:2 align 2\nvreg %R3:1 align 1\nvreg %R4:1 align 1\n\
         vreg %P5:1 align 1\nvreg %P6:1 align 1\nvreg %R7:1 align 1\nvreg %P8:1 align 1\n\
         vreg %R9:2 align 2\nvreg %R10:2 align 2\n\
         BB0:\n%R0:2 = LDC.64 c[0x0][0x10]\n%R2:2 = LDC.64 c[0x0][0x20]\n\
         %R9:2 = LDC.64 c[0x0][0x14]\n%R10 = MOV %R9, 0xf\n%R10[1] = MOV 0x9, 0xf\n\
         %R3 = MOV 0x3, 0xf\n%R4 = MOV 0x5, 0xf\n%P5, %P6 = ISETP.LT.AND %R0, %R2, PT\n",
    );
    let mut block = 0;
    for _ in 0..4 + random.below(6) {
        let start = block + 1;
        match random.below(3) {
            0 => instructions(random, &mut text),
            1 => {
                text += &format!("@%P5 BRA PT, BB{}\nBB{start}:\n", start + 1);
                instructions(random, &mut text);
                if random.below(2) == 0 {
                    text += &format!("BRA PT, BB{}\n", start + 2);
                }
                text += &format!("BB{}:\n", start + 1);
                instructions(random, &mut text);
                text += &format!("BB{}:\n", start + 2);
                block += 3;
            }
            _ => {
                let rounds = 1 + random.below(3);
                text += &format!("%R7 = MOV {rounds:#x}, 0xf\nBB{start}:\n");
                instructions(random, &mut text);
                text += "%R7 = VIADD %R7, 0xffffffff\n%P8, PT = ISETP.GT.AND %R7, RZ, PT\n";
                text += &format!("@%P8 BRA PT, BB{start}\nBB{}:\n", start + 1);
                block += 2;
            }
        }
        if random.below(8) == 0 {
            text += &format!("@%P6 EXIT PT\nBB{}:\n", block + 1);
            block += 1;
        }
    }
    text + "STS [RZ], %R3\nSTS.64 [RZ+0x10], %R0:2\nSTS.64 [RZ], %R2:2\nSTS [RZ+0x20], %R4\nEXIT PT"
}

fn instructions(random: &mut Random, text: &mut String) {
    for _ in 0..random.below(7) {
        let guard = random.of(&["", "", "", "@%P5 ", "@!%P6 "]);
        let line = random.of(&[
            "%R0 = VIADD %R3, 0x1",
            "%R0[1] = MOV %R4, 0xf",
            "%R2[1], PT, PT = IADD3 %R2, %R0, RZ",
            "%R2:2 = LDC.64 c[0x0][0x30]",
            "%R3, PT, PT = IADD3 %R3, %R0[1], RZ",
            "%R3, PT, PT = IADD3 %R10, %R10[1], %R3",
            "%R4 = VIADD %R4, 0x7",
            "%R4 = MOV %R9[1], 0xf",
            "%P5, PT = ISETP.LT.AND %R4, %R2[1], PT",
            "%P6, %P5 = ISETP.GE.U32.AND %R3, %R9, PT",
            "STS.64 [RZ+0x10], %R0:2",
            "STS.64 [RZ+0x8], %R10:2",
            "STS.64 [RZ], %R2:2",
            "STS [RZ+0x20], %R4",
        ]);
        *text += &format!("{guard}{line}\n");
    }
}

fn ran(body: &Body<'_>, what: &str) -> Vec<(u32, u32)> {
    let constant = |offset: i32| offset as u32 & 0x14;
    let ran = run::run(body, constant, 400);
    ran.unwrap_or_else(|| panic!("{what}\ndoes not end")).stores
}

#[test]
fn random_functions_in_pieces_do_what_they_did() {
    let mut pieces = 0;
    for seed in 0..400 {
        let source = program(&mut Random::new(seed));
        for size in [1, 3, 8] {
            let knobs = [("PieceInstructions".to_string(), size.to_string())];
            let knobs = Knobs::read(&knobs).expect("a knob");
            let dump_ir = vec!["GenerateMovPhi".to_string()];
            let options = Options { knobs, verify_each: true, dump_ir, ..Options::for_test() };
            let mut worker = Worker::new(options).expect("no phase is disabled");
            let mut body = worker.body();
            text::parse(&source, &mut body).unwrap_or_else(|e| panic!("{e}\n{source}"));
            body.update_edges();
            let expected = ran(&body, &source);
            let ssa = orias_systems::pieces::PHASES.start;
            if let Err(e) = worker.run_only(ssa..ssa + 1) {
                panic!("seed {seed}, size {size}: {e}\n{source}");
            }
            pieces += worker.dump().matches("(piece ").count() / 2;
            let body = worker.body();
            let printed = text::print(&body, &text::Style::default());
            assert!(!printed.contains("LIVE"), "seed {seed}\n{printed}");
            let what = format!("seed {seed}, size {size}\n{source}\n{printed}");
            assert_eq!(ran(&body, &what), expected, "{what}");
        }
    }
    assert!(pieces > 4000, "{pieces} pieces");
}
