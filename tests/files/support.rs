//! What tests of files share: ptxas on PTX files, and a cubin read back into what the writer takes.

use orias::driver::{CompileOptions, Output, compile_source};
use orias::elf::attribute::{Attribute, code};
use orias::elf::model::*;
use orias::elf::read::{Cubin, Function, Section};
use orias_components::SymbolKey;
use orias_isa::reference;
use orias_runner::oracle;
use std::path::{Path, PathBuf};

/// Modules that are odd in one way each.
pub const MODULES: &[(&str, &str)] = &[
    ("no kernel", ""),
    ("no parameters", ".visible .entry k(){ret;}"),
    ("no exit", ".visible .entry k(){L: bra L;}"),
    (
        "linkage and limits",
        ".visible .entry k(.param .u64 p) .maxntid 128,2,1 .minnctapersm 2 {ret;}
         .visible .entry k2(.param .align 16 .b8 p[48],.param .u8 q, .param .u16 r) .reqntid 64 {ret;}
         .visible .entry k3(.param .u64 .ptr .global .align 16 p) .maxnreg 40 {ret;}
         .entry local(){ret;} .weak .entry weak(){ret;}",
    ),
    ("many parameter bytes", ".visible .entry k(.param .align 8 .b8 p[20000], .param .u32 q){ret;}"),
    (
        "shared memory: used by two kernels of three",
        ".shared .align 4 .b8 s[64];
         .visible .entry k(){ st.shared.u32 [s],7; ret;}
         .visible .entry k2(.param .u64 p){.reg .u64 %a; ld.param.u64 %a,[p]; st.global.u32 [%a],1; ret;}
         .visible .entry k3(){ st.shared.u32 [s+4],7; ret;}",
    ),
    ("shared memory: unused", ".visible .entry k(){.shared .align 8 .b8 unused[64]; ret;}"),
    (
        "shared memory: dynamic, aligned",
        ".extern .shared .align 16 .b8 dyn[];
         .visible .entry k(){.shared .align 128 .b8 s[5]; st.shared.u8 [s],1; st.shared.u32 [dyn],7; ret;}",
    ),
    (
        "variables of every kind",
        ".visible .global .align 4 .u32 vis=5; .global .u32 un; .weak .global .u32 w;
         .const .u32 c0=3; .visible .const .u32 c1[4]={1,2,3}; .global .u64 pp=vis;
         .global .u64 pf=generic(un)+4; .global .u32 unused[3]={1,2,3};
         .visible .entry k(.param .u64 p){.reg .u64 %a;.reg .u32 %r; ld.param.u64 %a,[p];
         ld.global.u32 %r,[vis]; st.global.u32 [%a],%r; st.global.u32 [un],%r; st.global.u32 [w],%r; ret;}",
    ),
    (
        "addresses in initial values",
        ".global .u32 a0=1; .global .u64 z1=a0; .global .align 8 .u64 z2[2]={generic(a0),a0+8};
         .global .u64 z3=generic(z1); .const .u64 cz=a0; .visible .entry k(){ret;}",
    ),
    (
        "a constant before the first global variable",
        ".visible .const .u32 c1=1; .visible .global .u32 g1=1; .visible .global .u32 g2;
         .visible .entry k(){ret;} .visible .entry k2(){ret;}",
    ),
    (
        "global and shared variables of odd sizes",
        ".global .align 1 .b8 g[3]={1,2,3}; .global .align 8 .u64 z[3];
         .visible .entry ka(){.shared .align 128 .b8 s[100]; st.shared.u32 [s],1; ret;}
         .visible .entry kb(){.shared .align 256 .b8 s1[100]; st.shared.u32 [s1],1; ret;}",
    ),
];

/// Attributes of code that the reader leaves raw.
const CODE_ATTRIBUTES: [u8; 8] = [
    code::MBARRIER_INSTR_OFFSETS,
    code::INDIRECT_BRANCH_TARGETS,
    code::RESERVED_SMEM_USED,
    code::ANNOTATIONS,
    code::REG_RECONFIG,
    code::SYSCALL_OFFSETS,
    code::INSTR_REG_MAP,
    code::ATOM16_EMUL_INSTR_REG_MAP,
];

/// A corpus folder's PTX file.
pub fn corpus_ptx(folder: &str) -> PathBuf {
    oracle::workspace().join("tests/corpus").join(folder).join(format!("{folder}.ptx"))
}

/// The PTX of every corpus folder, by name.
pub fn all_corpus_ptx() -> Vec<PathBuf> {
    let corpus = oracle::workspace().join("tests/corpus");
    let mut all: Vec<PathBuf> = std::fs::read_dir(corpus)
        .expect("the corpus is part of the project")
        .filter_map(|entry| {
            let folder = entry.expect("a folder entry").path();
            let ptx = folder.join(folder.file_name()?).with_extension("ptx");
            ptx.is_file().then_some(ptx)
        })
        .collect();
    all.sort();
    all
}

