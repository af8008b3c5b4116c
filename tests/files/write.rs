//! The cubin writer on models made by hand: what it writes of them, and what it refuses.

use orias::elf::model::*;
use orias::elf::relocation::RelocKind;
use orias::elf::{Cubin, WriteError, write};
use orias_components::SymbolKey;
use slotmap::SlotMap;

fn keys(count: usize) -> Vec<SymbolKey> {
    let mut keys: SlotMap<SymbolKey, ()> = SlotMap::with_key();
    (0..count).map(|_| keys.insert(())).collect()
}

fn variable(key: SymbolKey, name: &str, init: Option<Vec<u8>>) -> Variable {
    Variable {
        key,
        name: name.into(),
        space: Space::Global,
        linkage: Linkage::Local,
        managed: false,
        offset: 0,
        size: 16,
        align: 8,
        init: init
            .map(|bytes| Box::new(InitialValue { bytes: bytes.into(), relocations: Vec::new() })),
    }
}

fn kernel(name: &str) -> Kernel {
    Kernel {
        name: name.into(),
        linkage: Linkage::Visible,
        text: vec![0x18; 256],
        relocations: Vec::new(),
        registers: 12,
        externals: Vec::new(),
        external_calls: Vec::new(),
        frame_bytes: 8,
        min_stack_bytes: 8,
        params: vec![Param { offset: 0, size: 8, ..Param::default() }],
        param_bytes: 8,
        barriers: 2,
        max_registers: Some(64),
        max_threads: None,
        required_threads: Some([32, 4, 1]),
        clusters: Vec::new(),
        shared: Some(Shared { bytes: 48, align: 16, used: true }),
        names_reserved: false,
        constant2: None,
        divergent: true,
        exits: vec![0x70, 0xb0],
        code_attributes: Vec::new(),
        unwind: Unwind::kernel(0x20, 8, Some(0xb0)),
        inner: Vec::new(),
        aliases: Vec::new(),
        lines: Vec::new(),
        ptx_lines: Vec::new(),
    }
}

fn model(variables: Vec<Variable>, kernels: Vec<Kernel>) -> CubinModel {
    let tool = Tool {
        name: "test".into(),
        version: "1".into(),
        branch: String::new(),
        arguments: String::new(),
    };
    let externals = Vec::new();
    CubinModel {
        target: CubinTarget::sm90(true),
        tool,
        externals,
        variables,
        kernels,
        sources: None,
    }
}

#[test]
fn what_a_loader_needs_is_read_back() {
    let key = keys(1)[0];
    let mut second = kernel("second");
    second.shared = None;
    let model = model(vec![variable(key, "v", None)], vec![kernel("first"), second]);
    let file = write(&model).expect("the model is sound");
    assert_eq!(write(&model).expect("it still is"), file, "the same model gives the same bytes");
    let cubin = Cubin::read(&file).expect("the file is sound");
    assert_eq!(cubin.sm(), 90);
    // Text stands in the reverse order of the source.
    let names: Vec<&str> = cubin.kernels().map(|k| k.name).collect();
    assert_eq!(names, ["second", "first"]);
    let first = cubin.kernel("first").expect("it is there");
    assert_eq!((first.registers, first.frame_bytes, first.min_stack_bytes), (12, 8, 8));
    assert_eq!((first.barriers, first.shared_bytes, first.shared_align), (2, 1024 + 48, 16));
    assert_eq!((first.param_base, first.param_bytes, first.params.len()), (0x210, 8, 1));
    assert_eq!((first.required_threads, first.max_threads), (Some([32, 4, 1]), None));
    assert_eq!(first.text, [0x18; 256]);
    assert_eq!(cubin.kernel("second").map(|k| k.shared_bytes), Some(0));
    // The variable's address is in the first slot of bank 4, for the loader to fill.
    let bank4 = cubin.section(".nv.constant4").expect("there is a variable");
    let slot = bank4.relocations[0];
    assert_eq!((bank4.size, slot.offset, slot.kind), (8, 0, RelocKind::ABS64));
    assert_eq!(cubin.symbols[slot.symbol].name, "v");
}

