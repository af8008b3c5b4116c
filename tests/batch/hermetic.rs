//! A compile reads its input and writes its output, and nothing else has a part in it: no
//! environment, no folder that it is called in, no file elsewhere. So a build system may run it
//! anywhere.

use super::*;
use orias_runner::skip::skip;

/// Programs of one file and of many, both asked for the same file.
fn compiles(output: &Path) -> [(Command, PathBuf); 2] {
    let input = ptx("sha256");
    let one = output.join("one.cubin");
    let mut single = support::orias();
    single.arg(&input).arg("-o").arg(&one);
    let mut many = batch(output);
    many.arg(&input);
    [(single, one), (many, output.join("sha256.cubin"))]
}

fn expected() -> Vec<u8> {
    let source = std::fs::read_to_string(ptx("sha256")).expect("PTX");
    orias::Compiler::new(Default::default()).compile(&source).expect("it compiles").cubin
}

#[test]
fn an_empty_environment_and_another_folder_do_not_show() {
    let (scratch, elsewhere) = (Scratch::new(), Scratch::new());
    for (mut command, output) in compiles(scratch.folder()) {
        succeed(command.env_clear().current_dir(elsewhere.folder()));
        assert!(std::fs::read(&output).expect("a cubin") == expected(), "{}", output.display());
    }
    assert!(files(elsewhere.folder()).is_empty(), "nothing is written where it is called");
}

#[test]
fn what_an_environment_may_say_does_not_show() {
    let scratch = Scratch::new();
    for (mut command, output) in compiles(scratch.folder()) {
        for (name, value) in [
            ("LANG", "tr_TR.UTF-8"),
            ("LC_ALL", "C"),
            ("RAYON_NUM_THREADS", "3"),
            ("MIMALLOC_VERBOSE", "1"),
            ("SOURCE_DATE_EPOCH", "1"),
            ("TZ", "Asia/Tokyo"),
        ] {
            command.env(name, value);
        }
        succeed(&mut command);
        assert!(std::fs::read(&output).expect("a cubin") == expected(), "{}", output.display());
    }
}

#[test]
fn no_file_is_made_but_the_outputs() {
    let (scratch, temporary) = (Scratch::new(), Scratch::new());
    for (mut command, _) in compiles(scratch.folder()) {
        for name in ["TMPDIR", "TEMP", "TMP", "HOME", "XDG_CACHE_HOME"] {
            command.env(name, temporary.folder());
        }
        succeed(&mut command);
    }
    assert!(files(temporary.folder()).is_empty());
    let names: Vec<PathBuf> = files(scratch.folder()).into_keys().collect();
    assert_eq!(names, ["one.cubin", "sha256.cubin"].map(PathBuf::from));
}

/// Makes all file systems read-only but one folder, for the rest of the script, and checks that.
const READ_ONLY: &str = r#"
mount --bind "$0" "$0" || exit 77
while read -r _ _ _ _ at _; do
    [ "$at" = "$0" ] || mount -o remount,bind,ro "$at" 2>/dev/null || true
done < /proc/self/mountinfo
for folder in / /tmp "$(dirname "$0")"; do
    if touch "$folder/orias-probe" 2>/dev/null; then rm "$folder/orias-probe"; exit 77; fi
done
cd / && exec env -i "$@"
"#;

#[test]
fn only_the_folder_of_the_output_need_be_writable() {
    let scratch = Scratch::new();
    for (command, output) in compiles(scratch.folder()) {
        let mut apart = Command::new("unshare");
        apart.args(["--user", "--map-root-user", "--mount", "sh", "-c", READ_ONLY]);
        apart.arg(scratch.folder()).arg(command.get_program()).args(command.get_args());
        let Ok(run) = apart.output() else { return skip("no unshare on this machine") };
        let text = String::from_utf8_lossy(&run.stderr).into_owned();
        if run.status.code() == Some(77) || text.contains("unshare") {
            return skip(&format!("file systems cannot be made read-only here: {}", text.trim()));
        }
        assert!(run.status.success(), "{text}");
        assert!(std::fs::read(&output).expect("a cubin") == expected(), "{}", output.display());
    }
}
