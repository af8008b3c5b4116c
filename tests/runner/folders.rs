//! The folders of the kernel corpus.

use super::oracle::workspace;

/// The kernels that the compiler must take whole: it compiles them at every level, and the table
/// has every word that ptxas makes of them.
pub const LINE: [&str; 30] = [
    "vecadd",
    "copy_vec4",
    "gather_strided",
    "image_u8",
    "reduce_tree",
    "reduce_warp",
    "reduce_atomic",
    "scan_hillis",
    "histogram",
    "transpose_pad",
    "gemm_tiled",
    "gemm_reg4x4",
    "gemv",
    "spmv_csr",
    "stencil2d",
    "conv1d_const",
    "bitonic_sort",
    "mandelbrot",
    "collatz",
    "branches",
    "bitops",
    "crc32",
    "intdiv32",
    "local_array",
    "nbody",
    "dyn_shared",
    "sha256",
    "warp_votes",
    "tri_vecadd",
    "tri_softmax",
];

/// Every folder with a `case.json`, by name.
///
/// # Panics
/// When the corpus cannot be read: the checkout is damaged.
pub fn all() -> Vec<String> {
    let entries = std::fs::read_dir(workspace().join("tests/corpus")).expect("the corpus is there");
    let mut names: Vec<String> = entries
        .map(|entry| entry.expect("a readable entry").path())
        .filter(|path| path.join("case.json").is_file())
        .filter_map(|path| Some(path.file_name()?.to_string_lossy().into_owned()))
        .collect();
    names.sort();
    names
}
