//! The cubin reader on files of all kinds, damaged ones too.

use orias::elf::attribute::{self, Attribute, KernelParam};
use orias::elf::{Cubin, ReadError};
use orias_isa::reference;
use orias_runner::oracle;

#[test]
fn what_is_no_cubin_is_refused_with_a_reason() {
    assert!(matches!(Cubin::read(b""), Err(ReadError::NotElf(_))));
    assert!(matches!(Cubin::read(b"\x7fELF"), Err(ReadError::NotElf(_))));
    let mut x86 = vec![0u8; 64];
    x86[..7].copy_from_slice(b"\x7fELF\x02\x01\x01");
    x86[18] = 62;
    assert_eq!(Cubin::read(&x86).unwrap_err(), ReadError::NotCuda(62));
}

#[test]
fn attributes_survive_reading_and_writing() {
    let all = [
        Attribute::RegCount { symbol: 12, registers: 24 },
        Attribute::KernelParam(KernelParam {
            index: 0,
            ordinal: 3,
            offset: 0x18,
            size: 8,
            log_alignment: 4,
            space: 1,
            bank: 0x1f,
            in_shared: false,
        }),
        Attribute::ParamCbank { symbol: 13, offset: 0x210, size: 0x1c },
        Attribute::ExitOffsets(vec![0x70, 0x130]),
        Attribute::NumBarriers(1),
        Attribute::MaxRegCount(255),
        Attribute::WmmaUsed,
        Attribute::Raw { format: 3, code: attribute::code::UNNAMED_5F, value: vec![1, 1] },
        Attribute::Raw { format: 4, code: attribute::code::REGCOUNT, value: vec![1, 2, 3] },
    ];
    let mut bytes = Vec::new();
    for a in &all {
        a.encode(&mut bytes);
    }
    assert_eq!(Attribute::parse_all(&bytes).unwrap(), all);
    // Cut inside the last entry's value, and inside its head.
    assert!(Attribute::parse_all(&bytes[..bytes.len() - 1]).is_err());
    assert!(Attribute::parse_all(&bytes[..bytes.len() - 5]).is_err());
}

#[test]
fn names_are_those_of_cuobjdump() {
    assert_eq!(attribute::name(0x2f), Some("EIATTR_REGCOUNT"));
    assert_eq!(attribute::name(0x5f), None);
    assert_eq!(Attribute::ExitOffsets(vec![]).name(), Some("EIATTR_EXIT_INSTR_OFFSETS"));
}

/// xorshift64*: the same bytes on every machine.
struct Random(u64);

impl Random {
    fn next(&mut self, below: usize) -> usize {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        (self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 33) as usize % below.max(1)
    }
}

/// A file with everything in it that the reader takes apart.
fn sample() -> Vec<u8> {
    let source = ".version 9.0\n.target sm_90a\n.address_size 64
        .visible .global .align 8 .u64 g[4]={1,2,3}; .global .u64 p=generic(g); .const .u32 c=3;
        .visible .entry k(.param .u64 a, .param .u32 n) .maxntid 128 {
            .shared .align 8 .b8 s[64]; .reg .u64 %a; .reg .u32 %r;
            ld.param.u64 %a,[a]; ld.param.u32 %r,[n]; st.shared.u32 [s],%r; bar.sync 0;
            ld.shared.u32 %r,[s+4]; st.global.u32 [%a],%r; ret; }
        .visible .entry other(){ret;}";
    let options = orias::driver::CompileOptions::default();
    orias::driver::compile_source(source, &options).expect("the sample compiles").cubin
}

/// Reads everything that a file claims to have, as a loader would.
fn use_everything(file: &[u8]) -> Result<usize, ReadError> {
    let cubin = Cubin::read(file)?;
    let mut sum = 0;
    for function in &cubin.functions {
        sum += function.text.len() + function.params.len() + function.inner.len();
        sum += cubin.sections[function.section].data.len();
        sum += cubin.symbols[function.symbol].name.len();
        for (_, section) in &function.constants {
            sum += cubin.sections[*section].data.len();
        }
    }
    for section in &cubin.sections {
        for relocation in &section.relocations {
            sum += cubin.symbols[relocation.symbol].name.len();
            assert!(relocation.offset < section.size);
        }
    }
    Ok(sum)
}

