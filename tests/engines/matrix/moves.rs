//! `ldmatrix`, `stmatrix`, `movmatrix`.

use super::bench::{Case, Random, check, check_on_sm_80, kernel, pack, registers};

/// Each thread stores 64 bytes to shared memory and loads them again after `body`.
fn through_shared(body: &str) -> String {
    let mut text = String::new();
    text += "shl.b32 %line, %thread, 6;\nadd.u32 %line, %line, %s;\n";
    for i in 0..16 {
        text += &format!("st.shared.b32 [%line+{}], %m{i};\n", 4 * i);
    }
    text += "bar.sync 0;\nadd.u32 %row, %s, %o0;\n";
    text += body;
    text += "\nbar.sync 0;\n";
    for i in 0..16 {
        text += &format!("ld.shared.b32 %m{i}, [%line+{}];\n", 4 * i);
    }
    text
}

const DECLARATIONS: &str = ".reg .b32 %line, %row;\n";

/// The two elements of matrix `number` that a thread holds: of row lane / 4, or of that column.
fn elements(lane: usize, transposed: bool) -> [(usize, usize); 2] {
    let (row, column) = (lane / 4, lane % 4 * 2);
    if transposed { [(column, row), (column + 1, row)] } else { [(row, column), (row, column + 1)] }
}

fn case(count: usize, transposed: bool, store: bool, space: &str, random: &mut Random) -> Case {
    let mut memory: Vec<u16> = (0..1024).map(|_| random.next() as u16).collect();
    let held: Vec<u16> = (0..64 * count).map(|_| random.next() as u16).collect();
    // Each row of each matrix anywhere in shared memory, and no two in the same place.
    let mut lines: Vec<usize> = (0..128).collect();
    for i in 0..128 {
        lines.swap(i, random.below(128) as usize);
    }
    let offsets: Vec<u64> = lines[..32].iter().map(|l| 16 * *l as u64).collect();
    let before = memory.clone();
    let mut want = held.clone();
    for number in 0..count {
        for lane in 0..32 {
            for (i, (row, column)) in elements(lane, transposed).into_iter().enumerate() {
                let at = offsets[number * 8 + row] as usize / 2 + column;
                let register = (lane * count + number) * 2 + i;
                if store {
                    memory[at] = held[register];
                } else {
                    want[register] = memory[at];
                }
            }
        }
    }
    let instruction = format!(
        "{}.sync.aligned.m8n8.x{count}{}{space}.b16",
        if store { "stmatrix" } else { "ldmatrix" },
        if transposed { ".trans" } else { "" }
    );
    let m = registers("m", 16, 4);
    let o = registers("o", 1, 4);
    let r = registers("r", count, 4);
    let list = r.list();
    let generic = space.is_empty();
    let address = if generic { "[%wide]" } else { "[%row]" };
    let convert = "cvt.u64.u32 %wide, %row;\ncvta.shared.u64 %wide, %wide;\n";
    let before_it = if generic { convert } else { "" };
    let it = if store {
        format!("{before_it}{instruction} {address}, {list};")
    } else {
        format!("{before_it}{instruction} {list}, {address};")
    };
    let name = instruction.replace([':', '.'], "_");
    let declarations = format!("{DECLARATIONS}.reg .b64 %wide;\n");
    let source = kernel(&name, &declarations, &[m, o, r], &through_shared(&it), &[m, r]);
    let halves = |all: &[u16]| pack(&all.iter().map(|x| u64::from(*x)).collect::<Vec<_>>(), 16);
    let buffers = vec![halves(&before), pack(&offsets, 32), halves(&held)];
    let want = vec![Some(halves(&memory)), None, Some(halves(&want))];
    Case { name, source, threads: 32, buffers, want }
}

#[test]
fn between_shared_memory_and_registers() {
    let mut random = Random(21);
    let mut cases = Vec::new();
    for count in [1, 2, 4] {
        for transposed in [false, true] {
            for store in [false, true] {
                for space in [".shared", ""] {
                    cases.push(case(count, transposed, store, space, &mut random));
                }
            }
        }
    }
    check(&cases);
    cases.retain(|case| case.name.starts_with("ldmatrix"));
    check_on_sm_80(&cases);
}

#[test]
fn a_transposition_in_registers() {
    let mut random = Random(22);
    let matrix: Vec<u64> = (0..64).map(|_| random.below(1 << 16)).collect();
    let turned: Vec<u64> = (0..64).map(|i| matrix[i % 8 * 8 + i / 8]).collect();
    let (a, d) = (registers("a", 1, 4), registers("d", 1, 4));
    let body = "movmatrix.sync.aligned.m8n8.trans.b16 %d0, %a0;";
    let source = kernel("movmatrix", "", &[a], body, &[d]);
    let buffers = vec![pack(&matrix, 16), vec![0; 128]];
    let want = vec![None, Some(pack(&turned, 16))];
    check(&[Case { name: "movmatrix".into(), source, threads: 32, buffers, want }]);
}
