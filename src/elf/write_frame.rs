//! `.debug_frame`: how a debugger unwinds each function, in 64-bit DWARF 3 as ptxas 13.0.88 writes
//! it: one CIE and one FDE a function, every advance in four bytes.

use super::model::{CfaOp, Unwind};

/// DWARF number of a general register: class 5 in the top byte (observed).
const GENERAL: u32 = 0x0500_0000;
/// DWARF number that stands for the return address where it is not a plain register.
const RETURN_ADDRESS: u32 = 0x0500_0100;
const STACK_POINTER: u8 = 1;

const DW_CFA_ADVANCE_LOC4: u8 = 0x04;
const DW_CFA_OFFSET_EXTENDED: u8 = 0x05;
const DW_CFA_RESTORE_EXTENDED: u8 = 0x06;
const DW_CFA_SAME_VALUE: u8 = 0x08;
const DW_CFA_REGISTER: u8 = 0x09;
const DW_CFA_DEF_CFA: u8 = 0x0c;
const DW_CFA_EXPRESSION: u8 = 0x10;
const DW_CFA_VAL_EXPRESSION: u8 = 0x16;
const DW_OP_ADDR: u8 = 0x03;
const DW_OP_BREGX: u8 = 0x92;
const DW_OP_PLUS: u8 = 0x22;

/// A function's entry.
pub struct FrameFunction<'m> {
    /// How a debugger finds the caller's frame.
    pub unwind: &'m Unwind,
    /// Bytes of the function.
    pub size: u32,
    /// What its addresses are relative to: an index into the caller's list of kernels.
    pub kernel: usize,
    /// Byte offset of the function in that kernel's text.
    pub offset: u32,
}

/// Eight bytes at `offset` take the address of the kernel + addend.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FrameReloc {
    /// Byte offset in the section.
    pub offset: u64,
    /// An index into the caller's list of kernels.
    pub kernel: usize,
    /// Bytes that are added to the kernel's address.
    pub addend: u64,
}

/// Bytes that a function without a frame has here.
const USUAL: usize = 128;

/// The section's content and its relocations, in the section's order of relocations.
pub fn debug_frame(functions: &[FrameFunction<'_>]) -> (Vec<u8>, Vec<FrameReloc>) {
    let mut data = Vec::with_capacity(USUAL * functions.len());
    // Within a kernel the addresses in CIEs come before those in FDEs; the whole list is written
    // back to front.
    let mut relocs = Vec::new();
    for kernel in functions.chunk_by(|a, b| a.kernel == b.kernel) {
        let mut starts = Vec::new();
        for function in kernel {
            let cie = data.len() as u64;
            let mut body = Vec::with_capacity(USUAL);
            body.extend([0xff; 8]);
            body.extend([3, 0, 4]);
            sleb128(&mut body, -4);
            match function.unwind.return_register {
                None => uleb128(&mut body, 0xffff_ffff),
                Some(_) => uleb128(&mut body, RETURN_ADDRESS),
            }
            define_cfa(&mut body, 0);
            body.push(DW_CFA_SAME_VALUE);
            uleb128(&mut body, GENERAL | 0xff);
            body.push(DW_CFA_SAME_VALUE);
            uleb128(&mut body, GENERAL | u32::from(STACK_POINTER));
            if let Some(register) = function.unwind.return_register {
                body.push(DW_CFA_SAME_VALUE);
                uleb128(&mut body, GENERAL | u32::from(register));
                return_address(&mut body, register, |at| {
                    relocs.push(FrameReloc {
                        offset: cie + 12 + at,
                        kernel: function.kernel,
                        addend: 0,
                    });
                });
            }
            entry(&mut data, body);

            let fde = data.len() as u64;
            let mut body = Vec::with_capacity(USUAL);
            body.extend(cie.to_le_bytes());
            body.extend(u64::from(function.offset).to_le_bytes());
            body.extend(u64::from(function.size).to_le_bytes());
            starts.push(FrameReloc {
                offset: fde + 20,
                kernel: function.kernel,
                addend: u64::from(function.offset),
            });
            let mut at = 0;
            for (offset, op) in &function.unwind.program {
                body.push(DW_CFA_ADVANCE_LOC4);
                // Advances count in units of four bytes.
                body.extend((offset.saturating_sub(at) / 4).to_le_bytes());
                at = *offset;
                operation(&mut body, *op);
            }
            entry(&mut data, body);
        }
        relocs.extend(starts);
    }
    relocs.reverse();
    (data, relocs)
}

/// Appends a CIE or FDE: 64-bit length, body, and as many `DW_CFA_nop` as make the whole a multiple
/// of eight bytes.
fn entry(data: &mut Vec<u8>, mut body: Vec<u8>) {
    while body.len() % 8 != 4 {
        body.push(0);
    }
    data.extend([0xff; 4]);
    data.extend((body.len() as u64).to_le_bytes());
    data.extend(body);
}

fn define_cfa(out: &mut Vec<u8>, offset: u32) {
    out.push(DW_CFA_DEF_CFA);
    uleb128(out, GENERAL | u32::from(STACK_POINTER));
    uleb128(out, offset);
}

/// The return address is the kernel's address plus a register; calls `reloc` with the place of the
/// kernel's address.
fn return_address(out: &mut Vec<u8>, register: u8, mut reloc: impl FnMut(u64)) {
    let mut expression = vec![DW_OP_ADDR];
    expression.extend([0; 8]);
    expression.push(DW_OP_BREGX);
    uleb128(&mut expression, GENERAL | u32::from(register));
    expression.extend([0, DW_OP_PLUS]);
    out.push(DW_CFA_VAL_EXPRESSION);
    uleb128(out, RETURN_ADDRESS);
    uleb128(out, expression.len() as u32);
    reloc(out.len() as u64 + 1);
    out.extend(expression);
}

fn operation(out: &mut Vec<u8>, op: CfaOp) {
    let general = |register: u8| GENERAL | u32::from(register);
    match op {
        CfaOp::None => {}
        CfaOp::DefCfa { offset } => define_cfa(out, offset),
        CfaOp::Saved { register, slot } => {
            out.push(DW_CFA_OFFSET_EXTENDED);
            uleb128(out, general(register));
            uleb128(out, slot);
        }
        CfaOp::SavedAt { register, offset } => {
            let mut expression = vec![DW_OP_BREGX];
            uleb128(&mut expression, general(STACK_POINTER));
            sleb128(&mut expression, offset);
            out.push(DW_CFA_EXPRESSION);
            uleb128(out, general(register));
            uleb128(out, expression.len() as u32);
            out.extend(expression);
        }
        CfaOp::Restored { register } => {
            out.push(DW_CFA_RESTORE_EXTENDED);
            uleb128(out, general(register));
        }
        CfaOp::Moved { register, to } => {
            out.push(DW_CFA_REGISTER);
            uleb128(out, general(register));
            uleb128(out, general(to));
        }
    }
}

/// Appends a number as ULEB128 (DWARF 5, 7.6).
pub(super) fn uleb128(out: &mut Vec<u8>, mut value: u32) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

/// Appends a number as SLEB128 (DWARF 5, 7.6).
pub(super) fn sleb128(out: &mut Vec<u8>, mut value: i32) {
    while !(-64..64).contains(&value) {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8 & 0x7f);
}
