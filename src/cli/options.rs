//! The command line of ptxas: its options' names, and one spelling for all the ways to write them.
//!
//! ptxas takes `--gpu-name sm_90a`, `--gpu-name=sm_90a`, `-arch sm_90a` and `-arch=sm_90a`, but no
//! `-gpu-name`; and `-O3` with its value attached. [`normalise`] gives each its long name. What
//! ptxas has and orias has not is an error or a warning here, never silently accepted. clap, which
//! reads the subcommands, makes the help text of these too, but does not read them: to tell it of
//! sixty options would take longer than to compile a small kernel's PTX.

use crate::input;
use std::fmt::Write;
use std::io::ErrorKind;
use std::path::Path;

/// Whether an option has a value.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Value {
    None,
    Required,
}

/// What orias does about an option of ptxas.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Support {
    Yes,
    /// Asks for what orias does anyway, or silences what it never says.
    Moot,
    /// Changes how good the code is or what it carries besides, not what it computes: a warning
    /// that says so.
    Warn(&'static str),
    /// The result would not be what was asked for.
    Error,
}

struct Known {
    long: &'static str,
    /// With a single dash.
    short: &'static str,
    value: Value,
    support: Support,
}

const fn flag(long: &'static str, short: &'static str, support: Support) -> Known {
    Known { long, short, value: Value::None, support }
}

const fn valued(long: &'static str, short: &'static str, support: Support) -> Known {
    Known { long, short, value: Value::Required, support }
}

const HINT: Support = Support::Warn("is a hint that orias does not take: ignored");

/// Every option of ptxas 13.0.88 (`ptxas --help`), then those of orias alone.
#[rustfmt::skip]
static OPTIONS: &[Known] = &[
    valued("Ofast-compile", "Ofc", HINT),
    valued("allow-expensive-optimizations", "allow-expensive-optimizations", HINT),
    flag("compile-as-tools-patch", "astoolspatch", Support::Error),
    flag("compile-only", "c", Support::Error),
    flag("compiler-annotations", "annotate", Support::Warn("is not supported: no annotations are written")),
    valued("def-load-cache", "dlcm", Support::Yes),
    valued("def-store-cache", "dscm", Support::Yes),
    flag("device-debug", "g", Support::Error),
    valued("device-function-maxrregcount", "func-maxrregcount", Support::Moot),
    valued("device-stack-protector", "device-stack-protector", Support::Error),
    flag("disable-optimizer-constants", "disable-optimizer-consts", Support::Moot),
    flag("disable-warnings", "w", Support::Yes),
    flag("dont-merge-basicblocks", "no-bb-merge", Support::Warn("is not supported: blocks are merged")),
    valued("entry", "e", Support::Yes),
    flag("extensible-whole-program", "ewp", Support::Error),
    valued("fmad", "fmad", Support::Yes),
    valued("force-load-cache", "flcm", Support::Yes),
    valued("force-store-cache", "fscm", Support::Yes),
    flag("g-tensor-memory-access-check", "g-tmem-access-check", Support::Error),
    flag("generate-line-info", "lineinfo", Support::Yes),
    flag("gno-tensor-memory-access-check", "gno-tmem-access-check", Support::Moot),
    valued("gpu-name", "arch", Support::Yes),
    flag("help", "h", Support::Yes),
    valued("input-as-string", "ias", Support::Yes),
    flag("legacy-bar-warp-wide-behavior", "legacy-bar-warp-wide-behavior", Support::Moot),
    flag("list-version", "version-ls", Support::Yes),
    valued("machine", "m", Support::Yes),
    flag("make-errors-visible-at-exit", "make-errors-visible-at-exit", Support::Error),
    valued("maxntid", "maxntid", Support::Yes),
    valued("maxrregcount", "maxrregcount", Support::Yes),
    valued("minnctapersm", "minnctapersm", Support::Yes),
    valued("opt-level", "O", Support::Yes),
    flag("optimize-float-atomics", "opt-fp-atomics", HINT),
    valued("options-file", "optf", Support::Yes),
    valued("output-file", "o", Support::Yes),
    flag("override-directive-values", "override-directive-values", Support::Yes),
    // Whole programs always are.
    valued("position-independent-code", "pic", Support::Moot),
    flag("preserve-relocs", "preserve-relocs", Support::Error),
    valued("register-usage-level", "regUsageLevel", HINT),
    valued("regAllocOptLevel", "regAllocOptLevel", HINT),
    flag("return-at-end", "ret-end", Support::Warn("is not supported: the last return is optimized")),
    valued("sanitize", "sanitize", Support::Error),
    flag("sp-bounds-check", "sp-bounds-check", Support::Warn("is not supported: the stack pointer is not checked")),
    valued("split-compile", "split-compile", Support::Yes),
    flag("suppress-async-bulk-multicast-advisory-warning", "suppress-async-bulk-multicast-advisory-warning", Support::Moot),
    flag("suppress-debug-info", "suppress-debug-info", Support::Yes),
    flag("suppress-double-demote-warning", "suppress-double-demote-warning", Support::Moot),
    flag("suppress-sparse-mma-advisory-info", "suppress-sparse-mma-advisory-info", Support::Moot),
    flag("suppress-stack-size-warning", "suppress-stack-size-warning", Support::Moot),
    flag("verbose", "v", Support::Yes),
    flag("version", "V", Support::Yes),
    flag("warn-on-double-precision-use", "warn-double-usage", Support::Yes),
    flag("warn-on-local-memory-usage", "warn-lmem-usage", Support::Yes),
    flag("warn-on-spills", "warn-spills", Support::Yes),
    flag("warning-as-error", "Werror", Support::Yes),
    // orias alone; `knob` and the lists may be repeated.
    valued("dump-ir", "", Support::Yes),
    valued("disable-phase", "", Support::Yes),
    valued("phase-limit", "", Support::Yes),
    valued("stat", "", Support::Yes),
    valued("stat-format", "", Support::Yes),
    valued("trace", "", Support::Yes),
    valued("knob", "", Support::Yes),
    valued("recipes", "", Support::Yes),
    valued("use-profile", "", Support::Yes),
    flag("verify-each", "", Support::Yes),
];