/// ptxas's cubin of a PTX file, at -O`level` for sm_90a.
pub fn ptxas(tool: &Path, ptx: &Path, level: u8) -> Vec<u8> {
    let text = std::fs::read_to_string(ptx).expect("the corpus is text");
    let cubin = reference::ptxas(tool, "sm_90a", &text, &[&format!("-O{level}")]);
    cubin.unwrap_or_else(|e| panic!("{}: {e}", ptx.display()))
}

/// ptxas's cubin of PTX text after the head of a file for sm_90a.
pub fn ptxas_text(tool: &Path, text: &str, level: u8) -> Vec<u8> {
    let text = format!(".version 9.0\n.target sm_90a\n.address_size 64\n{text}");
    let cubin = reference::ptxas(tool, "sm_90a", &text, &[&format!("-O{level}")]);
    cubin.unwrap_or_else(|e| panic!("{e}"))
}

/// Text up to a zero byte.
fn text_at(data: &[u8], at: usize) -> String {
    let bytes = data.get(at..).unwrap_or_default();
    let end = bytes.iter().position(|b| *b == 0).unwrap_or(bytes.len());
    String::from_utf8_lossy(&bytes[..end]).into_owned()
}

fn word(data: &[u8], at: usize) -> usize {
    u32::from_le_bytes(data[at..at + 4].try_into().unwrap()) as usize
}

/// What the writer would have been given to make this file: the inverse of the writer, for files of
/// ptxas 13.0.88.
pub fn model_of(cubin: &Cubin<'_>) -> CubinModel {
    // Note header and owner take 24 bytes, then come the version and five text offsets.
    let note = &cubin.section(".note.nv.tkinfo").expect("every cubin has it").data[24..];
    let text = |i: usize| text_at(note, 24 + word(note, 4 + 4 * i));
    let tool = Tool { name: text(1), version: text(2), branch: text(3), arguments: text(4) };
    let compat = cubin.section(".nv.compat").expect("every cubin of sm_90 has it").data;
    let target = CubinTarget {
        sm: cubin.sm() as u8,
        accelerated: compat[2] == 1,
        isa_class: compat[6],
        tensor_maps: compat[18],
        param_base: 0x210,
        reserved_shared: 0x400,
    };
    // Text order is the reverse of the source's.
    let kernels = cubin.functions.iter().rev().map(|f| kernel(cubin, f)).collect();
    CubinModel {
        target,
        tool,
        externals: Vec::new(),
        variables: variables(cubin),
        kernels,
        sources: None,
    }
}

fn linkage(binding: u8) -> Linkage {
    match binding {
        0 => Linkage::Local,
        1 => Linkage::Visible,
        _ => Linkage::Weak,
    }
}

fn variables(cubin: &Cubin<'_>) -> Vec<Variable> {
    let mut keys: slotmap::SlotMap<SymbolKey, ()> = slotmap::SlotMap::with_key();
    let keys: Vec<SymbolKey> = cubin.symbols.iter().map(|_| keys.insert(())).collect();
    let mut all = Vec::new();
    // Visible variables were first when constant bank 4 was numbered; the symbol table has the
    // global ones last.
    let seen = |binding| binding != 0;
    let is_variable = |i: &usize| {
        let s = &cubin.symbols[*i];
        s.kind == 1
            && s.section != 0
            && cubin.sections[usize::from(s.section)].name.starts_with(".nv.")
    };
    let mut order: Vec<usize> = (0..keys.len()).filter(is_variable).collect();
    order.sort_by_key(|i| !seen(cubin.symbols[*i].binding));
    // Among global and weak ones the slots of bank 4 and the offsets in bank 3 tell the order.
    for i in order {
        let symbol = &cubin.symbols[i];
        let section = &cubin.sections[usize::from(symbol.section)];
        let range = symbol.value as usize..(symbol.value + symbol.size) as usize;
        let bytes = (!section.is_nobits()).then(|| section.data[range].to_vec());
        let mut relocations: Vec<DataReloc> = section
            .relocations
            .iter()
            .filter(|r| (symbol.value..symbol.value + symbol.size).contains(&r.offset))
            .map(|r| DataReloc {
                kind: r.kind,
                offset: (r.offset - symbol.value) as u32,
                target: keys[r.symbol],
                addend: r.addend.unwrap_or(0),
            })
            .collect();
        relocations.reverse();
        let space = if section.name == ".nv.constant3" { Space::Constant } else { Space::Global };
        // The largest power of two that divides the place, as far as the section has it: enough to
        // lay it out again.
        let align = match symbol.value {
            0 => section.align,
            v => (1 << v.trailing_zeros().min(16)).min(section.align),
        };
        all.push(Variable {
            key: keys[i],
            name: symbol.name.into(),
            space,
            linkage: linkage(symbol.binding),
            managed: symbol.other == 4,
            offset: symbol.value,
            size: symbol.size,
            align: align as u32,
            init: bytes.map(|bytes| Box::new(InitialValue { bytes: bytes.into(), relocations })),
        });
    }
    let slot = |v: &Variable| {
        let section = cubin.section(".nv.constant4")?;
        let at = section.relocations.iter().find(|r| keys[r.symbol] == v.key)?;
        Some(at.offset)
    };
    // Variables of bank 4 in the order of their slots, those of bank 3 in the order of their
    // places, merged as they stand.
    let mut globals: Vec<Variable> =
        all.iter().filter(|v| v.space == Space::Global).cloned().collect();
    globals.sort_by_key(slot);
    let mut globals = globals.into_iter();
    for variable in &mut all {
        if variable.space == Space::Global {
            *variable = globals.next().expect("as many as there were");
        }
    }
    all
}