#[test]
fn an_address_ends_with_its_variable() {
    let keys = keys(2);
    let written = |kind, offset| {
        let mut holder = variable(keys[1], "holder", Some(vec![0; 16]));
        let address = DataReloc { kind, offset, target: keys[0], addend: 0 };
        holder.init.as_mut().expect("it has a value").relocations.push(address);
        write(&model(vec![variable(keys[0], "v", None), holder], vec![kernel("k")])).is_ok()
    };
    let byte = RelocKind::generic_byte(7);
    assert!(written(byte, 15) && written(RelocKind::GENERIC64, 8));
    assert!(!written(byte, 16) && !written(RelocKind::GENERIC64, 9));
}

#[test]
fn addresses_in_text_and_data_become_relocations() {
    let keys = keys(2);
    let mut holder = variable(keys[1], "holder", Some(vec![0; 16]));
    let address = DataReloc { kind: RelocKind::GENERIC64, offset: 8, target: keys[0], addend: 4 };
    holder.init.as_mut().expect("it has a value").relocations.push(address);
    let mut user = kernel("k");
    let at = |offset, high| TextRelocation { offset, target: keys[0], addend: 2, high };
    user.relocations = vec![at(0x10, false), at(0x20, true)];
    let model = model(vec![variable(keys[0], "v", None), holder], vec![user]);
    let file = write(&model).expect("the model is sound");
    let cubin = Cubin::read(&file).expect("the file is sound");
    let of = |section: &str| -> Vec<(u64, RelocKind, Option<i64>, &str)> {
        let section = cubin.section(section).expect("it is there");
        let name = |s: usize| cubin.symbols[s].name;
        section.relocations.iter().map(|r| (r.offset, r.kind, r.addend, name(r.symbol))).collect()
    };
    assert_eq!(of(".nv.global.init"), [(8, RelocKind::GENERIC64, Some(4), "v")]);
    assert_eq!(
        of(".text.k"),
        [
            (0x20, RelocKind::INST_ABS32_HI, Some(2), "v"),
            (0x10, RelocKind::INST_ABS32_LO, Some(2), "v"),
        ]
    );
}

#[test]
fn a_model_that_no_file_can_hold_is_refused() {
    let keys = keys(2);
    let unknown = {
        let mut user = kernel("k");
        user.relocations =
            vec![TextRelocation { offset: 0, target: keys[1], addend: 0, high: false }];
        model(vec![variable(keys[0], "v", None)], vec![user])
    };
    assert_eq!(write(&unknown), Err(WriteError::UnknownSymbol("k".into())));
    let short = model(vec![variable(keys[0], "v", Some(vec![1]))], vec![]);
    assert_eq!(write(&short), Err(WriteError::BadVariable("v".into())));
    let far = {
        let mut v = variable(keys[0], "v", None);
        v.offset = u64::MAX - 4;
        model(vec![v], vec![])
    };
    assert_eq!(write(&far), Err(WriteError::BadVariable("v".into())));
    let holes = {
        let mut v = variable(keys[0], "v", Some(vec![0; 16]));
        v.offset = 1 << 40;
        model(vec![v], vec![])
    };
    assert_eq!(write(&holes), Err(WriteError::BadVariable("v".into())));
    let wide = {
        let mut k = kernel("k");
        k.param_bytes = 70_000;
        model(vec![], vec![k])
    };
    assert_eq!(write(&wide), Err(WriteError::TooManyParams { kernel: "k".into(), bytes: 70_000 }));
    let exits = |count: u32| {
        let mut k = kernel("k");
        k.exits = (0..count).map(|i| i * 16).collect();
        write(&model(vec![], vec![k]))
    };
    // The size of an attribute has two bytes.
    assert!(exits(16383).is_ok());
    let attribute = "EIATTR_EXIT_INSTR_OFFSETS";
    assert_eq!(exits(16384), Err(WriteError::AttributeTooLong { kernel: "k".into(), attribute }));
}

#[test]
fn a_thousand_kernels_fit() {
    let kernels: Vec<Kernel> = (0..1000).map(|i| kernel(&format!("k{i}"))).collect();
    let file = write(&model(vec![], kernels)).expect("the model is sound");
    let cubin = Cubin::read(&file).expect("the file is sound");
    assert_eq!(cubin.kernels().count(), 1000);
    assert_eq!(cubin.functions[0].name, "k999");
}