/// Options that may be given more than once, each adding to the others.
const REPEATABLE: [&str; 7] =
    ["dump-ir", "disable-phase", "entry", "knob", "options-file", "recipes", "use-profile"];

/// Options files may name options files, so many deep, and so many in all: their number could grow
/// with each level.
const MAX_DEPTH: u32 = 16;
const MAX_OPTIONS_FILES: u32 = 256;

/// Bytes of an options file at most.
const MAX_BYTES: u64 = 1 << 20;

/// What [`normalise`] makes of a command line.
#[derive(Default, Debug, PartialEq, Eq)]
pub struct Normalised {
    /// Long names, without dashes, and values, in order.
    pub options: Vec<(&'static str, Option<String>)>,
    /// Files, in order.
    pub inputs: Vec<String>,
    /// Messages without `ptxas warning : `.
    pub warnings: Vec<String>,
}

/// Gives every option its long name. An error is ptxas's message without `ptxas fatal   : `.
pub fn normalise(args: &[String]) -> Result<Normalised, String> {
    let mut state = State::default();
    let words: Vec<Word> = args.iter().map(|text| Word { text: text.clone(), line: 0 }).collect();
    state.read(&words, 0).map_err(|(_, error)| error)?;
    Ok(state.read)
}

#[derive(Default)]
struct State {
    read: Normalised,
    /// How many options files were opened.
    files: u32,
}

/// A word of the command line or of an options file, in whose line it ends.
#[derive(Debug, PartialEq, Eq)]
struct Word {
    text: String,
    line: usize,
}

impl State {
    /// An error comes with the line of its word.
    fn read(&mut self, words: &[Word], depth: u32) -> Result<(), (usize, String)> {
        let mut rest = words.iter();
        while let Some(Word { text: arg, line }) = rest.next() {
            let at = |error| (*line, error);
            let Some((known, attached)) = recognise(arg).map_err(at)? else {
                self.read.inputs.push(arg.clone());
                continue;
            };
            let typed = arg.split('=').next().unwrap_or(arg);
            let value = match (known.value, attached) {
                (Value::None, None) => None,
                (Value::None, Some(_)) => {
                    return Err(at(format!("no argument expected after '{typed}'")));
                }
                (Value::Required, Some(value)) => Some(value),
                (Value::Required, None) => match rest.next() {
                    Some(value) => Some(value.text.clone()),
                    None => return Err(at(format!("argument expected after '{typed}'"))),
                },
            };
            self.option(known, value, depth).map_err(at)?;
        }
        Ok(())
    }

