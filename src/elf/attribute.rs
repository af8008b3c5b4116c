//! The attributes of `.nv.info` sections: what a driver must know of a module and of each kernel to
//! launch it.
//!
//! An entry is a format byte, a code byte and two bytes that are the value (formats 1-3) or the
//! value's size (format 4). Codes and names are those that cuobjdump 13.0 prints (observed: one
//! entry of each code shown to it).

/// Format bytes (`EIFMT_…`).
pub mod format {
    /// No value.
    pub const NONE: u8 = 1;
    /// One byte.
    pub const BYTE: u8 = 2;
    /// Two bytes.
    pub const HALF: u8 = 3;
    /// A value of the given size follows.
    pub const SIZED: u8 = 4;
}

/// Attribute codes that the writer or a loader has a use for.
pub mod code {
    /// `.maxntid`: three numbers.
    pub const MAX_THREADS: u8 = 0x05;
    /// Where a kernel's parameters stand.
    pub const PARAM_CBANK: u8 = 0x0a;
    /// Functions that the module calls and does not define.
    pub const EXTERNS: u8 = 0x0f;
    /// `.reqntid`: three numbers.
    pub const REQNTID: u8 = 0x10;
    /// Bytes of a function's own frame.
    pub const FRAME_SIZE: u8 = 0x11;
    /// Bytes of stack that a kernel needs at least.
    pub const MIN_STACK_SIZE: u8 = 0x12;
    /// One parameter of a kernel.
    pub const KPARAM_INFO: u8 = 0x17;
    /// Bytes of a kernel's parameters.
    pub const CBANK_PARAM_SIZE: u8 = 0x19;
    /// Registers that a thread may have at most.
    pub const MAXREG_COUNT: u8 = 0x1b;
    /// Places of EXIT.
    pub const EXIT_INSTR_OFFSETS: u8 = 0x1c;
    /// Bytes of call/return stack.
    pub const CRS_STACK_SIZE: u8 = 0x1e;
    /// Bytes of stack that a function needs at most.
    pub const MAX_STACK_SIZE: u8 = 0x23;
    /// Places of what the threads of a warp do together because the PTX says so.
    pub const COOP_GROUP_INSTR_OFFSETS: u8 = 0x28;
    /// The masks of these.
    pub const COOP_GROUP_MASK_REGIDS: u8 = 0x29;
    /// There are `wmma` instructions.
    pub const WMMA_USED: u8 = 0x2b;
    /// Registers a thread needs.
    pub const REGCOUNT: u8 = 0x2f;
    /// Places of what the threads of a warp do together for the compiler.
    pub const INT_WARP_WIDE_INSTR_OFFSETS: u8 = 0x31;
    /// Targets of branches through registers.
    pub const INDIRECT_BRANCH_TARGETS: u8 = 0x34;
    /// Workarounds in software.
    pub const SW_WAR: u8 = 0x36;
    /// The toolkit's version.
    pub const CUDA_API_VERSION: u8 = 0x37;
    /// How many mbarriers are initialised.
    pub const NUM_MBARRIERS: u8 = 0x38;
    /// Operations on mbarriers.
    pub const MBARRIER_INSTR_OFFSETS: u8 = 0x39;
    /// Registers of 16-bit atomics made of wider ones.
    pub const ATOM16_EMUL_INSTR_REG_MAP: u8 = 0x2e;
    /// `.reqnctapercluster`: three numbers.
    pub const CTA_PER_CLUSTER: u8 = 0x3d;
    /// `.explicitcluster`
    pub const EXPLICIT_CLUSTER: u8 = 0x3e;
    /// `.maxclusterrank`
    pub const MAX_CLUSTER_RANK: u8 = 0x3f;
    /// `.blocksareclusters`
    pub const BLOCKS_ARE_CLUSTERS: u8 = 0x5b;
    /// Registers with the count of an arrival.
    pub const INSTR_REG_MAP: u8 = 0x40;
    /// Places of calls of functions of the system.
    pub const SYSCALL_OFFSETS: u8 = 0x46;
    /// Places of loads of which some bytes are not used.
    pub const UNUSED_LOAD_BYTE_OFFSET: u8 = 0x44;
    /// One parameter of a list of more than 4352 bytes.
    pub const KPARAM_INFO_V2: u8 = 0x45;
    /// Reserved shared memory is asked for.
    pub const RESERVED_SMEM_USED: u8 = 0x41;
    /// Named barriers.
    pub const NUM_BARRIERS: u8 = 0x4c;
    /// The number of registers changes (`setmaxnreg`).
    pub const REG_RECONFIG: u8 = 0x54;
    /// Marks at instructions, such as spill code.
    pub const ANNOTATIONS: u8 = 0x55;
    /// Which kinds of sparse products there are.
    pub const SPARSE_MMA_MASK: u8 = 0x50;
    /// cuobjdump 13.0 has no name for it; ptxas 13.0.88 writes 0x0101 into every kernel's section.
    pub const UNNAMED_5F: u8 = 0x5f;
}

