//! Every form of the matrix instructions, by the rules of the PTX document: the table of forms is
//! learned form by form, and these have too many for that to be left to chance. What the rules
//! allow is accepted; where ptxas is at hand its verdict is ours.

use crate::support::Scratch;
use std::collections::BTreeSet;
use std::process::Command;

/// The declarations of a kernel and the instruction that stands in it.
type Kernel = (String, String);

fn registers(name: char, count: usize) -> String {
    let all: Vec<String> = (0..count).map(|i| format!("%{name}{i}")).collect();
    format!("{{{}}}", all.join(", "))
}

/// A module of one kernel for each; each takes three lines behind the head's three.
fn module(kernels: &[Kernel]) -> String {
    let mut text = String::from(".version 9.0\n.target sm_90a\n.address_size 64\n");
    for (i, (declarations, instruction)) in kernels.iter().enumerate() {
        text += &format!(
            ".visible .entry k{i}() {{ .reg .b32 %s, %m; .reg .b64 %x, %y; .reg .pred %p; {declarations}\n{instruction}\nret; }}\n"
        );
    }
    text
}

/// The instructions that we refuse, asked in modules of few: a module's errors are cut off.
fn refused_by_us(kernels: &[Kernel]) -> BTreeSet<&str> {
    let mut refused = BTreeSet::new();
    for chunk in kernels.chunks(50) {
        let source = module(chunk);
        if orias::ptx::load(&source).is_ok() {
            continue;
        }
        for kernel in chunk {
            if orias::ptx::load(&module(std::slice::from_ref(kernel))).is_err() {
                refused.insert(kernel.1.as_str());
            }
        }
    }
    refused
}

/// The instructions that ptxas refuses; None where there is none.
fn refused_by_ptxas(kernels: &[Kernel]) -> Option<BTreeSet<&str>> {
    let ptxas = orias_runner::oracle::tool("ptxas")?;
    let scratch = Scratch::new();
    let mut refused = BTreeSet::new();
    for chunk in kernels.chunks(2000) {
        let path = scratch.write("forms.ptx", module(chunk));
        let run = Command::new(&ptxas)
            .args(["-arch=sm_90a", "-O0", "-o", "/dev/null"])
            .arg(&path)
            .output()
            .unwrap();
        let errors = String::from_utf8_lossy(&run.stderr);
        let before = refused.len();
        for line in errors.lines().filter(|l| l.contains("error ")) {
            let number = line.split("line ").nth(1).and_then(|l| l.split(';').next());
            let number: usize = number.and_then(|n| n.trim().parse().ok()).expect(line);
            refused.insert(chunk[(number - 4) / 3].1.as_str());
        }
        assert_eq!(run.status.success(), refused.len() == before, "{errors}");
    }
    Some(refused)
}

/// `wgmma.mma_async`, dense and sparse, with the first factor in shared memory and in registers.
fn warpgroup() -> Vec<Kernel> {
    let mut all = Vec::new();
    let mut put = |n: usize, k: usize, types: &str, sparse: bool, tails: [&str; 2], after: &str| {
        let (count, ty) = match &types[..3] {
            "f16" => (n / 4, "b32"),
            "f32" => (n / 2, "f32"),
            _ => (n / 2, "b32"),
        };
        let k = if sparse { 2 * k } else { k };
        let (sp, metadata) = if sparse { (".sp", ", %m, 0") } else { ("", "") };
        for (a, tail) in ["%x", "{%a0, %a1, %a2, %a3}"].into_iter().zip(tails) {
            all.push((
                format!(".reg .{ty} %d<{count}>; .reg .b32 %a<4>;"),
                format!(
                    "wgmma.mma_async{sp}.sync.aligned.m64n{n}k{k}.{types}{after} {}, {a}, %y{metadata}, %p{tail};",
                    registers('d', count)
                ),
            ));
        }
    };
    for n in (8..=256).step_by(8) {
        for sparse in [false, true] {
            for types in ["f16.f16.f16", "f32.f16.f16", "f32.bf16.bf16"] {
                put(n, 16, types, sparse, [", 1, -1, 0, 1", ", 1, -1, 1"], "");
            }
            put(n, 8, "f32.tf32.tf32", sparse, [", 1, -1"; 2], "");
            for d in ["f16", "f32"] {
                for factors in ["e4m3.e4m3", "e4m3.e5m2", "e5m2.e4m3", "e5m2.e5m2"] {
                    put(n, 32, &format!("{d}.{factors}"), sparse, [", 1, 1"; 2], "");
                }
            }
            if n <= 32 || n % 16 == 0 {
                for factors in ["s8.s8", "s8.u8", "u8.s8", "u8.u8"] {
                    for after in ["", ".satfinite"] {
                        put(n, 32, &format!("s32.{factors}"), sparse, [""; 2], after);
                    }
                }
            }
        }
        if n <= 32 || n % 16 == 0 {
            put(n, 256, "s32.b1.b1", false, [""; 2], ".and.popc");
        }
    }
    all
}

