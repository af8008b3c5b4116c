//! `--write-profile` and `--use-profile`: what was seen of a run, and code by it.

use super::orias;
use crate::support::Scratch;
use std::fs;

/// A kernel in whose loop a way stands that is taken where a number is 99, and calls nothing.
const PTX: &str = "
.version 9.0
.target sm_90a
.address_size 64
.visible .entry walk(.param .u64 p, .param .u32 n)
{
    .reg .pred %p<4>; .reg .b32 %r<10>; .reg .b64 %rd<5>;
    ld.param.u64 %rd1, [p]; ld.param.u32 %r1, [n];
    mov.u32 %r2, %tid.x; mul.wide.u32 %rd2, %r2, 4; add.s64 %rd3, %rd1, %rd2;
    mov.u32 %r5, 0;
LOOP:
    ld.global.u32 %r3, [%rd3];
    setp.ne.s32 %p1, %r3, 99; @%p1 bra ON;
    atom.global.add.u32 %r7, [%rd1+128], %r3;
    mul.lo.u32 %r7, %r7, %r7;
    st.global.u32 [%rd1+132], %r7;
    bar.warp.sync 0xffffffff;
ON:
    add.u32 %r3, %r3, 2;
    st.global.u32 [%rd3], %r3;
    add.u32 %r5, %r5, 1; setp.lt.u32 %p2, %r5, %r1; @%p2 bra LOOP;
    ret;
}
";

/// Runs PTX or a cubin for twenty rounds, with more options; what the 34 numbers are then.
fn sim(scratch: &Scratch, file: &str, more: &[&str]) -> Vec<u8> {
    let out = scratch.path("out.bin");
    let out = format!("out=136:{out}");
    let launch = ["sim", file, "--entry", "walk", "--grid", "1", "--block", "32"];
    let args = ["--arg", &out, "--arg", "u32=20"];
    let output = orias(&[&launch[..], &args, more].concat());
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    fs::read(scratch.path("out.bin")).expect("its output")
}

fn compile(scratch: &Scratch, ptx: &str, options: &[&str]) -> (Option<Vec<u8>>, String) {
    let cubin = scratch.path("k.cubin");
    let _ = fs::remove_file(&cubin);
    let output = orias(&[options, &[ptx, "-o", &cubin]].concat());
    (fs::read(&cubin).ok(), String::from_utf8_lossy(&output.stderr).into_owned())
}

#[test]
fn what_a_run_did_not_come_to_stands_at_the_end() {
    let scratch = Scratch::new();
    let (ptx, profile) = (scratch.path("k.ptx"), scratch.path("k.prof"));
    fs::write(&ptx, PTX).expect("written");
    let expected = sim(&scratch, &ptx, &["--write-profile", &profile]);
    let text = fs::read_to_string(&profile).expect("a profile");
    assert!(text.contains("[[0,32],[6,640],[9,0],[13,640],[18,32]]"), "{text}");

    let (usual, _) = compile(&scratch, &ptx, &[]);
    let (made, said) = compile(&scratch, &ptx, &["--use-profile", &profile]);
    assert_eq!(said, "");
    let made = made.expect("a cubin");
    assert_ne!(usual, Some(made));
    let listing = orias(&["dis", &scratch.path("k.cubin")]);
    let listing = String::from_utf8_lossy(&listing.stdout).into_owned();
    let at = |what: &str| listing.find(what).unwrap_or_else(|| panic!("{what}: {listing}"));
    assert!(at("EXIT") < at("ATOMG"), "{listing}");
    assert_eq!(sim(&scratch, &scratch.path("k.cubin"), &["--hazards=deny"]), expected);
}

#[test]
fn a_profile_of_another_text_is_told_and_not_used() {
    let scratch = Scratch::new();
    let (ptx, profile) = (scratch.path("k.ptx"), scratch.path("k.prof"));
    fs::write(&ptx, PTX).expect("written");
    sim(&scratch, &ptx, &["--write-profile", &profile]);
    fs::write(&ptx, PTX.replace(", 99;", ", 98;")).expect("written");
    let (usual, _) = compile(&scratch, &ptx, &[]);
    let (made, said) = compile(&scratch, &ptx, &["--use-profile", &profile]);
    assert_eq!(made, usual);
    assert!(said.contains("warning") && said.contains("profile of function 'walk'"), "{said}");
}

#[test]
fn what_is_wrong_with_a_profile_has_its_place() {
    let scratch = Scratch::new();
    let (ptx, profile) = (scratch.path("k.ptx"), scratch.path("k.prof"));
    fs::write(&ptx, PTX).expect("written");
    fs::write(&profile, "\n{\"function\": 7}\n").expect("written");
    let (made, said) = compile(&scratch, &ptx, &["--use-profile", &profile]);
    assert!(made.is_none());
    for part in ["k.prof', line 2, column 14: not a profile: invalid type", "^"] {
        assert!(said.contains(part), "{said}");
    }
    let (made, said) = compile(&scratch, &ptx, &["--use-profile", "/no/such/file"]);
    assert!(made.is_none() && said.contains("cannot read '/no/such/file'"), "{said}");
    compile(&scratch, &ptx, &[]);
    let cubin = scratch.path("k.cubin");
    let launch = ["sim", &cubin, "--entry", "walk", "--grid", "1", "--block", "32"];
    let output = orias(&[&launch[..], &["--write-profile", &profile]].concat());
    assert_eq!(output.status.code(), Some(255));
    assert!(String::from_utf8_lossy(&output.stderr).contains("a profile is of PTX"));
}