/// Code and name, by code.
const NAMES: &[(u8, &str)] = &[
    (0x00, "EIATTR_ERROR"),
    (0x01, "EIATTR_PAD"),
    (0x02, "EIATTR_IMAGE_SLOT"),
    (0x03, "EIATTR_JUMPTABLE_RELOCS"),
    (0x04, "EIATTR_CTAIDZ_USED"),
    (0x05, "EIATTR_MAX_THREADS"),
    (0x06, "EIATTR_IMAGE_OFFSET"),
    (0x07, "EIATTR_IMAGE_SIZE"),
    (0x08, "EIATTR_TEXTURE_NORMALIZED"),
    (0x09, "EIATTR_SAMPLER_INIT"),
    (0x0a, "EIATTR_PARAM_CBANK"),
    (0x0b, "EIATTR_SMEM_PARAM_OFFSETS"),
    (0x0c, "EIATTR_CBANK_PARAM_OFFSETS"),
    (0x0d, "EIATTR_SYNC_STACK"),
    (0x0e, "EIATTR_TEXID_SAMPID_MAP"),
    (0x0f, "EIATTR_EXTERNS"),
    (0x10, "EIATTR_REQNTID"),
    (0x11, "EIATTR_FRAME_SIZE"),
    (0x12, "EIATTR_MIN_STACK_SIZE"),
    (0x13, "EIATTR_SAMPLER_FORCE_UNNORMALIZED"),
    (0x14, "EIATTR_BINDLESS_IMAGE_OFFSETS"),
    (0x15, "EIATTR_BINDLESS_TEXTURE_BANK"),
    (0x16, "EIATTR_BINDLESS_SURFACE_BANK"),
    (0x17, "EIATTR_KPARAM_INFO"),
    (0x18, "EIATTR_SMEM_PARAM_SIZE"),
    (0x19, "EIATTR_CBANK_PARAM_SIZE"),
    (0x1a, "EIATTR_QUERY_NUMATTRIB"),
    (0x1b, "EIATTR_MAXREG_COUNT"),
    (0x1c, "EIATTR_EXIT_INSTR_OFFSETS"),
    (0x1d, "EIATTR_S2RCTAID_INSTR_OFFSETS"),
    (0x1e, "EIATTR_CRS_STACK_SIZE"),
    (0x1f, "EIATTR_NEED_CNP_WRAPPER"),
    (0x20, "EIATTR_NEED_CNP_PATCH"),
    (0x21, "EIATTR_EXPLICIT_CACHING"),
    (0x22, "EIATTR_ISTYPEP_USED"),
    (0x23, "EIATTR_MAX_STACK_SIZE"),
    (0x24, "EIATTR_SUQ_USED"),
    (0x25, "EIATTR_LD_CACHEMOD_INSTR_OFFSETS"),
    (0x26, "EIATTR_LOAD_CACHE_REQUEST"),
    (0x27, "EIATTR_ATOM_SYS_INSTR_OFFSETS"),
    (0x28, "EIATTR_COOP_GROUP_INSTR_OFFSETS"),
    (0x29, "EIATTR_COOP_GROUP_MASK_REGIDS"),
    (0x2b, "EIATTR_WMMA_USED"),
    (0x2c, "EIATTR_HAS_PRE_V10_OBJECT"),
    (0x2d, "EIATTR_ATOMF16_EMUL_INSTR_OFFSETS"),
    (0x2e, "EIATTR_ATOM16_EMUL_INSTR_REG_MAP"),
    (0x2f, "EIATTR_REGCOUNT"),
    (0x31, "EIATTR_INT_WARP_WIDE_INSTR_OFFSETS"),
    (0x32, "EIATTR_SHARED_SCRATCH"),
    (0x33, "EIATTR_STATISTICS"),
    (0x34, "EIATTR_INDIRECT_BRANCH_TARGETS"),
    (0x36, "EIATTR_SW_WAR"),
    (0x37, "EIATTR_CUDA_API_VERSION"),
    (0x38, "EIATTR_NUM_MBARRIERS"),
    (0x39, "EIATTR_MBARRIER_INSTR_OFFSETS"),
    (0x3a, "EIATTR_COROUTINE_RESUME_ID_OFFSETS"),
    (0x3b, "EIATTR_SAM_REGION_STACK_SIZE"),
    (0x3c, "EIATTR_PER_REG_TARGET_PERF_STATS"),
    (0x3d, "EIATTR_CTA_PER_CLUSTER"),
    (0x3e, "EIATTR_EXPLICIT_CLUSTER"),
    (0x3f, "EIATTR_MAX_CLUSTER_RANK"),
    (0x40, "EIATTR_INSTR_REG_MAP"),
    (0x41, "EIATTR_RESERVED_SMEM_USED"),
    (0x42, "EIATTR_RESERVED_SMEM_0_SIZE"),
    (0x43, "EIATTR_UCODE_SECTION_DATA"),
    (0x44, "EIATTR_UNUSED_LOAD_BYTE_OFFSET"),
    (0x45, "EIATTR_KPARAM_INFO_V2"),
    (0x46, "EIATTR_SYSCALL_OFFSETS"),
    (0x48, "EIATTR_GRAPHICS_GLOBAL_CBANK"),
    (0x49, "EIATTR_SHADER_TYPE"),
    (0x4a, "EIATTR_VRC_CTA_INIT_COUNT"),
    (0x4b, "EIATTR_TOOLS_PATCH_FUNC"),
    (0x4c, "EIATTR_NUM_BARRIERS"),
    (0x4d, "EIATTR_TEXMODE_INDEPENDENT"),
    (0x4e, "EIATTR_PERF_STATISTICS"),
    (0x4f, "EIATTR_AT_ENTRY_FRAGMENTS"),
    (0x50, "EIATTR_SPARSE_MMA_MASK"),
    (0x51, "EIATTR_TCGEN05_1CTA_USED"),
    (0x52, "EIATTR_TCGEN05_2CTA_USED"),
    (0x53, "EIATTR_GEN_ERRBAR_AT_EXIT"),
    (0x54, "EIATTR_REG_RECONFIG"),
    (0x55, "EIATTR_ANNOTATIONS"),
    (0x57, "EIATTR_STACK_CANARY_TRAP_OFFSETS"),
    (0x58, "EIATTR_STUB_FUNCTION_KIND"),
    (0x59, "EIATTR_LOCAL_CTA_ASYNC_STORE_OFFSETS"),
    (0x5b, "EIATTR_BLOCKS_ARE_CLUSTERS"),
    (0x5c, "EIATTR_SANITIZE"),
    (0x5d, "EIATTR_SYSCALLS_FALLBACK"),
    (0x5e, "EIATTR_CUDA_REQ"),
    (0x61, "EIATTR_RTCORE_ENTRY"),
    (0x62, "EIATTR_CLUSTER_LAUNCH_CONTROL_USED"),
    (0x64, "EIATTR_MIN_PER_CTA_MEMORY_SIZE"),
    (0x65, "EIATTR_IGNOREOOB_CP_ASYNC_BULK_INSTR_OFFSETS"),
    (0x66, "EIATTR_LANGUAGE"),
    (0x68, "EIATTR_GRID_ATTRIBUTES"),
    (0x69, "EIATTR_STACK_OFFSET"),
    (0x6a, "EIATTR_RT_LIVESTATE_SASS_MAP"),
    (0x6b, "EIATTR_NVSAL_SW_WAR"),
    (0x6c, "EIATTR_INSTR_OFFSETS"),
    (0x6d, "EIATTR_PREEXIT_USED"),
];

