//! The program `orias-gpu`, on machines with a GPU and on those without.

use std::io::Write;
use std::process::{Command, Stdio};

const KERNEL: &str = "\
.version 8.0
.target sm_90a
.address_size 64
.visible .entry answer(.param .u64 to) {
    .reg .u64 %rd<3>;
    .reg .u32 %r<2>;
    ld.param.u64 %rd1, [to];
    cvta.to.global.u64 %rd2, %rd1;
    mov.u32 %r1, 42;
    st.global.u32 [%rd2], %r1;
    ret;
}
";

#[test]
fn a_cubin_from_standard_input_runs_or_what_is_missing_is_said() {
    let options = orias::driver::CompileOptions::default();
    let cubin = orias::driver::compile_source(KERNEL, &options).expect("it compiles").cubin;
    let to = std::env::temp_dir().join(format!("orias-gpu-{}.bin", std::process::id()));
    let mut child = Command::new(env!("CARGO_BIN_EXE_orias-gpu"))
        .args(["answer.cubin", "--entry", "answer", "--grid", "1", "--block", "1", "--arg"])
        .arg(format!("out=4:{}", to.display()))
        .stdin(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("it starts");
    child.stdin.take().expect("a pipe").write_all(&cubin).expect("it reads all");
    let ended = child.wait_with_output().expect("it ends");
    if ended.status.success() {
        let result = std::fs::read(&to).expect("it wrote the buffer");
        std::fs::remove_file(&to).expect("the buffer's file");
        assert_eq!(result, 42u32.to_le_bytes());
    } else {
        let said = String::from_utf8_lossy(&ended.stderr);
        let missing = ["no CUDA driver", "finds no GPU", "the GPU is an sm_"];
        assert!(missing.iter().any(|text| said.contains(text)), "{said}");
    }
}