/// Fragments of `wmma`: type, shape, registers of A and of B, types of the sums.
const FRAGMENTS: &[(&str, &str, usize, usize, &[&str])] = &[
    ("f16", "m16n16k16", 8, 8, &["f16", "f32"]),
    ("f16", "m8n32k16", 8, 8, &["f16", "f32"]),
    ("f16", "m32n8k16", 8, 8, &["f16", "f32"]),
    ("bf16", "m16n16k16", 4, 4, &["f32"]),
    ("bf16", "m8n32k16", 2, 8, &["f32"]),
    ("bf16", "m32n8k16", 8, 2, &["f32"]),
    ("tf32", "m16n16k8", 4, 4, &["f32"]),
    ("f64", "m8n8k4", 1, 1, &["f64"]),
    ("s8", "m16n16k16", 2, 2, &["s32"]),
    ("u8", "m16n16k16", 2, 2, &["s32"]),
    ("s8", "m8n32k16", 1, 4, &["s32"]),
    ("u8", "m8n32k16", 1, 4, &["s32"]),
    ("s8", "m32n8k16", 4, 1, &["s32"]),
    ("u8", "m32n8k16", 4, 1, &["s32"]),
    ("s4", "m8n8k32", 1, 1, &["s32"]),
    ("u4", "m8n8k32", 1, 1, &["s32"]),
    ("b1", "m8n8k128", 1, 1, &["s32"]),
];

/// `wmma.load` and `wmma.store`, and `wmma.mma` with every layout; some that the rules do not allow
/// are among them.
fn fragments() -> Vec<Kernel> {
    let mut all = Vec::new();
    let kinds = |ty: &str| match ty {
        "f64" => ["f64", "b64"],
        "f32" => ["f32", "b32"],
        "s32" => ["s32", "b32"],
        _ => ["b32", "u32"],
    };
    for &(ty, shape, of_a, of_b, sums) in FRAGMENTS {
        let count = |sum: &str| match (shape, sum) {
            ("m8n8k4" | "m8n8k32" | "m8n8k128", _) => 2,
            (_, "f16") => 4,
            _ => 8,
        };
        for layout in ["row", "col"] {
            for space in ["", ".global", ".shared", ".shared::cta"] {
                for stride in ["", ", %s"] {
                    let mut put = |name: &str, ty: &str, kind: &str, n: usize| {
                        let d = registers('d', n);
                        let name = format!("wmma.{name}.sync.aligned.{layout}.{shape}{space}.{ty}");
                        let operands = if name.contains("store") {
                            format!("[%x+32], {d}")
                        } else {
                            format!("{d}, [%x]")
                        };
                        let declared = format!(".reg .{kind} %d<{n}>;");
                        all.push((declared, format!("{name} {operands}{stride};")));
                    };
                    for kind in kinds(ty) {
                        put("load.a", ty, kind, of_a);
                        put("load.b", ty, kind, of_b);
                    }
                    for sum in sums {
                        for kind in kinds(sum) {
                            put("load.c", sum, kind, count(sum));
                            put("store.d", sum, kind, count(sum));
                        }
                    }
                }
            }
        }
        for layouts in ["row.row", "row.col", "col.row", "col.col"] {
            for c in sums {
                for d in sums {
                    let names = match ty {
                        "f16" => ["", ".satfinite"]
                            .map(|sat| format!("mma.sync.aligned.{layouts}.{shape}.{d}.{c}{sat}")),
                        "f64" => ["", ".rz"].map(|r| {
                            format!("mma.sync.aligned.{layouts}.{shape}{r}.f64.f64.f64.f64")
                        }),
                        "b1" => ["xor", "and"].map(|op| {
                            format!("mma.{op}.popc.sync.aligned.{layouts}.{shape}.s32.b1.b1.s32")
                        }),
                        _ => ["", ".satfinite"].map(|sat| {
                            format!("mma.sync.aligned.{layouts}.{shape}.{d}.{ty}.{ty}.{c}{sat}")
                        }),
                    };
                    for name in names {
                        let (nd, nc) = (count(d), count(c));
                        let declared = format!(
                            ".reg .{} %d<{nd}>; .reg .{} %a<{of_a}>, %b<{of_b}>; .reg .{} %c<{nc}>;",
                            kinds(d)[0],
                            kinds(ty)[0],
                            kinds(c)[0]
                        );
                        let operands = [('d', nd), ('a', of_a), ('b', of_b), ('c', nc)]
                            .map(|(r, n)| registers(r, n));
                        all.push((declared, format!("wmma.{name} {};", operands.join(", "))));
                    }
                }
            }
        }
    }
    all
}

#[test]
fn every_product_of_a_warpgroup_is_accepted() {
    let all = warpgroup();
    assert!(all.len() > 2000, "{}", all.len());
    assert_eq!(refused_by_us(&all), BTreeSet::new());
}

#[test]
fn products_of_warpgroups_are_those_of_ptxas() {
    // A product in 256 columns takes ptxas long; the others have the same rules.
    let few: Vec<Kernel> = warpgroup().into_iter().step_by(7).collect();
    if let Some(refused) = refused_by_ptxas(&few) {
        assert_eq!(refused, BTreeSet::new());
    }
}

#[test]
fn fragments_are_accepted_and_refused_as_ptxas_does() {
    let all = fragments();
    assert!(all.len() > 1500, "{}", all.len());
    let ours = refused_by_us(&all);
    assert!(ours.len() < all.len() / 2, "{} of {}", ours.len(), all.len());
    if let Some(theirs) = refused_by_ptxas(&all) {
        assert_eq!(ours, theirs);
    }
}