/// The `EIATTR_…` name of a code.
pub fn name(code: u8) -> Option<&'static str> {
    NAMES.binary_search_by_key(&code, |row| row.0).ok().map(|i| NAMES[i].1)
}

/// A kernel parameter as `EIATTR_KPARAM_INFO` tells it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct KernelParam {
    /// Of its symbol; 0 in what ptxas 13.0.88 writes.
    pub index: u32,
    /// Place in the parameter list.
    pub ordinal: u16,
    /// Bytes from the start of the parameters.
    pub offset: u16,
    /// Bytes.
    pub size: u32,
    /// log2 of what the pointer points to, 0 when unknown.
    pub log_alignment: u8,
    /// The space of what the pointer points to: 0 none, 4 global.
    pub space: u8,
    /// 0x1f in all that ptxas 13.0.88 writes.
    pub bank: u8,
    /// Parameters in shared memory, as GPUs before sm_20 had them.
    pub in_shared: bool,
}

/// One attribute. What has an unexpected format or size is [`Attribute::Raw`], so any entry
/// survives reading and writing.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Attribute {
    /// Registers a thread of the function with this symbol needs.
    RegCount {
        /// Index of the function's symbol.
        symbol: u32,
        /// Of a thread.
        registers: u32,
    },
    /// Bytes of the function's own stack frame.
    FrameSize {
        /// Index of the function's symbol.
        symbol: u32,
        /// How many.
        bytes: u32,
    },
    /// Bytes of stack that a kernel and all that it calls need at least.
    MinStackSize {
        /// Index of the function's symbol.
        symbol: u32,
        /// How many.
        bytes: u32,
    },
    /// Bytes of stack that a function and all that it calls need at most.
    MaxStackSize {
        /// Index of the function's symbol.
        symbol: u32,
        /// How many.
        bytes: u32,
    },
    /// `.maxntid`
    MaxThreads([u32; 3]),
    /// `.reqntid`
    ReqNtid([u32; 3]),
    /// `.reqnctapercluster`
    CtaPerCluster([u32; 3]),
    /// `.maxclusterrank`
    MaxClusterRank(u32),
    /// `.explicitcluster`
    ExplicitCluster,
    /// `.blocksareclusters`
    BlocksAreClusters,
    /// Where parameters stand: the symbol of the constant section, byte offset in it and size.
    ParamCbank {
        /// Index of the symbol of the constant section.
        symbol: u32,
        /// Bytes from the start of constant bank 0.
        offset: u16,
        /// Bytes.
        size: u16,
    },
    /// A parameter of a kernel.
    KernelParam(KernelParam),
    /// A parameter of a list with more than 4352 bytes.
    LargeParam {
        /// Of its symbol.
        index: u32,
        /// Place in the parameter list.
        ordinal: u16,
        /// Bytes from the start of the parameters.
        offset: u16,
        /// Bytes.
        size: u32,
    },
    /// Bytes of a kernel's parameters.
    CbankParamSize(u16),
    /// Registers that a thread may have at most.
    MaxRegCount(u16),
    /// Named barriers.
    NumBarriers(u8),
    /// Mbarriers that are initialised; all ones where that is not known.
    NumMbarriers(u16),
    /// Which kinds of sparse products there are, one bit each.
    SparseMmaMask(u16),
    /// The toolkit's version: 130 for 13.0.
    CudaApiVersion(u32),
    /// Workarounds in software, one bit each.
    SwWar(u32),
    /// Bytes of call/return stack.
    CrsStackSize(u32),
    /// Symbols of functions that the module calls and does not define.
    Externs(Vec<u32>),
    /// Byte offsets of EXIT instructions.
    ExitOffsets(Vec<u32>),
    /// Byte offsets of what the threads of a warp do together because the PTX says so.
    CoopGroupOffsets(Vec<u32>),
    /// The masks of these: all ones, or a register's number above 0x0500_0000.
    CoopGroupMaskRegs(Vec<u32>),
    /// Byte offsets of what the threads of a warp do together for the compiler.
    IntWarpWideOffsets(Vec<u32>),
    /// Words of operations on mbarriers: byte offset, base, displacement, kind.
    MbarrierOffsets(Vec<u32>),
    /// Byte offsets of loads of which some bytes are not used.
    UnusedLoadByteOffsets(Vec<u32>),
    /// Byte offsets of the targets of branches through registers.
    IndirectBranchTargets(Vec<u32>),
    /// The kernel has matrix multiplications.
    WmmaUsed,
    /// Anything else: format, code, and the two bytes or the value.
    Raw {
        /// Its [`format`] byte.
        format: u8,
        /// Its [`code`] byte.
        code: u8,
        /// Two bytes, or as many as the entry says.
        value: Vec<u8>,
    },
}

