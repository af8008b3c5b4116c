//! A module whose bodies several threads read is the one that a single thread reads, and what is
//! wrong with one is said in the same words and order.

use orias::driver::{CompileOptions, compile_source};
use orias::ptx;
use orias::ptx::program::Program;
use orias_runner::oracle::workspace;
use rayon::{ThreadPool, ThreadPoolBuilder};
use std::fmt::Write;

const HEAD: &str = ".version 9.0\n.target sm_90a\n.address_size 64\n";

fn pools() -> Vec<ThreadPool> {
    let pool = |threads| ThreadPoolBuilder::new().num_threads(threads).build().expect("threads");
    [2, 3].map(pool).into()
}

/// All of a program, but for where its lists of operands are cut.
fn said(program: &Program<'_>) -> String {
    let mut text = format!(
        "{:?} {} {:?} {}\n{:?}\n{:?}\n{:?}\n{:?}\n{:?}\n{:?}\n",
        program.version,
        program.target,
        program.target_options,
        program.address_size,
        program.vars,
        program.owned,
        program.files,
        program.aliases,
        program.sections,
        program.warnings
    );
    for f in &program.functions {
        let head = (f.name, f.entry, f.linkage, &f.returns, &f.params, &f.directives, f.span);
        let body = (&f.regs, &f.labels, &f.branch_targets, &f.call_targets, &f.prototypes);
        let _ = writeln!(text, "{head:?} {} {} {body:?}", f.defined, f.body.is_some());
        for (i, loc) in f.code.iter().zip(f.code.locs()) {
            let row = (&i.guard, &i.words, &i.operands, &i.span, loc);
            let _ = writeln!(text, "{row:?}");
        }
    }
    text
}

/// Whether threads read it without help, after comparing what they read.
fn same(source: &str, pools: &[ThreadPool]) -> bool {
    let alone = ptx::load(source).map(|program| said(&program));
    let apart = |pool: &ThreadPool| pool.install(|| ptx::load_apart(source).map(|p| said(&p)));
    let all: Vec<Option<String>> = pools.iter().map(apart).collect();
    for one in all.iter().flatten() {
        assert!(alone.as_ref() == Ok(one), "{one}\n{}", alone.unwrap_or_default());
    }
    assert!(all.iter().all(|one| one.is_some() == all[0].is_some()));
    all[0].is_some()
}

/// Functions and kernels with variables of all spaces of their own, calls of what comes before and
/// after, names that others have too, and braces where they are no braces.
fn module(count: usize) -> String {
    let mut text = format!(
        "{HEAD}.file 1 \"a{{b.cu\"\n.extern .global .u64 table;\n\
         .extern .func ahead(.param .b32 a);\n\
         .func (.param .b32 r) last(.param .b32 a, .reg .b32 b);\n"
    );
    for i in 0..count {
        let _ = writeln!(
            text,
            ".global .align 8 .u64 g{i}[2] = {{table, last}}; /* }} {{ */ // {{ .entry\n\
             .func (.param .b32 r) f{i}(.param .b32 a, .reg .b32 %x)\n{{\n\
             .reg .b32 %r<9>; .reg .b64 %d<4>; .local .align 4 .b8 stack[{}]; .shared .b32 s;\n\
             ld.param.b32 %r1, [a]; // }}\n\
             mov.b64 %d1, g{i}; mov.b64 %d2, stack; st.local.b32 [stack + 4], %x;\n\
             {{ .param .b32 a; .param .b32 out; .shared .b64 s[3]; /* {{ */ .reg .b32 %r<3>;\n\
             st.param.b32 [a], %r1; st.shared.b64 [s + 8], %d1;\n\
             call (out), last, (a, %x); ld.param.b32 %r2, [out]; }}\n\
             p: .callprototype (.param .b32 _) _ (.param .b32 _, .reg .b32 _);\n\
             {{ .param .b32 q; .param .b32 out; st.param.b32 [q], %r1;\n\
             call (out), %d1, (q, %x), p; }}\n\
             .pragma \"{{nounroll\";\n\
             t: .branchtargets end, more;\nbrx.idx %r1, t;\nmore:\nst.shared.b32 [s], %r1;\n\
             end: st.param.b32 [r], %r1; ret;\n}}",
            16 + 4 * i
        );
        let _ = writeln!(
            text,
            ".visible .entry k{i}(.param .u64 p, .param .align 16 .b8 q[{}]) .maxntid 32, 1, 1\n\
             .pragma \"}}\"; {{ .reg .b32 %r<9>; .reg .b64 %d<3>;\n\
             .global .b64 one; .global .u64 own[2] = {{g{i}, one}}; .shared .align 16 .b8 s[64];\n\
             ld.param.u64 %d1, [p]; mov.b64 %d2, own; ld.global.v2.b32 {{%r1, %r2}}, [g{i}];\n\
             {{ .param .b32 a; .param .b32 o; .reg .b32 %x; mov.b32 %x, 3;\n\
             st.param.b32 [a], %r1; call (o), f{i}, (a, %x); ld.param.b32 %r3, [o]; }}\n\
             st.shared.b32 [s + 4], %r3; ret; }}",
            16 + i
        );
        if i == count / 2 {
            text += ".global .u64 table = k0; .global .b32 after;\n.func ahead(.param .b32 a);\n";
        }
    }
    text += ".func (.param .b32 r) last(.param .b32 a, .reg .b32 b)\n\
             { .reg .b64 %d; mov.b64 %d, after; st.param.b32 [r], b; ret; }\n\
             .alias g, last;\n.section .debug_str { .b8 1, 2, 3 }\n";
    text
}

