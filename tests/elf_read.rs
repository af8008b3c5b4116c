//! The cubin reader on a file made by hand and on damaged files; `elf_sections.rs` reads what ptxas writes.

use orias::elf::attribute::{self, Attribute, KernelParam};
use orias::elf::{Cubin, ReadError};

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