/// An entry that ends behind the section's end: byte offset of the entry.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error("attribute at byte {0} goes past the end")]
pub struct Truncated(pub usize);

impl Attribute {
    /// Every attribute of an `.nv.info` section.
    pub fn parse_all(data: &[u8]) -> Result<Vec<Attribute>, Truncated> {
        let mut all = Vec::new();
        let mut at = 0;
        while at < data.len() {
            let &[format, code, lo, hi] =
                data.get(at..).and_then(|d| d.first_chunk::<4>()).ok_or(Truncated(at))?;
            let value_at = at + 4;
            if format == format::SIZED {
                let size = usize::from(u16::from_le_bytes([lo, hi]));
                let value = data.get(value_at..value_at + size).ok_or(Truncated(at))?;
                all.push(Attribute::parse(format, code, value));
                at = value_at + size;
            } else {
                all.push(Attribute::parse(format, code, &[lo, hi]));
                at = value_at;
            }
        }
        Ok(all)
    }

    /// One entry; `value` is the two bytes of the entry, or what follows it for the sized format.
    pub fn parse(format: u8, code: u8, value: &[u8]) -> Attribute {
        Attribute::typed(format, code, value).unwrap_or_else(|| Attribute::Raw {
            format,
            code,
            value: value.to_vec(),
        })
    }

