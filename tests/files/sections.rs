//! Our cubins beside ptxas's for the same PTX, by all that a loader reads
//! (`orias_isa::attributes`): differences that follow from other code have names there, with the
//! rule that each side keeps to; there must be no others. `orias-isa attributes` does the same over
//! any PTX.

use super::support::MODULES;
use orias_isa::attributes::run::{file, files};
use orias_isa::attributes::{Difference, differences, known};
use orias_isa::exceptions::group;
use orias_runner::folders::LINE;
use orias_runner::oracle;
use orias_targets::Target;
use std::path::PathBuf;

fn target() -> &'static Target {
    orias_targets::target("sm_90a").expect("the target of all tests")
}

/// Kernels of each kind of instruction whose places attributes list.
const KINDS: [&str; 7] = ["barrier", "mbarrier", "warp", "wmma", "wgmma", "mma_sp", "directive"];

#[test]
fn our_files_say_what_those_of_ptxas_say() {
    let Some(tool) = oracle::tool("ptxas") else { return };
    let tests = oracle::workspace().join("tests");
    let of_corpus = |name: &&str| tests.join("corpus").join(name).join(format!("{name}.ptx"));
    let of_kind = |name: &&str| tests.join("coverage/sm_90a").join(format!("{name}.ptx"));
    let more = ["bulk_mbarrier", "wmma_tile", "switch_sparse", "fnptr_table", "warp_votes"];
    let mut paths: Vec<PathBuf> = LINE.iter().chain(&more).map(of_corpus).collect();
    paths.extend(KINDS.iter().map(of_kind));
    paths.extend(
        ["system", "data"].map(|name| tests.join("engines/kernels").join(format!("{name}.ptx"))),
    );
    let report = files(&tool, target(), &paths, &[0, 3], false);
    assert!(report.left_out.is_empty(), "{:?}", report.left_out);
    assert_eq!(report.wrong(), [""; 0]);
}

#[test]
fn our_files_with_line_tables_say_what_those_of_ptxas_say() {
    let Some(tool) = oracle::tool("ptxas") else { return };
    let tests = oracle::workspace().join("tests");
    let paths: Vec<PathBuf> = LINE
        .iter()
        .map(|name| tests.join("corpus").join(name).join(format!("{name}.ptx")))
        .collect();
    let report = files(&tool, target(), &paths, &[0, 3], true);
    assert!(report.left_out.is_empty(), "{:?}", report.left_out);
    let mut known = known();
    let unknown = |(f, level, d): &&(String, u8, Difference)| !d.is_known(&mut known, f, *level);
    assert_eq!(report.found.iter().find(unknown), None);
}

#[test]
fn our_files_of_odd_modules_say_what_those_of_ptxas_say() {
    let Some(tool) = oracle::tool("ptxas") else { return };
    let (mut failures, mut known) = (Vec::new(), known());
    for (module, text) in MODULES {
        let text = format!(".version 9.0\n.target sm_90a\n.address_size 64\n{text}");
        for level in [0, 3] {
            match file(&tool, target(), &text, level, false) {
                Err(error) => failures.push(format!("{module} -O{level}: {error}")),
                Ok(found) => {
                    let unknown = |d: &Difference| !d.is_known(&mut known, module, level);
                    let unknown = found.into_iter().filter(unknown);
                    failures.extend(unknown.map(|d| format!("{module} -O{level}: {d:?}")));
                }
            }
        }
    }
    failures.extend(known.unused(|row| MODULES.iter().any(|(module, _)| group(module) == row[0])));
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

/// A comparison that finds nothing in two files of different PTX would find nothing anywhere.
#[test]
fn what_differs_is_found() {
    let Some(tool) = oracle::tool("ptxas") else { return };
    let cubin = |body: &str| {
        let text = format!(
            ".version 9.0\n.target sm_90a\n.address_size 64\n.visible .entry k(.param .u64 p)\n{{\n.reg .b32 %r<4>;\n.shared .align 8 .b64 bar;\n{body}\nret;\n}}\n"
        );
        orias_isa::reference::ptxas(&tool, "sm_90a", &text, &["-O3"]).expect("sound PTX")
    };
    let plain = cubin("");
    for (body, name) in [
        ("mbarrier.init.shared.b64 [bar], 1;", "presence of an attribute"),
        ("bar.sync 0;", "presence of an attribute"),
        ("fence.proxy.tensormap::generic.release.gpu;", "content"),
        ("mov.b32 %r0, %reserved_smem_offset_1; st.shared.b32 [bar], %r0;", "attributes"),
        ("st.shared.b32 [bar], 1;", "sections"),
    ] {
        let other = cubin(body);
        let found = differences(target(), (&plain, &other), 3, &[]).expect("both are cubins");
        assert!(found.iter().any(|d| d.name == name), "{body}: {found:?}");
    }
    assert_eq!(differences(target(), (&plain, &plain), 3, &[]), Ok(Vec::new()));
}
