//! What the notes, `.nv.compat`, `.nv.info` and `.nv.info.K` say.

use super::attribute::{Attribute, KernelParam, code, format};
use super::model::{CubinModel, CubinTarget, Kernel, Tool};
use smallvec::SmallVec;

/// CUDA 13.0 in `EIATTR_CUDA_API_VERSION` and `.note.nv.cuinfo`.
const TOOLKIT: u16 = 130;
const OWNER: &[u8; 12] = b"NVIDIA Corp\0";
/// The most registers a thread can have.
const ALL_REGISTERS: u16 = 255;
/// Bank number in `EIATTR_KPARAM_INFO` (observed: always all ones).
const PARAM_BANK: u8 = 0x1f;
/// Larger parameter lists are described by `EIATTR_KPARAM_INFO_V2`: the bytes that a launch could
/// pass before CUDA 12.1 (observed: 4100 bytes the old way, 4356 the new one).
const LARGEST_OLD_PARAMS: u32 = 4352;
/// Erratum bits in `EIATTR_SW_WAR` (observed: always 8 on sm_90).
const SW_WAR: u32 = 8;

/// What is said of places in the code, in order (observed: one kernel that has them all).
const BEHIND_5F: [u8; 10] = [
    code::UNUSED_LOAD_BYTE_OFFSET,
    code::INT_WARP_WIDE_INSTR_OFFSETS,
    code::COOP_GROUP_MASK_REGIDS,
    code::COOP_GROUP_INSTR_OFFSETS,
    code::REG_RECONFIG,
    code::SYSCALL_OFFSETS,
    code::INSTR_REG_MAP,
    code::MBARRIER_INSTR_OFFSETS,
    code::NUM_MBARRIERS,
    code::ATOM16_EMUL_INSTR_REG_MAP,
];

fn note(kind: u32, content: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    out.extend((OWNER.len() as u32).to_le_bytes());
    out.extend((content.len() as u32).to_le_bytes());
    out.extend(kind.to_le_bytes());
    out.extend(OWNER);
    out.extend(content);
    out
}

/// `.note.nv.tkinfo`: version, then the offsets of five texts (object name, tool, version, branch,
/// arguments), then they.
pub fn toolkit_note(tool: &Tool) -> Vec<u8> {
    let mut strings = Vec::new();
    let mut head = vec![2u32];
    for text in ["", &tool.name, &tool.version, &tool.branch, &tool.arguments] {
        head.push(strings.len() as u32);
        strings.extend(text.bytes().filter(|b| *b != 0));
        strings.push(0);
    }
    let mut content: Vec<u8> = head.iter().flat_map(|w| w.to_le_bytes()).collect();
    content.extend(strings);
    content.resize(content.len().next_multiple_of(4), 0);
    note(2000, &content)
}

/// `.note.nv.cuinfo`: version, virtual SM, toolkit.
pub fn cuda_note(target: &CubinTarget) -> Vec<u8> {
    let fields = [2, u16::from(target.sm), TOOLKIT, 0];
    note(1000, &fields.map(u16::to_le_bytes).concat())
}

/// `.nv.compat` (observed; names from cuobjdump 13.0): CUDA_ACCELERATOR_TARGET, ISA_CLASS,
/// INST_TCGEN05_MMA, an unnamed one, INST_TENSORMAP_V1, ENABLE_OPPORTUNISTIC_FINALIZATION,
/// CAN_FASTPATH_FINALIZE.
pub fn compat(target: &CubinTarget) -> Vec<u8> {
    let mut out = Vec::new();
    for (code, value) in [(9, u8::from(target.accelerated)), (2, target.isa_class), (5, 5)] {
        out.extend([format::BYTE, code, value, 0]);
    }
    out.extend([format::HALF, 7, 1, 1]);
    for (code, value) in [(3, target.tensor_maps), (6, 1)] {
        out.extend([format::BYTE, code, value, 0]);
    }
    out.extend([format::SIZED, 0xb, 8, 0]);
    out.extend([0; 8]);
    out
}

/// Symbol numbers that attributes name.
#[derive(Clone, Debug, Default)]
pub struct KernelSymbols {
    /// The kernel itself.
    pub kernel: u32,
    /// Its constant bank 0 section.
    pub constant0: u32,
    /// Its inner functions, in their order.
    pub inner: Vec<u32>,
    /// Functions of the system that it calls.
    pub externals: Vec<u32>,
    /// The same, in the order of their calls.
    pub external_calls: Vec<u32>,
}