    fn typed(format: u8, code: u8, value: &[u8]) -> Option<Attribute> {
        let attribute = match format {
            format::NONE if value == [0, 0] => match code {
                code::WMMA_USED => Attribute::WmmaUsed,
                code::EXPLICIT_CLUSTER => Attribute::ExplicitCluster,
                code::BLOCKS_ARE_CLUSTERS => Attribute::BlocksAreClusters,
                _ => return None,
            },
            format::BYTE => match (code, value) {
                (code::NUM_BARRIERS, &[n, 0]) => Attribute::NumBarriers(n),
                _ => return None,
            },
            format::HALF => {
                let half = u16::from_le_bytes(value.try_into().ok()?);
                match code {
                    code::CBANK_PARAM_SIZE => Attribute::CbankParamSize(half),
                    code::MAXREG_COUNT => Attribute::MaxRegCount(half),
                    code::NUM_MBARRIERS => Attribute::NumMbarriers(half),
                    code::SPARSE_MMA_MASK => Attribute::SparseMmaMask(half),
                    _ => return None,
                }
            }
            format::SIZED => {
                let words = words(value)?;
                match (code, words.as_slice()) {
                    (code::REGCOUNT, &[symbol, registers]) => {
                        Attribute::RegCount { symbol, registers }
                    }
                    (code::FRAME_SIZE, &[symbol, bytes]) => Attribute::FrameSize { symbol, bytes },
                    (code::MIN_STACK_SIZE, &[symbol, bytes]) => {
                        Attribute::MinStackSize { symbol, bytes }
                    }
                    (code::MAX_STACK_SIZE, &[symbol, bytes]) => {
                        Attribute::MaxStackSize { symbol, bytes }
                    }
                    (code::MAX_THREADS, &[x, y, z]) => Attribute::MaxThreads([x, y, z]),
                    (code::REQNTID, &[x, y, z]) => Attribute::ReqNtid([x, y, z]),
                    (code::CTA_PER_CLUSTER, &[x, y, z]) => Attribute::CtaPerCluster([x, y, z]),
                    (code::MAX_CLUSTER_RANK, &[blocks]) => Attribute::MaxClusterRank(blocks),
                    (code::PARAM_CBANK, &[symbol, place]) => Attribute::ParamCbank {
                        symbol,
                        offset: place as u16,
                        size: (place >> 16) as u16,
                    },
                    (code::KPARAM_INFO, &[index, place, packed]) => {
                        Attribute::KernelParam(KernelParam {
                            index,
                            ordinal: place as u16,
                            offset: (place >> 16) as u16,
                            size: packed >> 18,
                            log_alignment: packed as u8,
                            space: (packed >> 8) as u8 & 0xf,
                            bank: (packed >> 12) as u8 & 0x1f,
                            in_shared: packed >> 17 & 1 != 0,
                        })
                    }
                    (code::KPARAM_INFO_V2, &[index, place, size]) => Attribute::LargeParam {
                        index,
                        ordinal: place as u16,
                        offset: (place >> 16) as u16,
                        size,
                    },
                    (code::CUDA_API_VERSION, &[version]) => Attribute::CudaApiVersion(version),
                    (code::SW_WAR, &[bits]) => Attribute::SwWar(bits),
                    (code::CRS_STACK_SIZE, &[bytes]) => Attribute::CrsStackSize(bytes),
                    (code::EXTERNS, _) => Attribute::Externs(words),
                    (code::EXIT_INSTR_OFFSETS, _) => Attribute::ExitOffsets(words),
                    (code::COOP_GROUP_INSTR_OFFSETS, _) => Attribute::CoopGroupOffsets(words),
                    (code::COOP_GROUP_MASK_REGIDS, _) => Attribute::CoopGroupMaskRegs(words),
                    (code::INT_WARP_WIDE_INSTR_OFFSETS, _) => Attribute::IntWarpWideOffsets(words),
                    (code::MBARRIER_INSTR_OFFSETS, _) => Attribute::MbarrierOffsets(words),
                    (code::UNUSED_LOAD_BYTE_OFFSET, _) => Attribute::UnusedLoadByteOffsets(words),
                    (code::INDIRECT_BRANCH_TARGETS, _) => Attribute::IndirectBranchTargets(words),
                    _ => return None,
                }
            }
            _ => return None,
        };
        Some(attribute)
    }