    fn option(
        &mut self,
        known: &'static Known,
        value: Option<String>,
        depth: u32,
    ) -> Result<(), String> {
        match known.support {
            Support::Error if asks_for_default(known.long, value.as_deref()) => return Ok(()),
            Support::Error => {
                return Err(format!("Option '{}' is not supported by orias yet", known.long));
            }
            Support::Moot => return Ok(()),
            Support::Warn(why) => {
                self.read.warnings.push(format!("Option '{}' {why}", known.long));
                return Ok(());
            }
            Support::Yes => {}
        }
        let long = known.long;
        if let ("options-file", Some(file)) = (long, &value) {
            return self.options_file(file, depth);
        }
        let options = &mut self.read.options;
        if !REPEATABLE.contains(&long)
            && let Some(at) = options.iter().position(|(name, _)| *name == long)
            && options.remove(at).1 != value
        {
            self.read.warnings.push(format!(
                "incompatible redefinition for option '{long}', the last value of this option was used"
            ));
        }
        self.read.options.push((long, value));
        Ok(())
    }

    fn options_file(&mut self, file: &str, depth: u32) -> Result<(), String> {
        self.files += 1;
        if depth >= MAX_DEPTH || self.files > MAX_OPTIONS_FILES {
            return Err(format!("Too many options file opened '{file}'"));
        }
        let bytes =
            input::read(Path::new(file), MAX_BYTES).map_err(|error| match error.kind() {
                ErrorKind::Other => format!("Could not open options file '{file}': {error}"),
                _ => format!("Could not open options file '{file}'"),
            })?;
        let at = |(line, error)| format!("{error} (options file '{file}', line {line})");
        let text = std::str::from_utf8(&bytes).map_err(|error| {
            let before = &bytes[..error.valid_up_to()];
            let line = 1 + before.iter().filter(|byte| **byte == b'\n').count();
            at((line, "Bytes that are no UTF-8".to_string()))
        })?;
        self.read(&split_words(text).map_err(at)?, depth + 1).map_err(at)
    }
}

/// A value that asks for what is the case anyway.
fn asks_for_default(long: &str, value: Option<&str>) -> bool {
    matches!((long, value), ("device-stack-protector", Some("false")))
}

/// The option that an argument is, and the value after its `=`; None is an input.
fn recognise(arg: &str) -> Result<Option<(&'static Known, Option<String>)>, String> {
    let Some(name) = arg.strip_prefix('-').filter(|name| !name.is_empty()) else {
        return Ok(None);
    };
    let (name, value) = match name.split_once('=') {
        Some((name, value)) => (name, Some(value.to_string())),
        None => (name, None),
    };
    let found = match name.strip_prefix('-') {
        Some(long) => OPTIONS.iter().find(|known| known.long == long),
        None => OPTIONS.iter().find(|known| known.short == name),
    };
    if let Some(known) = found {
        return Ok(Some((known, value)));
    }
    // `-O3`, `-m64`: the value is attached.
    for short in ["O", "m"] {
        if let Some(number) = name.strip_prefix(short).filter(|_| value.is_none())
            && number.bytes().all(|b| b.is_ascii_digit())
        {
            let known = OPTIONS.iter().find(|known| known.short == short);
            return Ok(known.map(|known| (known, Some(number.to_string()))));
        }
    }
    Err(format!("Unknown option '{name}'"))
}

/// The words of an options file: separated by blanks, double quotes keep blanks. As ptxas 13.0.88
/// does it, a backslash takes away what a blank or quote behind it means, and such a quote with it.
/// An error comes with its line.
fn split_words(text: &str) -> Result<Vec<Word>, (usize, String)> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut quote = None;
    let mut line = 1;
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        match c {
            '\\' => {
                let Some(next) = chars.next() else {
                    return Err((line, "Stray '\\' character".to_string()));
                };
                line += usize::from(next == '\n');
                word.get_or_insert_default().extend(Some(next).filter(|next| *next != '"'));
            }
            '"' => {
                quote = if quote.is_none() { Some(line) } else { None };
                word.get_or_insert_default();
            }
            c if quote.is_none() && c.is_whitespace() => {
                words.extend(word.take().map(|text| Word { text, line }));
                line += usize::from(c == '\n');
            }
            c => {
                word.get_or_insert_default().push(c);
                line += usize::from(c == '\n');
            }
        }
    }
    if let Some(line) = quote {
        return Err((line, "Stray '\"' character".to_string()));
    }
    words.extend(word.map(|text| Word { text, line }));
    Ok(words)
}

