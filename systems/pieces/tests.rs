use super::cross::Plan;
use super::cut::{Levels, cut};
use super::{Builder, PHASES, Parcel, join};
use crate::pipeline;
use crate::ssa;
use crate::testing::parse;
use orias_components::{Body, Function, Inst, Loc, Opcode, Operand, RegFile, RegUse, text};

fn printed(body: &Body<'_>) -> String {
    text::print(body, &text::Style::default())
}

/// The code that has some opcode, line by line.
fn lines(body: &Body<'_>, op: &str) -> Vec<String> {
    let text = printed(body);
    let with_op = text.lines().map(str::trim).filter(|line| line.contains(op));
    with_op.map(str::to_string).collect()
}

/// Each piece of a function as it is before its phases, and what `edit` makes of it packed up.
fn pieces(
    function: &mut Function,
    size: usize,
    edit: impl Fn(usize, &mut Function),
) -> (Vec<String>, Vec<Parcel>) {
    let body = function.body();
    let plan = Plan::of(&body, size).expect("it can be cut");
    let mut builder = Builder::new(&body, &plan);
    let all = (0..plan.pieces.len()).map(|n| {
        let mut piece = parse("");
        builder.build(n, &mut piece.body());
        piece.body().update_edges();
        let text = printed(&piece.body());
        edit(n, &mut piece);
        (text, builder.pack(&piece.body()).expect("it is a piece still"))
    });
    all.unzip()
}

fn in_ssa(_: usize, piece: &mut Function) {
    piece.run(ssa::generate_mov_phi);
}

#[test]
fn a_function_is_cut_where_all_ways_lead_through_one_place() {
    let places = |text: &str, size| {
        let mut function = parse(text);
        let body = function.body();
        let spans = cut(&body, &Levels::of(&body), size);
        let ends = spans.iter().map(|span| (span.to.place, span.to.inst));
        ends.collect::<Vec<_>>()
    };
    let moves = |count: usize| "%R1 = MOV %R2, 0xf\n".repeat(count);
    let straight = format!("BB0:\n{}EXIT PT", moves(10));
    assert_eq!(places(&straight, 4), [(0, 4), (0, 8), (1, 0)]);
    assert_eq!(places(&straight, 100), [(1, 0)]);
    // The ways of a branch are one piece with it; where they meet there may be a cut, and in the
    // block that all come through.
    let diamond = format!(
        "BB0:\n{0}@%P3 BRA PT, BB2\nBB1:\n{0}BRA PT, BB3\nBB2:\n{0}BB3:\n{0}{0}EXIT PT",
        moves(3)
    );
    assert_eq!(places(&diamond, 2), [(0, 2), (3, 0), (3, 2), (3, 4), (4, 0)]);
    // A loop is one piece, from its first block on.
    let of_loop =
        format!("BB0:\n{0}BB1:\n{0}BB2:\n{0}@%P3 BRA PT, BB1\nBB3:\n{0}EXIT PT", moves(3));
    assert_eq!(places(&of_loop, 3), [(1, 0), (3, 0), (4, 0)]);
    // Nothing is cut off that is less than half a piece.
    assert_eq!(places(&format!("BB0:\n{}EXIT PT", moves(4)), 4), [(1, 0)]);
}

const CROSSING: &str = "
    BB0:
      %UR0:2 = ULDC.64 c[0x0][0x208]
      %R1:2 = LDC.64 c[0x0][0x210]
      %R2 = MOV %R1, 0xf
      %R2[1] = MOV %R1[1], 0xf
      %R3 = S2R SR33
      %R4 = VIADD %R3, 0x1
      %R5 = VIADD %R3, 0x2
      %R6 = VIADD %R4, 0x3
      STG.E desc[%UR0:2], [%R2:2.64], %R6
      %R6 = VIADD %R4, 0x5
      %R7 = VIADD %R6, 0x6
      STG.E desc[%UR0:2], [%R2:2.64+0x10], %R7
      STG.E desc[%UR0:2], [%R2:2.64+0x20], %R4
      EXIT PT";

#[test]
fn values_come_in_and_go_out_and_constants_are_made_again() {
    let mut function = parse(CROSSING);
    let (texts, parcels) = pieces(&mut function, 8, in_ssa);
    let [first, second] = &texts[..] else { panic!("two pieces: {texts:#?}") };
    // R6 is written anew, R5 and R3 are read no more, R2 is a copy of a constant.
    let has = |text: &str, op: &str| text.lines().filter(|line| line.contains(op)).count();
    assert_eq!([has(first, "LIVEIN"), has(first, "LIVEOUT"), has(first, "PIECEEND")], [0, 3, 1]);
    assert_eq!([has(second, "LIVEIN"), has(second, "LIVEOUT"), has(second, "PIECEEND")], [2, 0, 0]);
    assert_eq!([has(second, "LDC.64"), has(second, "ULDC.64"), has(second, "MOV")], [2, 1, 2]);
    assert_eq!(parcels[0].outs.len(), 3);
    let mut body = function.body();
    join(&mut body, parcels);
    // What makes the uniform constant stands once, and nothing that crosses has become a copy.
    assert_eq!(lines(&body, "ULDC").len(), 1);
    assert_eq!([lines(&body, "LDC.64").len(), lines(&body, "MOV").len()], [3, 4]);
    let read: Vec<_> =
        lines(&body, "STG").iter().map(|l| l.rsplit(' ').next().map(str::to_string)).collect();
    let written = lines(&body, "VIADD");
    let wrote = |line: &str| line.split(' ').next().map(str::to_string);
    let expected = [&written[2], &written[4], &written[0]].map(|line| wrote(line));
    assert_eq!(read, expected, "{}", printed(&body));
    assert!(!printed(&body).contains("LIVE") && body.layout().len() == 1);
}