/// `.nv.info`; `kernels` in text order.
pub fn module_attributes(kernels: &[(&Kernel, KernelSymbols)]) -> Vec<Attribute> {
    let mut all = Vec::new();
    if kernels.is_empty() {
        all.push(unnamed_5f());
    }
    for (kernel, symbols) in kernels.iter().rev() {
        all.push(Attribute::RegCount { symbol: symbols.kernel, registers: kernel.registers });
        for (inner, symbol) in kernel.inner.iter().zip(&symbols.inner).rev() {
            all.push(Attribute::FrameSize { symbol: *symbol, bytes: inner.frame_bytes });
        }
        all.push(Attribute::FrameSize { symbol: symbols.kernel, bytes: kernel.frame_bytes });
    }
    for (kernel, symbols) in kernels {
        let bytes = kernel.min_stack_bytes;
        all.push(Attribute::MinStackSize { symbol: symbols.kernel, bytes });
    }
    all
}

/// ptxas 13.0.88 writes 0x0101 under this code, which cuobjdump does not name either.
fn unnamed_5f() -> Attribute {
    Attribute::Raw { format: format::HALF, code: 0x5f, value: vec![1, 1] }
}

/// `.nv.info.K`, in ptxas's order.
pub fn kernel_attributes(
    model: &CubinModel,
    kernel: &Kernel,
    symbols: &KernelSymbols,
) -> Vec<Attribute> {
    let mut all = Vec::with_capacity(16 + kernel.params.len());
    all.extend(kernel.clusters.iter().find(|a| matches!(a, Attribute::BlocksAreClusters)).cloned());
    all.push(Attribute::CudaApiVersion(u32::from(TOOLKIT)));
    for (ordinal, param) in kernel.params.iter().enumerate().rev() {
        all.push(if kernel.param_bytes > LARGEST_OLD_PARAMS {
            Attribute::LargeParam {
                index: 0,
                ordinal: ordinal as u16,
                offset: param.offset as u16,
                size: param.size,
            }
        } else {
            Attribute::KernelParam(KernelParam {
                index: 0,
                ordinal: ordinal as u16,
                offset: param.offset as u16,
                size: param.size,
                log_alignment: param.log_alignment,
                space: param.space,
                bank: PARAM_BANK,
                in_shared: false,
            })
        });
    }
    let late = |a: &&Attribute| !matches!(a, Attribute::BlocksAreClusters);
    all.extend(kernel.clusters.iter().filter(late).cloned());
    let of_code: SmallVec<[(u8, &Attribute); 8]> =
        kernel.code_attributes.iter().map(|a| (a.code(), a)).collect();
    let code = |wanted: u8| {
        let found = of_code.iter().find(|(code, _)| *code == wanted);
        found.map(|(_, attribute)| (*attribute).clone())
    };
    all.extend(code(code::RESERVED_SMEM_USED));
    all.push(code(code::SPARSE_MMA_MASK).unwrap_or(Attribute::SparseMmaMask(0)));
    all.extend(code(code::WMMA_USED));
    all.push(Attribute::MaxRegCount(kernel.max_registers.unwrap_or(ALL_REGISTERS)));
    if kernel.barriers > 0 {
        all.push(Attribute::NumBarriers(kernel.barriers));
    }
    if !symbols.externals.is_empty() {
        all.push(Attribute::Externs(symbols.externals.clone()));
    }
    all.extend(code(code::ANNOTATIONS));
    all.push(unnamed_5f());
    all.extend(BEHIND_5F.iter().filter_map(|wanted| code(*wanted)));
    if !kernel.exits.is_empty() {
        all.push(Attribute::ExitOffsets(kernel.exits.clone()));
    }
    all.extend(kernel.max_threads.map(Attribute::MaxThreads));
    all.extend(kernel.required_threads.map(Attribute::ReqNtid));
    all.extend(code(code::INDIRECT_BRANCH_TARGETS));
    if kernel.divergent {
        all.push(Attribute::CrsStackSize(0));
    }
    if kernel.param_bytes > 0 {
        let size = kernel.param_bytes as u16;
        all.push(Attribute::CbankParamSize(size));
        let (symbol, offset) = (symbols.constant0, model.target.param_base);
        all.push(Attribute::ParamCbank { symbol, offset, size });
    }
    all.push(Attribute::SwWar(SW_WAR));
    all
}