    /// Appends the entry's bytes. A sized value is cut at 65535 bytes, the most that the format can
    /// say.
    pub fn encode(&self, out: &mut Vec<u8>) {
        let mut sized = |code: u8, words: &[u32]| {
            let words = &words[..words.len().min(0x3fff)];
            out.extend([format::SIZED, code]);
            out.extend((words.len() as u16 * 4).to_le_bytes());
            words.iter().for_each(|word| out.extend(word.to_le_bytes()));
        };
        match self {
            Attribute::RegCount { symbol, registers } => {
                sized(code::REGCOUNT, &[*symbol, *registers]);
            }
            Attribute::FrameSize { symbol, bytes } => sized(code::FRAME_SIZE, &[*symbol, *bytes]),
            Attribute::MinStackSize { symbol, bytes } => {
                sized(code::MIN_STACK_SIZE, &[*symbol, *bytes]);
            }
            Attribute::MaxStackSize { symbol, bytes } => {
                sized(code::MAX_STACK_SIZE, &[*symbol, *bytes]);
            }
            Attribute::MaxThreads(n) => sized(code::MAX_THREADS, n),
            Attribute::ReqNtid(n) => sized(code::REQNTID, n),
            Attribute::CtaPerCluster(n) => sized(code::CTA_PER_CLUSTER, n),
            Attribute::MaxClusterRank(n) => sized(code::MAX_CLUSTER_RANK, &[*n]),
            Attribute::ParamCbank { symbol, offset, size } => {
                sized(code::PARAM_CBANK, &[*symbol, u32::from(*offset) | u32::from(*size) << 16]);
            }
            Attribute::KernelParam(p) => {
                let packed = u32::from(p.log_alignment)
                    | u32::from(p.space & 0xf) << 8
                    | u32::from(p.bank & 0x1f) << 12
                    | u32::from(p.in_shared) << 17
                    | p.size << 18;
                let place = u32::from(p.ordinal) | u32::from(p.offset) << 16;
                sized(code::KPARAM_INFO, &[p.index, place, packed]);
            }
            Attribute::LargeParam { index, ordinal, offset, size } => {
                let place = u32::from(*ordinal) | u32::from(*offset) << 16;
                sized(code::KPARAM_INFO_V2, &[*index, place, *size]);
            }
            Attribute::CudaApiVersion(version) => sized(code::CUDA_API_VERSION, &[*version]),
            Attribute::SwWar(bits) => sized(code::SW_WAR, &[*bits]),
            Attribute::CrsStackSize(bytes) => sized(code::CRS_STACK_SIZE, &[*bytes]),
            Attribute::Externs(list) => sized(code::EXTERNS, list),
            Attribute::ExitOffsets(list) => sized(code::EXIT_INSTR_OFFSETS, list),
            Attribute::CoopGroupOffsets(list) => sized(code::COOP_GROUP_INSTR_OFFSETS, list),
            Attribute::CoopGroupMaskRegs(list) => sized(code::COOP_GROUP_MASK_REGIDS, list),
            Attribute::IntWarpWideOffsets(list) => sized(code::INT_WARP_WIDE_INSTR_OFFSETS, list),
            Attribute::MbarrierOffsets(list) => sized(code::MBARRIER_INSTR_OFFSETS, list),
            Attribute::UnusedLoadByteOffsets(list) => sized(code::UNUSED_LOAD_BYTE_OFFSET, list),
            Attribute::IndirectBranchTargets(list) => sized(code::INDIRECT_BRANCH_TARGETS, list),
            Attribute::CbankParamSize(n) => out.extend(half(code::CBANK_PARAM_SIZE, *n)),
            Attribute::MaxRegCount(n) => out.extend(half(code::MAXREG_COUNT, *n)),
            Attribute::NumMbarriers(n) => out.extend(half(code::NUM_MBARRIERS, *n)),
            Attribute::SparseMmaMask(n) => out.extend(half(code::SPARSE_MMA_MASK, *n)),
            Attribute::NumBarriers(n) => out.extend([format::BYTE, code::NUM_BARRIERS, *n, 0]),
            Attribute::WmmaUsed => out.extend([format::NONE, code::WMMA_USED, 0, 0]),
            Attribute::ExplicitCluster => out.extend([format::NONE, code::EXPLICIT_CLUSTER, 0, 0]),
            Attribute::BlocksAreClusters => {
                out.extend([format::NONE, code::BLOCKS_ARE_CLUSTERS, 0, 0]);
            }
            Attribute::Raw { format, code, value } => {
                out.extend([*format, *code]);
                if *format == format::SIZED {
                    let size = value.len().min(0xffff);
                    out.extend((size as u16).to_le_bytes());
                    out.extend(&value[..size]);
                } else {
                    out.extend([0, 1].map(|i| value.get(i).copied().unwrap_or(0)));
                }
            }
        }
    }