#[test]
fn what_cannot_have_the_name_that_it_had_is_copied() {
    let text = "
        BB0:
          %R0 = S2R SR33
          %R1 = VIADD %R0, 0x1
          %R2 = VIADD %R1, 0x2
          %R3 = VIADD %R2, 0x3
          STS [%R3], %R1
          STS [%R3+0x4], %R2
          EXIT PT";
    let mut function = parse(text);
    let (_, parcels) = pieces(&mut function, 4, |n, piece| {
        // As if the second piece wanted all that comes in as the words of one register.
        let mut body = piece.body();
        let block = body.layout()[0];
        let mut ins = body.block(block).insts().to_vec();
        ins.retain(|id| body.op(*id) == Opcode::LIVEIN && n == 1);
        let quad = body.new_vreg(RegFile::R, 4, 4);
        for (cell, id) in (0..).zip(ins) {
            let old = body.inst(id).reg(0).expect("LIVEIN writes a register").reg;
            for id in body.block(block).insts().to_vec() {
                body.map_regs(id, |r| match r.reg == old {
                    true => RegUse { reg: quad, cell, ..r },
                    false => r,
                });
            }
        }
    });
    let mut body = function.body();
    join(&mut body, parcels);
    let copies = lines(&body, "MOV");
    assert_eq!(copies.len(), 3, "{}", printed(&body));
}

#[test]
fn nothing_is_left_of_what_no_way_leads_to() {
    let mut function = parse(CROSSING);
    let (_, parcels) = pieces(&mut function, 8, |n, piece| {
        let mut body = piece.body();
        let block = body.layout()[0];
        let end = body.block(block).insts().len();
        if n == 0 {
            // The function ends here after all.
            body.replace(block, end - 1..end, []);
            body.push(block, Inst::new(Opcode::EXIT, &[], 0, &[Operand::PT]), Loc::default());
        }
    });
    assert_eq!(parcels[0].end, None);
    let mut body = function.body();
    join(&mut body, parcels);
    assert_eq!([lines(&body, "STG").len(), lines(&body, "EXIT").len()], [0, 1]);
}

#[test]
fn what_is_no_value_keeps_its_pieces_together() {
    // A uniform register that two instructions write is read behind the cut.
    let text = CROSSING.replace("BB0:\n", "BB0:\n%UR0:2 = ULDC.64 c[0x0][0x210]\n");
    assert!(Plan::of(&parse(&text).body(), 8).is_none());
    // One that is written once has the same name in both pieces.
    let text = CROSSING.replace("ULDC.64 c[0x0][0x208]", "S2UR SR37");
    let mut function = parse(&text);
    let (texts, parcels) = pieces(&mut function, 8, in_ssa);
    assert!(texts[1].contains(":2 = LIVEIN") && texts[0].contains("LIVEOUT %UR"), "{texts:#?}");
    let mut body = function.body();
    join(&mut body, parcels);
    let name = lines(&body, "S2UR")[0].split(' ').next().map(str::to_string);
    let name = name.expect("what it writes");
    assert!(lines(&body, "STG").iter().all(|line| line.contains(&format!("desc[{name}]"))));
    // What names physical registers stays whole.
    let text = CROSSING.replace("%R3 = S2R", "R3 = S2R").replace("%R3,", "R3,");
    assert!(Plan::of(&parse(&text).body(), 8).is_none());
}

#[test]
fn what_is_written_twice_is_no_constant() {
    // The fuzzer's: both that write R1 are constants, one of them on one way only.
    let text = "
        BB0:
          %R1 = MOV 0x1, 0xf
          %P2, PT = ISETP.LT.AND %R3, RZ, PT
          %R4 = VIADD %R3, 0x1
          @%P2 BRA PT, BB2
        BB1:
          %R1 = MOV 0x2, 0xf
        BB2:
          STS [RZ], %R1
          STS [RZ+0x4], %R4
          EXIT PT";
    let mut function = parse(text);
    let (texts, _) = pieces(&mut function, 5, |_, _| ());
    assert!(
        texts[0].contains("LIVEOUT %R") && texts[1].matches("LIVEIN").count() == 2,
        "{texts:#?}"
    );
    assert!(!texts[1].contains("MOV"), "{texts:#?}");
}

#[test]
fn pieces_go_through_the_phases_of_ssa_form_up_to_the_one_that_counts_registers() {
    let index = |name: &str| pipeline::find(name).map(|phase| phase.index as usize);
    assert_eq!(index("GenerateMovPhi"), Some(PHASES.start));
    assert_eq!(index("OriDoRemat"), Some(PHASES.end));
}
