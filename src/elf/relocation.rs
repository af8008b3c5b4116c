//! Relocation types of cubins.
//!
//! Numbers and names are those that cuobjdump 13.0 prints (observed: one entry of each type shown
//! to it). A name says which part of the value goes to which bit: `ABS32_LO_32` is the low 32 bits
//! at bit 32 of the instruction.

/// A relocation type (`R_CUDA_…`).
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct RelocKind(pub u32);

impl RelocKind {
    /// 32 bits of data.
    pub const ABS32: RelocKind = RelocKind(1);
    /// 64 bits of data.
    pub const ABS64: RelocKind = RelocKind(2);
    /// 32 bits of data: a generic address.
    pub const GENERIC32: RelocKind = RelocKind(3);
    /// 64 bits of data: a generic address.
    pub const GENERIC64: RelocKind = RelocKind(4);
    /// The 32-bit immediate of a 128-bit instruction.
    pub const INST_ABS32: RelocKind = RelocKind(55);
    /// The same: the low half of an address.
    pub const INST_ABS32_LO: RelocKind = RelocKind(56);
    /// The same: the high half of an address.
    pub const INST_ABS32_HI: RelocKind = RelocKind(57);

    /// The offset of a constant in an instruction's constant operand (bank 3 variables in objects).
    pub const CONST_OFFSET: RelocKind = RelocKind(66);
    /// The offset of a constant as an immediate of 16 bits.
    pub const CONST_IMMEDIATE: RelocKind = RelocKind(59);
    /// The target of a call to a function with a text section of its own (objects).
    pub const CALL: RelocKind = RelocKind(75);
    /// The 32-bit immediate: the low half of a function's address (objects).
    pub const FUNCTION_LO: RelocKind = RelocKind(112);
    /// The same: the high half.
    pub const FUNCTION_HI: RelocKind = RelocKind(113);

    /// One byte of a generic address, from the lowest, 0, to 7.
    pub fn generic_byte(byte: u32) -> RelocKind {
        RelocKind(84 + byte.min(7))
    }

    /// Bytes of data that it fills in.
    pub fn bytes(self) -> u64 {
        let fields = self.fields().unwrap_or_default();
        u64::from(fields.iter().map(|(_, _, bits)| bits).sum::<u32>() / 8)
    }

    /// The `R_CUDA_…` name.
    pub fn name(self) -> Option<&'static str> {
        NAMES.binary_search_by_key(&self.0, |row| row.0).ok().map(|i| NAMES[i].1)
    }

    /// Which bits of the address go where in the relocated word: (first bit of the address, first
    /// bit of the place, bits), for each contiguous part. None for types that a loader must know by
    /// heart.
    pub fn fields(self) -> Option<&'static [Field]> {
        /// The eight bytes of an address, one a type.
        static BYTES: [[Field; 1]; 8] = [
            [(0, 0, 8)],
            [(8, 0, 8)],
            [(16, 0, 8)],
            [(24, 0, 8)],
            [(32, 0, 8)],
            [(40, 0, 8)],
            [(48, 0, 8)],
            [(56, 0, 8)],
        ];
        Some(match self.0 {
            1 | 3 | 34 | 70 | 103 => &[(0, 0, 32)],
            2 | 4 | 35 | 102 => &[(0, 0, 64)],
            71 => &[(32, 0, 32)],
            // Bytes of addresses, of generic ones and of functions.
            n @ (76..=99 | 104..=111) => &BYTES[(n - 76) as usize % 8],
            55 | 56 | 112 => &[(0, 32, 32)],
            59 => &[(0, 32, 16)],
            57 | 113 => &[(32, 32, 32)],
            // Byte offset and bank.
            66 => &[(0, 38, 21)],
            // The target of CALL.ABS: words of four bytes.
            58 => &[(2, 34, 47)],
            75 => &[(2, 16, 8), (10, 34, 47)],
            114 => &[(2, 16, 8), (10, 34, 48)],
            _ => return None,
        })
    }
}

/// First bit of the address, first bit of the place, bits.
pub type Field = (u32, u32, u32);

