//! Which ways of branches are done under a condition, beside ptxas.

use orias::dis::{self, DisOptions};
use orias::driver::{self, CompileOptions};
use orias_fuzz::engines;

/// What is around the ways of a branch: they are chains of multiplications and exclusive ors.
#[derive(Clone, Copy, Default, Debug)]
struct Around {
    /// A load in the branch's block that the condition does not wait for.
    under_way: bool,
    /// Where control goes by itself: something is loaded, and this is the length without that.
    first: (bool, usize),
    /// The other way, if there is one.
    second: Option<(bool, usize)>,
    /// Additions where they meet.
    behind: usize,
    /// Something is loaded there.
    loads_behind: bool,
    /// The second way is an atomic operation, which is never under a condition.
    atomic: bool,
}

/// A kernel with one branch around an atomic operation, so that no load is under way behind it, and
/// then those ways.
fn kernel(around: Around) -> String {
    let mut loads = 0;
    let mut load = || {
        loads += 1;
        format!(
            "ld.global.u32 %r{n}, [%rd1+{at}]; xor.b32 %r2, %r2, %r{n};\n",
            n = 10 + loads,
            at = 0x1000 * loads
        )
    };
    let mut way = |(loads, length): (bool, usize)| {
        let chain = ["mul.lo.u32 %r2, %r2, %r0;\n", "xor.b32 %r2, %r2, %r1;\n"];
        let first = if loads { load() } else { String::new() };
        first + &chain.iter().copied().cycle().take(length).collect::<String>()
    };
    let (first, second) = (way(around.first), around.second.map(&mut way));
    let is_two = second.is_some() || around.atomic;
    let (to, leave) = if is_two { ("ELSE", "bra JOIN;\nELSE:\n") } else { ("JOIN", "") };
    let second = second.unwrap_or_default();
    let atomic = if around.atomic { "red.global.add.u32 [%rd2+64], %r0;\n" } else { "" };
    let [under_way, used] = match around.under_way {
        true => ["ld.global.u32 %r9, [%rd1+64];", "add.u32 %r2, %r2, %r9;\n"],
        false => [""; 2],
    };
    let loads_behind = if around.loads_behind { load() } else { String::new() };
    let behind = "add.f32 %r2, %r2, %r1;\n".repeat(around.behind);
    format!(
        ".version 8.0\n.target sm_90a\n.address_size 64\n\
         .visible .entry k(.param .u64 p, .param .u64 q)\n{{\n\
         .reg .b32 %r<32>; .reg .b64 %rd<4>; .reg .pred %p<3>;\n\
         ld.param.u64 %rd1, [p]; ld.param.u64 %rd2, [q]; mov.u32 %r0, %tid.x;\n\
         mul.wide.u32 %rd3, %r0, 4; add.s64 %rd1, %rd1, %rd3; add.s64 %rd2, %rd2, %rd3;\n\
         ld.global.u32 %r1, [%rd1]; ld.global.u32 %r2, [%rd1+32];\n\
         setp.gt.s32 %p1, %r1, -5;\n@%p1 bra K;\nred.global.add.u32 [%rd2+64], %r0;\nK:\n\
         {under_way}\nsetp.lt.s32 %p2, %r1, 77;\n@%p2 bra {to};\n\
         {first}{leave}{second}{atomic}JOIN:\n{loads_behind}{behind}{used}\
         st.global.u32 [%rd2], %r2;\nret;\n}}\n"
    )
}

/// How many branches there are behind the first one.
fn branches(cubin: &[u8]) -> usize {
    let text = dis::cubin(cubin, DisOptions::default()).expect("a cubin");
    // The first one, and the one behind the end that nobody comes to.
    text.matches(" BRA ").count() - 2
}

#[test]
fn ways_are_as_long_as_ptxas_has_them() {
    let plain = Around::default();
    let busy = Around { under_way: true, ..plain };
    let two = |first, second| Around { first, second: Some(second), ..plain };
    let two_busy = |first, second| Around { under_way: true, ..two(first, second) };
    let cases = [
        // One way: eight instructions.
        (Around { first: (false, 8), ..plain }, 0),
        (Around { first: (false, 9), ..plain }, 1),
        (Around { first: (false, 9), ..busy }, 1),
        // Beside a load, and before a load or six instructions, twenty.
        (Around { first: (false, 20), loads_behind: true, ..busy }, 0),
        (Around { first: (false, 20), behind: 8, ..busy }, 0),
        (Around { first: (false, 21), behind: 8, ..busy }, 1),
        (Around { first: (false, 9), behind: 8, ..plain }, 1),
        (Around { first: (false, 9), behind: 3, ..busy }, 1),
        // A way that loads, beside a load before it or behind it.
        (Around { first: (true, 18), ..busy }, 0),
        (Around { first: (true, 19), ..busy }, 1),
        (Around { first: (true, 18), loads_behind: true, ..plain }, 0),
        (Around { first: (true, 7), behind: 8, ..plain }, 1),
        // Two ways: the branch behind the first one counts.
        (two((false, 7), (false, 8)), 0),
        (Around { behind: 8, ..two_busy((false, 9), (false, 10)) }, 0),
        (Around { behind: 8, ..two_busy((false, 10), (false, 10)) }, 2),
        // Where one loads: the other one up to ten, or both up to twenty.
        (two_busy((true, 17), (false, 9)), 0),
        (two_busy((false, 9), (true, 13)), 0),
        (two_busy((false, 10), (true, 13)), 2),
        (two_busy((false, 13), (true, 4)), 0),
        (two((false, 9), (true, 4)), 0),
        // Where both do each may have twenty.
        (two((true, 17), (true, 18)), 0),
        (two((true, 18), (true, 18)), 2),
        // One goes before the branch, which leads on then; the other one stays.
        (Around { first: (false, 7), atomic: true, ..plain }, 1),
        (Around { first: (false, 8), atomic: true, ..plain }, 2),
        (two((false, 7), (false, 9)), 1),
    ];
    for (around, expected) in cases {
        let ptx = kernel(around);
        let options = CompileOptions { verify_each: true, ..Default::default() };
        let ours = driver::compile_source(&ptx, &options).expect("it compiles").cubin;
        assert_eq!(branches(&ours), expected, "{around:?}");
        if let Some(cubin) = engines::ptxas(&ptx, 3) {
            let cubin = cubin.expect("ptxas takes it, too");
            assert_eq!(branches(&cubin), expected, "ptxas, {around:?}");
        }
    }
}
