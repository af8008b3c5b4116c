//! Atomics on halves from our cubins: 64 threads add the same numbers to counters in global and
//! shared memory, by every way that the compiler has (one instruction, a swap of the word, a
//! generic address). Sums are exact, so the order does not matter.

use orias::driver::{CompileOptions, compile_source};
use orias::launch::{Argument, Buffer, Launch};
use orias_targets::simulator::{Hazards, Limits};

const THREADS: u16 = 64;

const KERNEL: &str = "
.version 9.0
.target sm_90a
.address_size 64
.visible .entry k(.param .u64 counters, .param .u64 olds)
{
    .reg .b64 %c, %o, %g; .reg .b32 %t, %x, %y, %s, %k<4>; .reg .b16 %one, %bone, %two, %old<4>; .reg .pred %p, %half;
    .shared .align 16 .b8 sums[32];
    ld.param.u64 %c, [counters]; ld.param.u64 %o, [olds];
    mov.u32 %t, %tid.x;
    setp.eq.u32 %p, %t, 0;
    @%p st.shared.v4.b32 [sums], {0, 0, 0, 0};
    @%p st.shared.v4.b32 [sums+16], {0, 0, 0, 0};
    bar.sync 0;
    mov.b16 %one, 0x3c00; mov.b16 %bone, 0x3f80; mov.b16 %two, 0x4000;
    mov.b32 %k0, 0x40003c00; mov.b32 %k1, 0x3f804000; mov.b32 %k2, 0x3f803f80; mov.b32 %k3, 0x3c004000;
    // Global: the high and the low half of one word.
    atom.global.add.noftz.f16 %old0, [%c+2], %one;
    red.global.add.noftz.bf16 [%c], %bone;
    atom.global.add.noftz.f16x2 %x, [%c+4], %k0;
    red.global.add.noftz.bf16x2 [%c+8], %k1;
    red.global.add.noftz.v4.f16 [%c+16], {%one, %two, %one, %two};
    atom.global.max.noftz.v2.bf16 {%old1, %old2}, [%c+24], {%bone, %one};
    // Shared, and shared by a generic address.
    mov.u32 %s, sums;
    atom.shared.add.noftz.f16 %old3, [%s+2], %one;
    red.shared.add.noftz.bf16 [%s+4], %bone;
    atom.shared.add.noftz.bf16x2 %y, [%s+8], %k2;
    cvta.shared.u64 %g, sums;
    red.add.noftz.f16 [%g+14], %two;
    red.add.noftz.f16x2 [%g+16], %k3;
    // Half of the threads: a guard around a loop.
    and.b32 %y, %t, 1; setp.eq.u32 %half, %y, 0;
    @%half red.shared.add.noftz.f16 [%s+20], %one;
    bar.sync 0;
    mul.wide.u32 %g, %t, 4; add.u64 %o, %o, %g;
    st.global.b16 [%o], %old0; st.global.b16 [%o+2], %old3;
    shl.b32 %x, %t, 2; setp.lt.u32 %p, %t, 8;
    add.u32 %s, %s, %x;
    @%p ld.shared.b32 %y, [%s];
    mul.wide.u32 %g, %t, 4; add.u64 %c, %c, %g;
    @%p st.global.b32 [%c+32], %y;
    ret;
}
";

fn launch() -> Launch {
    let buffer =
        |size| Argument::Buffer(Buffer { bytes: vec![0; size], writable: true, output: None });
    Launch {
        entry: "k".into(),
        grid: [1, 1, 1],
        block: [u32::from(THREADS), 1, 1],
        cluster: None,
        dynamic_shared: 0,
        args: vec![buffer(64), buffer(4 * usize::from(THREADS))],
    }
}

/// Small whole numbers as f16 and bf16.
fn f16(x: u16) -> u16 {
    if x == 0 { 0 } else { (15 + x.ilog2() as u16) << 10 | (x << (10 - x.ilog2())) & 0x3ff }
}

fn bf16(x: u16) -> u16 {
    (f32::from(x).to_bits() >> 16) as u16
}

fn check(what: &str, buffers: &[Vec<u8>]) {
    let halves = |bytes: &[u8]| -> Vec<u16> {
        bytes.chunks_exact(2).map(|c| u16::from_le_bytes([c[0], c[1]])).collect()
    };
    let (n, m) = (THREADS, 2 * THREADS);
    let counters = halves(&buffers[0]);
    let global = [bf16(n), f16(n), f16(n), f16(m), bf16(m), bf16(n), 0, 0];
    assert_eq!(counters[..8], global, "{what}: global");
    assert_eq!(counters[8..12], [f16(n), f16(m), f16(n), f16(m)], "{what}: a vector");
    assert_eq!(counters[12..14], [0x3f80, 0x3c00], "{what}: the greatest of a vector");
    let shared =
        [0, f16(n), bf16(n), 0, bf16(n), bf16(n), 0, f16(m), f16(m), f16(n), f16(n / 2), 0];
    assert_eq!(counters[16..28], shared, "{what}: shared");
    // Every value that a counter had was seen by one thread.
    let olds = halves(&buffers[1]);
    for first in 0..2 {
        let mut seen: Vec<u16> = olds.iter().skip(first).step_by(2).copied().collect();
        seen.sort_unstable();
        assert_eq!(seen, (0..n).map(f16).collect::<Vec<_>>(), "{what}: old values");
    }
}

#[test]
fn atomics_on_halves_count_exactly() {
    let program = orias::ptx::load(KERNEL).unwrap_or_else(|e| panic!("{}", e.render("k", KERNEL)));
    let interpreted = orias::interpret::run(&program, KERNEL, &launch()).expect("it runs");
    check("interpreter", &interpreted.buffers);
    for opt_level in 0..=3 {
        let options = CompileOptions { opt_level, ..CompileOptions::default() };
        let cubin = compile_source(KERNEL, &options).unwrap_or_else(|e| panic!("{e}")).cubin;
        let limits = Limits { hazards: Hazards::Find, ..Limits::default() };
        let outcome = orias::simulate::simulate(&cubin, &launch(), limits);
        let outcome = outcome.unwrap_or_else(|e| panic!("-O{opt_level}: {e}"));
        check(&format!("-O{opt_level}"), &outcome.buffers);
        assert!(outcome.hazards.is_empty(), "-O{opt_level}: {:?}", outcome.hazards);
    }
}