/// Type and name, by type.
const NAMES: &[(u32, &str)] = &[
    (1, "R_CUDA_32"),
    (2, "R_CUDA_64"),
    (3, "R_CUDA_G32"),
    (4, "R_CUDA_G64"),
    (5, "R_CUDA_ABS32_26"),
    (6, "R_CUDA_TEX_HEADER_INDEX"),
    (7, "R_CUDA_SAMP_HEADER_INDEX"),
    (8, "R_CUDA_SURF_HW_DESC"),
    (9, "R_CUDA_SURF_HW_SW_DESC"),
    (10, "R_CUDA_ABS32_LO_26"),
    (11, "R_CUDA_ABS32_HI_26"),
    (12, "R_CUDA_ABS32_23"),
    (13, "R_CUDA_ABS32_LO_23"),
    (14, "R_CUDA_ABS32_HI_23"),
    (15, "R_CUDA_ABS24_26"),
    (16, "R_CUDA_ABS24_23"),
    (17, "R_CUDA_ABS16_26"),
    (18, "R_CUDA_ABS16_23"),
    (19, "R_CUDA_TEX_SLOT"),
    (20, "R_CUDA_SAMP_SLOT"),
    (21, "R_CUDA_SURF_SLOT"),
    (22, "R_CUDA_TEX_BINDLESSOFF13_32"),
    (23, "R_CUDA_TEX_BINDLESSOFF13_47"),
    (24, "R_CUDA_CONST_FIELD19_28"),
    (25, "R_CUDA_CONST_FIELD19_23"),
    (26, "R_CUDA_TEX_SLOT9_49"),
    (27, "R_CUDA_6_31"),
    (28, "R_CUDA_2_47"),
    (29, "R_CUDA_TEX_BINDLESSOFF13_41"),
    (30, "R_CUDA_TEX_BINDLESSOFF13_45"),
    (31, "R_CUDA_FUNC_DESC32_23"),
    (32, "R_CUDA_FUNC_DESC32_LO_23"),
    (33, "R_CUDA_FUNC_DESC32_HI_23"),
    (34, "R_CUDA_FUNC_DESC_32"),
    (35, "R_CUDA_FUNC_DESC_64"),
    (36, "R_CUDA_CONST_FIELD21_26"),
    (37, "R_CUDA_QUERY_DESC21_37"),
    (38, "R_CUDA_CONST_FIELD19_26"),
    (39, "R_CUDA_CONST_FIELD21_23"),
    (40, "R_CUDA_PCREL_IMM24_26"),
    (41, "R_CUDA_PCREL_IMM24_23"),
    (42, "R_CUDA_ABS32_20"),
    (43, "R_CUDA_ABS32_LO_20"),
    (44, "R_CUDA_ABS32_HI_20"),
    (45, "R_CUDA_ABS24_20"),
    (46, "R_CUDA_ABS16_20"),
    (47, "R_CUDA_FUNC_DESC32_20"),
    (48, "R_CUDA_FUNC_DESC32_LO_20"),
    (49, "R_CUDA_FUNC_DESC32_HI_20"),
    (50, "R_CUDA_CONST_FIELD19_20"),
    (51, "R_CUDA_BINDLESSOFF13_36"),
    (52, "R_CUDA_SURF_HEADER_INDEX"),
    (53, "R_CUDA_INSTRUCTION64"),
    (54, "R_CUDA_CONST_FIELD21_20"),
    (55, "R_CUDA_ABS32_32"),
    (56, "R_CUDA_ABS32_LO_32"),
    (57, "R_CUDA_ABS32_HI_32"),
    (58, "R_CUDA_ABS47_34"),
    (59, "R_CUDA_ABS16_32"),
    (60, "R_CUDA_ABS24_32"),
    (61, "R_CUDA_FUNC_DESC32_32"),
    (62, "R_CUDA_FUNC_DESC32_LO_32"),
    (63, "R_CUDA_FUNC_DESC32_HI_32"),
    (64, "R_CUDA_CONST_FIELD19_40"),
    (65, "R_CUDA_BINDLESSOFF14_40"),
    (66, "R_CUDA_CONST_FIELD21_38"),
    (67, "R_CUDA_INSTRUCTION128"),
    (68, "R_CUDA_YIELD_OPCODE9_0"),
    (69, "R_CUDA_YIELD_CLEAR_PRED4_87"),
    (70, "R_CUDA_32_LO"),
    (71, "R_CUDA_32_HI"),
    (72, "R_CUDA_UNUSED_CLEAR32"),
    (73, "R_CUDA_UNUSED_CLEAR64"),
    (74, "R_CUDA_ABS24_40"),
    (75, "R_CUDA_ABS55_16_34"),
    (76, "R_CUDA_8_0"),
    (77, "R_CUDA_8_8"),
    (78, "R_CUDA_8_16"),
    (79, "R_CUDA_8_24"),
    (80, "R_CUDA_8_32"),
    (81, "R_CUDA_8_40"),
    (82, "R_CUDA_8_48"),
    (83, "R_CUDA_8_56"),
    (84, "R_CUDA_G8_0"),
    (85, "R_CUDA_G8_8"),
    (86, "R_CUDA_G8_16"),
    (87, "R_CUDA_G8_24"),
    (88, "R_CUDA_G8_32"),
    (89, "R_CUDA_G8_40"),
    (90, "R_CUDA_G8_48"),
    (91, "R_CUDA_G8_56"),
    (92, "R_CUDA_FUNC_DESC_8_0"),
    (93, "R_CUDA_FUNC_DESC_8_8"),
    (94, "R_CUDA_FUNC_DESC_8_16"),
    (95, "R_CUDA_FUNC_DESC_8_24"),
    (96, "R_CUDA_FUNC_DESC_8_32"),
    (97, "R_CUDA_FUNC_DESC_8_40"),
    (98, "R_CUDA_FUNC_DESC_8_48"),
    (99, "R_CUDA_FUNC_DESC_8_56"),
    (100, "R_CUDA_ABS20_44"),
    (101, "R_CUDA_SAMP_HEADER_INDEX_0"),
    (102, "R_CUDA_UNIFIED"),
    (103, "R_CUDA_UNIFIED_32"),
    (104, "R_CUDA_UNIFIED_8_0"),
    (105, "R_CUDA_UNIFIED_8_8"),
    (106, "R_CUDA_UNIFIED_8_16"),
    (107, "R_CUDA_UNIFIED_8_24"),
    (108, "R_CUDA_UNIFIED_8_32"),
    (109, "R_CUDA_UNIFIED_8_40"),
    (110, "R_CUDA_UNIFIED_8_48"),
    (111, "R_CUDA_UNIFIED_8_56"),
    (112, "R_CUDA_UNIFIED32_LO_32"),
    (113, "R_CUDA_UNIFIED32_HI_32"),
    (114, "R_CUDA_ABS56_16_34"),
    (115, "R_CUDA_CONST_FIELD22_37"),
];