fn kernel(cubin: &Cubin<'_>, function: &Function<'_>) -> Kernel {
    let text = &cubin.sections[function.section];
    let symbol = &cubin.symbols[function.symbol];
    let find = |name: &str| cubin.section(&format!("{name}.{}", function.name));
    let mut code_attributes = Vec::new();
    let mut exits = Vec::new();
    let mut max_registers = None;
    let mut divergent = false;
    for attribute in &function.attributes {
        match attribute {
            Attribute::ExitOffsets(list) => exits = list.clone(),
            Attribute::MaxRegCount(n) => max_registers = (*n != 255).then_some(*n),
            Attribute::CrsStackSize(_) => divergent = true,
            Attribute::CoopGroupOffsets(_)
            | Attribute::CoopGroupMaskRegs(_)
            | Attribute::IntWarpWideOffsets(_)
            | Attribute::MbarrierOffsets(_)
            | Attribute::UnusedLoadByteOffsets(_)
            | Attribute::IndirectBranchTargets(_)
            | Attribute::NumMbarriers(_)
            | Attribute::SparseMmaMask(_)
            | Attribute::WmmaUsed => code_attributes.push(attribute.clone()),
            Attribute::Raw { code: raw, .. } if CODE_ATTRIBUTES.contains(raw) => {
                code_attributes.push(attribute.clone());
            }
            _ => {}
        }
    }
    let params = function
        .params
        .iter()
        .map(|p| Param {
            offset: u32::from(p.offset),
            size: p.size,
            log_alignment: p.log_alignment,
            space: p.space,
        })
        .collect();
    let used = find(".rela.text").is_some() && function.inner.is_empty()
        || cubin.symbols.iter().skip(1).any(|s| s.name.is_empty()) && find(".nv.shared").is_some();
    let shared = find(".nv.shared").map(|s| Shared {
        bytes: s.size as u32 - 0x400,
        align: s.align as u32,
        used,
    });
    let constant0 = find(".nv.constant0").expect("every kernel has it");
    // Inner functions in the order of their symbols.
    let mut inner: Vec<_> = function.inner.clone();
    inner.sort_by_key(|f| f.symbol);
    let frames = frames(cubin, function);
    let unwind = |offset: u64| {
        frames.iter().find(|f| f.0 == offset).map(|f| f.1.clone()).unwrap_or_default()
    };
    let frame_of = |symbol: usize| {
        cubin.attributes.iter().find_map(|a| match a {
            Attribute::FrameSize { symbol: s, bytes } if *s as usize == symbol => Some(*bytes),
            _ => None,
        })
    };
    let inner = inner
        .iter()
        .map(|f| InnerFunction {
            name: f.name.to_owned(),
            linkage: linkage(cubin.symbols[f.symbol].binding),
            offset: f.range.start as u32,
            size: (f.range.end - f.range.start) as u32,
            frame_bytes: frame_of(f.symbol).unwrap_or(0),
            unwind: unwind(f.range.start),
        })
        .collect();
    assert!(text.relocations.is_empty(), "ptxas resolves all relocations of text");
    Kernel {
        name: function.name.to_owned(),
        linkage: linkage(symbol.binding),
        text: function.text.to_vec(),
        relocations: Vec::new(),
        registers: function.registers,
        externals: Vec::new(),
        external_calls: Vec::new(),
        frame_bytes: function.frame_bytes,
        min_stack_bytes: function.min_stack_bytes,
        params,
        param_bytes: constant0.size as u32 - 0x210,
        barriers: function.barriers as u8,
        max_registers,
        max_threads: function.max_threads,
        required_threads: function.required_threads,
        clusters: clusters(&function.clusters),
        shared,
        names_reserved: false,
        constant2: find(".nv.constant2").map(|s| Constant2 {
            data: s.data.to_vec(),
            // The late kind leaves a name behind that the early one does not.
            function_addresses: {
                let name = format!(".rel.nv.constant.optimizer.{}\0", function.name);
                let names = cubin.section(".strtab").expect("every cubin has it").data;
                names.windows(name.len()).any(|w| w == name.as_bytes())
            },
        }),
        divergent,
        exits,
        code_attributes,
        unwind: unwind(0),
        inner,
        aliases: Vec::new(),
        lines: Vec::new(),
        ptx_lines: Vec::new(),
    }
}