    /// Byte offsets of instructions that the attribute names, in its order (observed: what nvdisasm
    /// 13.5.37 gives labels).
    pub fn places(&self) -> Vec<u32> {
        // Where the offsets of an entry stand: one every so many words.
        let every = match self.code() {
            code::INDIRECT_BRANCH_TARGETS => {
                let branches = self.indirect_branches();
                return branches.into_iter().flat_map(|(b, t)| [vec![b], t].concat()).collect();
            }
            code::UNUSED_LOAD_BYTE_OFFSET | code::ATOM16_EMUL_INSTR_REG_MAP => 2,
            code::INSTR_REG_MAP => 3,
            code::MBARRIER_INSTR_OFFSETS => 4,
            code::SYSCALL_OFFSETS => 1,
            code if name(code).is_some_and(|n| n.ends_with("_INSTR_OFFSETS")) => 1,
            _ => return Vec::new(),
        };
        self.value_words().into_iter().step_by(every).collect()
    }

    /// What `EIATTR_INDIRECT_BRANCH_TARGETS` says: the byte offset of each BRX and those of its
    /// targets.
    pub fn indirect_branches(&self) -> Vec<(u32, Vec<u32>)> {
        let mut all = Vec::new();
        if self.code() != code::INDIRECT_BRANCH_TARGETS {
            return all;
        }
        let words = self.value_words();
        let mut rest = words.as_slice();
        while let [branch, _, count, after @ ..] = rest {
            let count = (*count as usize).min(after.len());
            all.push((*branch, after[..count].to_vec()));
            rest = &after[count..];
        }
        all
    }

