//! What the simulator runs: a loaded module. Whoever reads the file fills it, with every relocation
//! applied.

use crate::Target;

/// Where the first text lies in the code address space. Texts follow each other at multiples of
/// [`TEXT_ALIGN`].
pub const CODE_BASE: u64 = 0x7f05_0000_0000;

/// Alignment of a text (bytes).
pub const TEXT_ALIGN: u64 = 128;

/// The stack pointer of a thread before its first frame: local memory ends here (bytes, in the
/// local window).
pub const STACK_TOP: u32 = 0x00ff_f000;

/// The value of the memory descriptor in constant bank 0: accesses must pass it on.
pub const DESCRIPTOR: u64 = 0x0018_1001_dcba_9080;

/// Where bank 0 says which generic address the parameters have, for `cvta.param` (observed: ptxas
/// 13.0.88, sm_90a; before sm_90 parameters stand there).
const PARAM_POINTER: usize = 0x198;

/// Where bank 0 says where the system's part of shared memory ends (`%reserved_smem_offset_end`).
const SHARED_END: usize = 0x68;

/// Where it says how many SMs there are (`%nsmid`): one, on which all CTAs run.
const SM_COUNT: usize = 0x10c;

/// Where bank 0 says which generic address bank 3 has, for `cvta.const` (observed: ptxas 13.0.88,
/// sm_90a).
const CONST_POINTER: usize = 0xd0;

/// Machine words of one function and those inside it.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Text {
    /// The function's name.
    pub name: String,
    /// Address of the first word: [`CODE_BASE`] or behind it.
    pub address: u64,
    /// Machine words, 16 bytes each.
    pub bytes: Vec<u8>,
}

/// A kernel, and what it needs.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Kernel {
    /// The kernel's name.
    pub name: String,
    /// Index in [`Image::texts`].
    pub text: usize,
    /// General registers of a thread.
    pub registers: u32,
    /// Static shared memory (bytes).
    pub shared_bytes: u32,
    /// Local memory of a thread (bytes): frames and stack.
    pub local_bytes: u32,
    /// Byte offset of the parameters in constant bank 0.
    pub param_base: u32,
    /// The kernel's own constant banks, by number.
    pub constants: Vec<(u8, Vec<u8>)>,
}

/// A module.
#[derive(Clone, Debug)]
pub struct Image {
    /// The SM whose words they are.
    pub target: &'static Target,
    /// All functions, in the order of their addresses.
    pub texts: Vec<Text>,
    /// Functions that may be launched.
    pub kernels: Vec<Kernel>,
    /// Constant banks of the whole module (3, 4), by number.
    pub constants: Vec<(u8, Vec<u8>)>,
    /// The generic address of bank 3.
    pub const_window: u64,
}

/// One launch.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Launch {
    /// CTAs in each direction.
    pub grid: [u32; 3],
    /// Threads of a CTA in each direction.
    pub block: [u32; 3],
    /// CTAs of a cluster, which divide the grid; None: each CTA is a cluster of its own, and no
    /// cluster was asked for.
    pub cluster: Option<[u32; 3]>,
    /// Dynamic shared memory (bytes).
    pub dynamic_shared: u32,
    /// The parameter block, from `param_base` on.
    pub params: Vec<u8>,
}

/// What the driver says of clusters in bank 0 (observed: what ptxas makes of `%cluster_…` and
/// `%is_explicit_cluster`): at 0x140 whether the launch has clusters, at 0x144 CTAs of a cluster,
/// at 0x150 what a CTA's number is multiplied by to give that of its cluster, at 0x15c clusters of
/// the grid, at 0x188 CTAs of a cluster in all.
fn cluster_constants(launch: &Launch, put: &mut impl FnMut(usize, &[u8])) {
    let shape = launch.cluster.unwrap_or([1; 3]);
    put(0x140, &u32::from(launch.cluster.is_some()).to_le_bytes());
    for (i, n) in shape.into_iter().enumerate() {
        // Not below the true quotient: the product is truncated.
        let near = 1.0 / n as f32;
        let exact = f64::from(near) * f64::from(n) >= 1.0;
        let factor = if exact { near } else { near.next_up() };
        put(0x144 + 4 * i, &n.to_le_bytes());
        put(0x150 + 4 * i, &factor.to_le_bytes());
        put(0x15c + 4 * i, &(launch.grid[i] / n.max(1)).to_le_bytes());
    }
    put(0x188, &shape.iter().product::<u32>().to_le_bytes());
}

/// The constant banks that a kernel sees.
#[derive(Clone, Debug, Default)]
pub struct Constants {
    banks: Vec<(u8, Vec<u8>)>,
}

impl Constants {
    /// Bank 0 as the driver fills it on sm_90 (observed: ptxas 13.0.88): block and grid sizes from
    /// 0, the local window at 0x20, the stack pointer at 0x28, the descriptor at 0x208, the
    /// parameters behind it. `params` is the generic address of the parameters.
    pub fn new(image: &Image, kernel: &Kernel, launch: &Launch, params: u64) -> Constants {
        let base = kernel.param_base as usize;
        // Loads of small parameters read whole words.
        let mut bank0 = vec![0; (base + launch.params.len()).next_multiple_of(16)];
        let mut put = |at: usize, bytes: &[u8]| {
            if bank0.len() < at + bytes.len() {
                bank0.resize(at + bytes.len(), 0);
            }
            bank0[at..at + bytes.len()].copy_from_slice(bytes);
        };
        for (i, n) in launch.block.iter().chain(&launch.grid).enumerate() {
            put(4 * i, &n.to_le_bytes());
        }
        cluster_constants(launch, &mut put);
        put(0x2c, &launch.dynamic_shared.to_le_bytes());
        // `%reserved_smem_offset_end` and `%nsmid`: one SM.
        put(0x68, &(crate::memory::SHARED_RESERVED as u32).to_le_bytes());
        put(0x10c, &1u32.to_le_bytes());
        put(0x20, &crate::memory::LOCAL_WINDOW.to_le_bytes());
        put(image.target.const_stack as usize, &STACK_TOP.to_le_bytes());
        put(image.target.const_descriptor as usize, &DESCRIPTOR.to_le_bytes());
        put(PARAM_POINTER, &params.to_le_bytes());
        let last = params + (launch.params.len() as u64).saturating_sub(1);
        put(PARAM_POINTER + 8, &last.to_le_bytes());
        put(SHARED_END, &image.target.shared_reserved.to_le_bytes());
        put(SM_COUNT, &1u32.to_le_bytes());
        put(CONST_POINTER, &image.const_window.to_le_bytes());
        put(base, &launch.params);
        let mut banks = vec![(0, bank0)];
        banks.extend(kernel.constants.iter().cloned());
        banks.extend(image.constants.iter().cloned());
        Constants { banks }
    }

    /// The little-endian value of 1, 2, 4 or 8 bytes.
    pub fn load(&self, bank: u8, offset: i64, size: u32) -> Option<u64> {
        let from = usize::try_from(offset).ok()?;
        let bytes = &self.banks.iter().find(|b| b.0 == bank)?.1;
        let bytes = bytes.get(from..from.checked_add(size as usize)?)?;
        Some(bytes.iter().rev().fold(0, |x, b| x << 8 | u64::from(*b)))
    }
}