/// (start in the kernel's text, unwinding) of each function of a kernel, from `.debug_frame`.
fn frames(cubin: &Cubin<'_>, function: &Function<'_>) -> Vec<(u64, Unwind)> {
    let section: &Section<'_> = cubin.section(".debug_frame").expect("every cubin has it");
    let data = section.data;
    let mut all = Vec::new();
    let mut at = 0;
    let mut return_register = None;
    while at < data.len() {
        let length = u64::from_le_bytes(data[at + 4..at + 12].try_into().unwrap()) as usize;
        let body = &data[at + 12..at + 12 + length];
        if body[..8] == [0xff; 8] {
            // A callee's CIE says `same value` for its return register at a fixed place.
            return_register = (body[12] != 0xff).then(|| body[33] & 0x7f | body[34] << 7);
        } else if let Some(reloc) = section.relocations.iter().find(|r| r.offset == at as u64 + 20)
            && reloc.symbol == function.symbol
        {
            let program = program(&body[24..]);
            all.push((reloc.addend.unwrap_or(0) as u64, Unwind { program, return_register }));
        }
        at += 12 + length;
    }
    all
}

fn uleb(data: &[u8], at: &mut usize) -> u32 {
    let mut value = 0u32;
    let mut shift = 0;
    loop {
        let byte = data[*at];
        *at += 1;
        value |= u32::from(byte & 0x7f) << shift;
        shift += 7;
        if byte < 0x80 {
            return value;
        }
    }
}

fn program(data: &[u8]) -> Vec<(u32, CfaOp)> {
    let mut all: Vec<(u32, CfaOp)> = Vec::new();
    let mut at = 0;
    let mut place = 0;
    while at < data.len() {
        let op = data[at];
        at += 1;
        let entry = match op {
            0 => continue,
            4 => {
                place += word(data, at) as u32 * 4;
                at += 4;
                all.push((place, CfaOp::None));
                continue;
            }
            5 => {
                let register = uleb(data, &mut at) as u8;
                CfaOp::Saved { register, slot: uleb(data, &mut at) }
            }
            6 => CfaOp::Restored { register: uleb(data, &mut at) as u8 },
            9 => {
                let register = uleb(data, &mut at) as u8;
                CfaOp::Moved { register, to: uleb(data, &mut at) as u8 }
            }
            0xc => {
                uleb(data, &mut at);
                CfaOp::DefCfa { offset: uleb(data, &mut at) }
            }
            0x10 => {
                let register = uleb(data, &mut at) as u8;
                let end = uleb(data, &mut at) as usize + at;
                at += 1;
                uleb(data, &mut at);
                // A short negative number in all files seen.
                let offset = uleb(data, &mut at) as i32;
                let bits = 7 * (if offset < 0x80 { 1 } else { 2 });
                at = end;
                CfaOp::SavedAt { register, offset: offset << (32 - bits) >> (32 - bits) }
            }
            _ => panic!("call frame instruction {op:#x}"),
        };
        match all.last_mut() {
            Some(last @ (_, CfaOp::None)) => last.1 = entry,
            _ => all.push((place, entry)),
        }
    }
    all
}

/// What the compiler makes of a PTX file, for its own target, or what it has to say.
pub fn compile_output(ptx: &Path, level: u8) -> Result<Output, String> {
    let source = std::fs::read_to_string(ptx).expect("the corpus is text");
    let options = CompileOptions { opt_level: level, threads: 1, ..CompileOptions::default() };
    let name = ptx.display().to_string();
    compile_source(&source, &options).map_err(|error| error.render(&name, &source))
}

/// The attributes that say such rules, as ptxas writes them.
fn clusters(rules: &orias::launch::ClusterRules) -> Vec<Attribute> {
    let mut all = Vec::new();
    all.extend(rules.max_blocks.map(Attribute::MaxClusterRank));
    all.extend(rules.explicit.then_some(Attribute::ExplicitCluster));
    all.extend(rules.required.map(Attribute::CtaPerCluster));
    all.extend(rules.blocks_are_clusters.then_some(Attribute::BlocksAreClusters));
    all
}