    /// The whole words of a sized value.
    fn value_words(&self) -> Vec<u32> {
        let mut bytes = Vec::new();
        self.encode(&mut bytes);
        let (words, _) = bytes.get(4..).unwrap_or_default().as_chunks::<4>();
        words.iter().map(|w| u32::from_le_bytes(*w)).collect()
    }

    /// Where functions of the system are called.
    pub fn syscall_offsets(places: &[u32]) -> Attribute {
        let value = places.iter().flat_map(|at| at.to_le_bytes()).collect();
        Attribute::Raw { format: format::SIZED, code: code::SYSCALL_OFFSETS, value }
    }

    /// Whether it is what [`Attribute::syscall_offsets`] makes.
    pub fn is_syscall_offsets(&self) -> bool {
        matches!(self, Attribute::Raw { code: code::SYSCALL_OFFSETS, .. })
    }

    /// The value's size can be said in the entry's two bytes.
    pub fn fits(&self) -> bool {
        let size = match self {
            Attribute::Externs(list)
            | Attribute::ExitOffsets(list)
            | Attribute::CoopGroupOffsets(list)
            | Attribute::CoopGroupMaskRegs(list)
            | Attribute::IntWarpWideOffsets(list)
            | Attribute::MbarrierOffsets(list)
            | Attribute::UnusedLoadByteOffsets(list)
            | Attribute::IndirectBranchTargets(list) => list.len() * 4,
            Attribute::Raw { value, .. } => value.len(),
            _ => 0,
        };
        size <= usize::from(u16::MAX)
    }

    /// The attribute's code byte.
    pub fn code(&self) -> u8 {
        let mut bytes = orias_components::scratch!(Vec<u8>);
        self.encode(&mut bytes);
        bytes[1]
    }

    /// The attribute's `EIATTR_…` name.
    pub fn name(&self) -> Option<&'static str> {
        name(self.code())
    }
}

fn half(code: u8, value: u16) -> [u8; 4] {
    let [lo, hi] = value.to_le_bytes();
    [format::HALF, code, lo, hi]
}

/// Little-endian words; None when the size is no multiple of four.
fn words(value: &[u8]) -> Option<Vec<u32>> {
    let (words, rest) = value.as_chunks::<4>();
    rest.is_empty().then(|| words.iter().map(|w| u32::from_le_bytes(*w)).collect())
}