#[test]
fn threads_make_the_program_that_one_makes() {
    let pools = pools();
    assert!(same(&module(4), &pools));
    assert!(same(&module(40), &pools));
    // Few bodies, one that is much of the module, and one that is most of it.
    assert!(!same(&module(2), &pools));
    let with_another = |adds: usize| {
        let adds = "add.u32 %r1, %r1, 1;\n".repeat(adds);
        format!("{}.entry z() {{ .reg .b32 %r<2>; {adds} }}\n", module(4))
    };
    assert!(same(&with_another(200), &pools));
    assert!(!same(&with_another(2000), &pools));
    // Variables that are made where they are first used.
    let ranges = format!("{}.global .b32 v<4>;\n", module(4));
    assert!(!same(&ranges, &pools));
}

#[test]
fn errors_are_left_to_one() {
    let pools = pools();
    let good = module(6);
    let places = ["ret;", "{ .reg", "st.param", "more:", ".shared .b32 s;", "}\n", "table", "\"{"];
    let wrong =
        ["x y;", "}", "{", "\"", "/*", "bra none;", ".shared .b32 s; .shared .b32 s;", "1<2>"];
    for place in places {
        let at: Vec<usize> = good.match_indices(place).map(|(at, _)| at).collect();
        for new in wrong {
            for few in [&at[at.len() / 2..][..1], &[at[0], at[at.len() - 1]][..]] {
                let mut text = good.clone();
                few.iter().rev().for_each(|at| text.insert_str(*at, new));
                // What it leads to may be no error.
                if same(&text, &pools) {
                    assert!(ptx::load(&text).is_ok(), "{new} before {place}");
                }
            }
        }
    }
    // A name that comes too late, and names that are there already.
    for (old, new) in [("mov.b64 %d1, g2", "mov.b64 %d1, g3"), ("f3(", "f2("), (" k4(", " g4(")] {
        assert!(good.contains(old));
        let text = good.replace(old, new);
        assert!(ptx::load(&text).is_err() && !same(&text, &pools), "{new}");
    }
    // Braces of bodies that were never opened or closed.
    for end in [good.len() / 3, good.len() / 2, good.len() - 40] {
        let end = good[..end].rfind('\n').expect("lines");
        same(&good[..end], &pools);
        same(&format!("{}\n}}\n{}", &good[..end], &good[end..]), &pools);
    }
    same(&good.replacen(".file", "@@DWARF { \"\n.file", 1), &pools);
}

/// Each file of the corpus as many times as makes it a module of several functions.
#[test]
fn corpus_files_are_read_apart() {
    let pools = pools();
    let mut apart = 0;
    let folders = std::fs::read_dir(workspace().join("tests/corpus")).expect("the corpus");
    let mut folders: Vec<_> = folders.map(|entry| entry.expect("an entry").path()).collect();
    folders.sort();
    for folder in folders.into_iter().filter(|folder| folder.is_dir()) {
        let name = folder.file_name().and_then(|name| name.to_str()).expect("a name");
        let Ok(text) = std::fs::read_to_string(folder.join(format!("{name}.ptx"))) else {
            continue;
        };
        let program = ptx::load(&text).expect("a good module");
        let mut names: Vec<&str> = program.functions.iter().map(|f| f.name).collect();
        let of_module = program.vars.iter().filter(|v| v.owner().is_none());
        names.extend(of_module.map(|v| program.name(v)));
        let begin = text.find(".address_size 64").expect("a head") + 16;
        let mut all = text[..begin].to_string();
        for copy in 0..9 {
            let is_word = |c: char| c.is_alphanumeric() || "_$.%".contains(c);
            for part in text[begin..].split_inclusive(|c| !is_word(c)) {
                let word = part.trim_end_matches(|c| !is_word(c));
                all += word;
                if names.contains(&word) {
                    let _ = write!(all, "_{copy}");
                }
                all += &part[word.len()..];
            }
        }
        apart += usize::from(same(&all, &pools));
        // Names that are there already.
        assert!(!same(&format!("{all}{}", &text[begin..].repeat(2)), &pools), "{name}");
    }
    assert!(apart > 40, "{apart}");
}

/// Through the compiler, which has a module read so where it is large.
#[test]
fn a_large_module_has_one_file_for_any_number_of_threads() {
    let mut text = HEAD.to_string();
    let adds = "add.u32 %r1, %r1, %r2;\n".repeat(600);
    for i in 0..20 {
        let _ = write!(
            text,
            ".visible .entry k{i}(.param .u64 p) {{ .reg .b32 %r<3>; .reg .b64 %d<2>;\n\
             .shared .b32 s[{i}1]; .global .b32 g = {i};\n\
             ld.param.u64 %d1, [p]; ld.global.b32 %r1, [%d1]; ld.shared.b32 %r2, [s + 4];\n\
             {adds} st.global.b32 [%d1], %r1; ret; }}\n"
        );
    }
    assert!(text.len() > 1 << 18 && same(&text, &pools()));
    let file = |threads| {
        let options = CompileOptions { threads, opt_level: 0, ..Default::default() };
        compile_source(&text, &options).expect("a good module").cubin
    };
    let one = file(1);
    assert!([2, 3].iter().all(|threads| file(*threads) == one));
    // Errors of several bodies come in the order of the text.
    let wrong = text.replacen("[s + 4]", "[t]", 3).replace(".entry k9(", ".entry k8(");
    let said = |threads| {
        let options = CompileOptions { threads, ..Default::default() };
        compile_source(&wrong, &options).err().map(|errors| errors.render("t.ptx", &wrong))
    };
    let one = said(1);
    assert!(one.is_some() && [2, 3].iter().all(|threads| said(*threads) == one));
}
