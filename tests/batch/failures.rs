//! What is wrong with one file is said of that file, and stops no other one.

use super::*;
use orias_runner::skip::skip;
use orias_speed::shapes;

/// Exit code of a batch in which something failed.
const FAILED: i32 = 255;

fn message(row: &Value) -> &str {
    row["messages"][0]["text"].as_str().expect("a message")
}

#[test]
fn a_file_that_cannot_be_read_or_is_no_ptx_fails_alone() {
    let (scratch, output) = (Scratch::new(), Scratch::new());
    let good = scratch.write("good.ptx", std::fs::read(ptx("vecadd")).expect("PTX"));
    let latin =
        b".version 8.0\n.target sm_90a\n.address_size 64\n// caf\xe9\n.global .u32 caf\xe9;\n";
    let latin = scratch.write("latin.ptx", latin);
    let missing = scratch.path("missing.ptx");
    let empty = scratch.write("empty.ptx", "");
    let below_a_file = format!("{good}/below.ptx");
    // A file that there is, and that may be opened, whose first byte cannot be read.
    let unreadable = "/proc/self/mem".to_string();
    let all = [&good, &latin, &missing, &empty, &below_a_file, &unreadable];
    let run = run(batch(output.folder()).arg("--json").args(all));
    assert_eq!(run.status.code(), Some(FAILED));
    let rows = rows(&run);
    assert_eq!(rows.len(), all.len(), "each has its result");
    assert_eq!(rows[&good]["status"], "compiled");
    assert!(all[1..].iter().all(|file| rows[*file]["status"] == "failed"));
    assert!(message(&rows[&missing]).starts_with("it could not be read: No such file"));
    assert!(message(&rows[&below_a_file]).starts_with("it could not be read: Not a directory"));
    assert!(message(&rows[&unreadable]).starts_with("it could not be read: "));
    let place = &rows[&latin]["messages"][0];
    assert_eq!((&place["line"], &place["column"]), (&5.into(), &17.into()), "not the comment");
    let names: Vec<PathBuf> = files(output.folder()).into_keys().collect();
    assert_eq!(names, ["good.cubin"].map(PathBuf::from));
}

#[test]
fn without_json_the_messages_stand_on_standard_error() {
    let (scratch, output) = (Scratch::new(), Scratch::new());
    let wrong = scratch.write("wrong.ptx", ".version 8.0\n.target sm_90a\nnonsense\n");
    let missing = scratch.path("missing.ptx");
    let run = run(batch(output.folder()).args([&wrong, &missing]).arg(ptx("vecadd")));
    let text = String::from_utf8(run.stderr).expect("UTF-8");
    assert!(run.stdout.is_empty());
    assert!(text.contains(&format!("--> {wrong}:3:1")), "{text}");
    assert!(text.contains(&format!("{missing}: error: it could not be read")), "{text}");
    assert!(text.contains("orias: 1 compiled, 2 failed"), "{text}");
    assert!(!text.contains(['\r', '\x1b']), "no bar where there is no terminal");
}

#[test]
fn an_output_that_cannot_be_written_fails_alone() {
    let output = Scratch::new();
    std::fs::create_dir_all(output.folder().join("vecadd.cubin").join("x")).expect("a folder");
    let run = run(batch(output.folder()).arg("--json").args([ptx("vecadd"), ptx("crc32")]));
    assert_eq!(run.status.code(), Some(FAILED));
    let rows = rows(&run);
    let failed = &rows[ptx("vecadd").to_str().expect("a name")];
    assert!(message(failed).contains("vecadd.cubin could not be written"), "{failed}");
    let names: Vec<PathBuf> = files(output.folder()).into_keys().collect();
    assert_eq!(names, ["crc32.cubin"].map(PathBuf::from), "and nothing half-written");
}

/// A module whose cubin has more than 300 kB.
fn large(scratch: &Scratch) -> String {
    scratch.write("large.ptx", shapes::find("kernels").expect("a shape").text(100))
}

#[test]
fn a_file_that_may_not_grow_fails_alone() {
    let (scratch, output) = (Scratch::new(), Scratch::new());
    let large = large(&scratch);
    let mut limited = Command::new("sh");
    // Of 512 or of 1024 bytes each.
    limited.args(["-c", "ulimit -f 64 && exec \"$0\" \"$@\"", env!("CARGO_BIN_EXE_orias")]);
    limited.args(batch(output.folder()).get_args()).arg("--json");
    let run = run(limited.arg(&large).args([ptx("vecadd"), ptx("crc32")]));
    assert_eq!(run.status.code(), Some(FAILED), "{}", String::from_utf8_lossy(&run.stderr));
    let rows = rows(&run);
    assert!(message(&rows[&large]).contains("could not be written: File too large"));
    let names: Vec<PathBuf> = files(output.folder()).into_keys().collect();
    assert_eq!(names, ["crc32.cubin", "vecadd.cubin"].map(PathBuf::from));
}

/// Puts a file system of 128 KB in the place of the outputs, and copies them away afterwards.
const SMALL_DISK: &str = r#"
mount -t tmpfs -o size=128k none "$0" || exit 77
kept="$1"; shift
"$@"; status=$?
cp -r "$0/." "$kept"
exit $status
"#;

#[test]
fn a_full_disk_fails_what_does_not_fit_and_nothing_else() {
    let (scratch, output, kept) = (Scratch::new(), Scratch::new(), Scratch::new());
    let large = large(&scratch);
    let mut command = batch(output.folder());
    // One after another: as long as the large one is written the disk is full for all.
    command.args(["--json", "-j", "1"]).arg(&large).args([ptx("vecadd"), ptx("crc32")]);
    let mut apart = Command::new("unshare");
    apart.args(["--user", "--map-root-user", "--mount", "sh", "-c", SMALL_DISK]);
    apart.args([output.folder(), kept.folder()]);
    apart.arg(command.get_program()).args(command.get_args());
    let Ok(run) = apart.output() else { return skip("no unshare on this machine") };
    let text = String::from_utf8_lossy(&run.stderr).into_owned();
    if run.status.code() == Some(77) || text.contains("unshare") {
        return skip(&format!("no small file system can be made here: {}", text.trim()));
    }
    assert_eq!(run.status.code(), Some(FAILED), "{text}");
    let rows = rows(&run);
    assert!(message(&rows[&large]).contains("could not be written: No space left"));
    let names: Vec<PathBuf> = files(kept.folder()).into_keys().collect();
    assert_eq!(names, ["crc32.cubin", "vecadd.cubin"].map(PathBuf::from));
}