#[test]
fn damaged_files_are_read_or_refused_but_never_panic() {
    let sample = sample();
    use_everything(&sample).expect("the sample itself is sound");
    let mut random = Random(0x0123_4567_89ab_cdef);
    let (mut read, mut refused) = (0, 0);
    for _ in 0..20_000 {
        let mut file = sample.clone();
        for _ in 0..=random.next(4) {
            // Headers and tables are a small part of the file: aim at them half of the time.
            let at = match random.next(4) {
                0 => random.next(64),
                1 => file.len() - 1 - random.next(1400),
                _ => random.next(file.len()),
            };
            match random.next(4) {
                0 => file[at] = random.next(256) as u8,
                1 => file[at] ^= 1 << random.next(8),
                2 => file[at] = [0, 1, 0x7f, 0x80, 0xff][random.next(5)],
                _ => {
                    let end = (at + random.next(9)).min(file.len());
                    file[at..end].fill(0xff);
                }
            }
        }
        if random.next(16) == 0 {
            file.truncate(random.next(file.len()));
        }
        match use_everything(&file) {
            Ok(_) => read += 1,
            Err(error) => {
                assert!(!error.to_string().is_empty());
                refused += 1;
            }
        }
    }
    // Damage to text or names goes unnoticed, damage to tables does not: both must happen a lot.
    assert!(read > 2000 && refused > 2000, "{read} read, {refused} refused");
}

#[test]
fn errors_name_the_place() {
    let sample = sample();
    let cubin = Cubin::read(&sample).expect("the sample is sound");
    let index = cubin.section_index(".text.k").expect("it has a kernel");
    let table = u64::from_le_bytes(sample[40..48].try_into().expect("eight bytes")) as usize;
    let patch = |section: usize, field: usize, value: u64| {
        let mut file = sample.clone();
        let at = table + 64 * section + field;
        file[at..at + 8].copy_from_slice(&value.to_le_bytes());
        Cubin::read(&file).map(|_| ())
    };
    // sh_offset and sh_size.
    let outside = ReadError::Section { index, what: "its content is not in the file" };
    assert_eq!(patch(index, 24, u64::MAX), Err(outside.clone()));
    assert_eq!(patch(index, 32, 1 << 40), Err(outside));
    // A text that is shorter than its kernel.
    assert!(matches!(patch(index, 32, 16), Err(ReadError::Function { name, .. }) if name == "k"));
    // A symbol table with half a symbol.
    let symbols = cubin.section_index(".symtab").expect("it has symbols");
    assert!(
        matches!(patch(symbols, 32, 36), Err(ReadError::Section { index, .. }) if index == symbols)
    );
}

/// Files of ptxas that the writer does not make: other targets, relocatable objects, debug
/// information.
#[test]
fn other_cubins_of_ptxas_are_read_too() {
    let Some(tool) = oracle::tool("ptxas") else { return };
    let text = "
        .extern .func outside; .global .u32 g=1;
        .func (.reg .u32 %o) inside(.reg .u32 %i) { add.u32 %o,%i,1; call outside; ret; }
        .visible .entry k(.param .u64 a) { .reg .u32 %r; .reg .u64 %a; ld.param.u64 %a,[a];
            ld.global.u32 %r,[g]; call (%r), inside, (%r); st.global.u32 [%a],%r; ret; }";
    for (arch, sm) in
        [("sm_75", 75), ("sm_86", 86), ("sm_90a", 90), ("sm_100a", 100), ("sm_120", 120)]
    {
        let source = format!(".version 9.0\n.target {arch}\n.address_size 64\n{text}");
        for flags in [&["-c"][..], &["-c", "-lineinfo"], &["-c", "-O0", "-g"]] {
            let file = reference::ptxas(&tool, arch, &source, flags);
            let file = file.unwrap_or_else(|e| panic!("{arch} {flags:?}: {e}"));
            let cubin = Cubin::read(&file).unwrap_or_else(|e| panic!("{arch} {flags:?}: {e}"));
            assert_eq!((cubin.sm(), cubin.file_type), (sm, 1), "{arch} {flags:?}");
            let names: Vec<(&str, bool)> =
                cubin.functions.iter().map(|f| (f.name, f.entry)).collect();
            assert!(
                names.contains(&("k", true)) && names.contains(&("inside", false)),
                "{names:?}"
            );
            let kernel = cubin.kernel("k").expect("it is there");
            assert_eq!(kernel.params.len(), 1);
            // Objects keep what a linker must fill in: calls and addresses.
            let relocations = &cubin.sections[kernel.section].relocations;
            assert!(relocations.iter().any(|r| cubin.symbols[r.symbol].name == "inside"));
            assert!(relocations.iter().all(|r| r.kind.name().is_some()), "{relocations:?}");
        }
    }
}