/// One option of ptxas a line that orias refuses or ignores: for `--help`.
pub fn unsupported() -> String {
    let mut text = String::new();
    for known in OPTIONS {
        let what = match known.support {
            Support::Error => "error: not supported yet",
            Support::Warn(why) => why,
            _ => continue,
        };
        let _ = writeln!(text, "  --{:<32} {what}", known.long);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::Cli;
    use crate::cli::compile::CompileArgs;
    use clap::{CommandFactory, Parser};

    fn read(line: &str) -> Result<Normalised, String> {
        let words = split_words(line).expect("words");
        normalise(&words.into_iter().map(|word| word.text).collect::<Vec<_>>())
    }

    fn args(line: &str) -> String {
        text(&read(line).unwrap())
    }

    fn text(read: &Normalised) -> String {
        let option = |(long, value): &(&str, Option<String>)| match value {
            Some(value) => format!("--{long}={value} "),
            None => format!("--{long} "),
        };
        let options: String = read.options.iter().map(option).collect();
        [options + "--"].into_iter().chain(read.inputs.clone()).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn every_way_to_write_an_option_is_one() {
        for line in ["-arch sm_90a", "-arch=sm_90a", "--gpu-name sm_90a", "--gpu-name=sm_90a"] {
            assert_eq!(args(line), "--gpu-name=sm_90a --");
        }
        for line in ["-O2", "-O 2", "-O=2", "--opt-level 2", "--opt-level=2"] {
            assert_eq!(args(line), "--opt-level=2 --");
        }
    }

    #[test]
    fn clients_command_lines_are_understood() {
        // Triton, XLA and clang (read from their sources).
        assert_eq!(
            args("--fmad=false -v --opt-level 0 --gpu-name=sm_90a k.ptx -o k.o"),
            "--fmad=false --verbose --opt-level=0 --gpu-name=sm_90a --output-file=k.o -- k.ptx"
        );
        assert_eq!(
            args("k.ptx -o k.cubin -arch=sm_90a --warn-on-spills -v -O0"),
            "--output-file=k.cubin --gpu-name=sm_90a --warn-on-spills --verbose --opt-level=0 -- k.ptx"
        );
        assert_eq!(
            args("-m64 -O3 -v --gpu-name sm_90a --output-file k.cubin k.ptx"),
            "--machine=64 --opt-level=3 --verbose --gpu-name=sm_90a --output-file=k.cubin -- k.ptx"
        );
        assert_eq!(args("-arch sm_90a -"), "--gpu-name=sm_90a -- -");
    }

    /// clap makes the help text, and would read the options as the help says.
    #[test]
    fn every_option_is_read_as_the_help_says() {
        let helped = |line: &[String]| {
            let line = std::iter::once("orias").chain(line.iter().map(|word| &**word));
            let read = Cli::try_parse_from(line).expect("clap has the option");
            format!("{:?}", read.compile)
        };
        let nothing = format!("{:?}", CompileArgs::default());
        assert_eq!(nothing, helped(&[]), "the defaults");
        let supported = || OPTIONS.iter().filter(|o| matches!(o.support, Support::Yes));
        for option in supported().filter(|o| !["help", "options-file"].contains(&o.long)) {
            let value = (option.value == Value::Required).then(|| "7".to_string());
            let word = match &value {
                Some(value) => format!("--{}={value}", option.long),
                None => format!("--{}", option.long),
            };
            let read = CompileArgs::new(vec![(option.long, value)], Vec::new());
            let read = format!("{:?}", read.expect("the option is known"));
            assert_ne!(read, nothing, "{word} changes nothing");
            assert_eq!(read, helped(&[word]));
        }
        for word in ["--entry=a,b", "--dump-ir=a,b", "--disable-phase=a,b", "--knob=A=1,2"] {
            let read = normalise(&[word.to_string()]).unwrap();
            let read = CompileArgs::new(read.options, read.inputs).unwrap();
            assert_eq!(format!("{read:?}"), helped(&[word.to_string()]));
        }
        let command = Cli::command();
        let names = command.get_arguments().filter_map(clap::Arg::get_long);
        let unread: Vec<&str> = names.filter(|n| supported().all(|o| o.long != *n)).collect();
        assert!(unread.is_empty(), "{unread:?}");
    }

    #[test]
    fn mistakes_are_told_in_ptxas_words() {
        for (line, message) in [
            ("--bogus", "Unknown option '-bogus'"),
            ("-bogus", "Unknown option 'bogus'"),
            ("-gpu-name sm_90a", "Unknown option 'gpu-name'"),
            ("-archsm_90a", "Unknown option 'archsm_90a'"),
            ("-arch", "argument expected after '-arch'"),
            ("-lineinfo=true", "no argument expected after '-lineinfo'"),
            ("-optf /no/such/file", "Could not open options file '/no/such/file'"),
        ] {
            assert_eq!(read(line).unwrap_err(), message, "{line}");
        }
    }

    #[test]
    fn what_is_not_supported_is_said() {
        assert!(read("-c k.ptx").unwrap_err().contains("'compile-only' is not supported"));
        assert!(read("-g k.ptx").unwrap_err().contains("'device-debug' is not supported"));
        assert!(read("-annotate k.ptx").unwrap().warnings[0].contains("no annotations"));
        assert_eq!(args("--device-stack-protector=false"), "--");
        assert!(read("--device-stack-protector=true").is_err());
    }

    #[test]
    fn the_last_of_two_values_counts_with_a_warning() {
        let twice = read("-O0 -O3").unwrap();
        assert_eq!(text(&twice), "--opt-level=3 --");
        assert_eq!(twice.warnings.len(), 1);
        assert!(read("-O3 -O3").unwrap().warnings.is_empty());
        assert_eq!(args("-e a -e b,c"), "--entry=a --entry=b,c --");
        assert_eq!(args("--knob A=1 --knob B=2"), "--knob=A=1 --knob=B=2 --");
    }

    #[test]
    fn quotes_and_backslashes_keep_blanks_together() {
        let words = |text: &str| {
            let words = split_words(text)?;
            Ok::<_, (usize, String)>(words.into_iter().map(|word| word.text).collect::<Vec<_>>())
        };
        assert_eq!(words("-v\n\t x\"y z\"w \"\"").unwrap(), ["-v", "xy zw", ""]);
        assert_eq!(words("'a b'").unwrap(), ["'a", "b'"], "other quotes are nothing");
        assert_eq!(words(r#"x\"y a\ b c\d "#).unwrap(), ["xy", "a b", "cd"]);
        assert_eq!(words("-v\n\n\"x\ny").unwrap_err(), (3, "Stray '\"' character".to_string()));
        assert_eq!(words("-v \\").unwrap_err(), (1, "Stray '\\' character".to_string()));
    }

    #[test]
    fn an_options_file_is_read_in_place() {
        let file = std::env::temp_dir().join(format!("orias-optf-{}", std::process::id()));
        std::fs::write(&file, "-arch sm_90a\n \"a b.ptx\" -O1").unwrap();
        let line = [format!("--options-file={}", file.display()), "-v".to_string()];
        let all = normalise(&line);
        std::fs::remove_file(&file).unwrap();
        let all = all.unwrap();
        assert_eq!(text(&all), "--gpu-name=sm_90a --opt-level=1 --verbose -- a b.ptx");
        assert_eq!(all.inputs, ["a b.ptx"]);
    }
}
