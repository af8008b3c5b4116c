//! What kernels of the coverage set may end with besides equal buffers.

use orias_isa::differ::End;

/// What kernels of the coverage set may end with besides equal buffers: group, a part of the kernel's name, the ends, and why. The
/// inputs are the same for all, so that some addresses mean nothing; a kernel that no engine can run is held to nothing.
pub const EXCEPT: &[(&str, &str, &[&str], &str)] = &[
    ("mbarrier", "", &["simulator"], "the simulator wants a barrier that was initialised"),
    ("mbarrier", "init", &["differ"], "the object's bits are no matter of PTX"),
    ("tensor", "", &["simulator", "interpreter"], "random bits are no tensor map"),
    ("tensor", "tensormap_replace", &["differ"], "random bits are no tensor map"),
    ("wgmma", "", &["interpreter", "simulator"], "random bits are no descriptor of shared memory"),
    ("wmma", "strider", &["interpreter", "simulator"], "a random stride leads out of all memory"),
    (
        "wmma",
        "wmma_mma",
        &["differ", "near"],
        "random registers are no fragment: their places are no matter of PTX",
    ),
    ("warp", "", &["simulator"], "a random mask does not hold the thread itself"),
    ("ld", "ld_const", &["interpreter"], "past the variable, not past the bank"),
    ("addressing", "ld_local_abs", &["interpreter"], "the stack lies elsewhere"),
    (
        "addressing",
        "ld_shared_var_plain",
        &["differ"],
        "the lanes of a warp store to one place, in any order",
    ),
    ("mov", "addr_off_local", &["differ"], "the stack lies elsewhere"),
    ("mov", "addr_global", &["near", "differ"], "variables lie elsewhere"),
    ("cvt", "cvta_to_", &["differ"], "windows lie elsewhere"),
    ("cvt", "cvt_rp_ftz_sat_f16_f32", &["differ"], "ptxas leaves out .ftz"),
    ("cachectl", "createpolicy", &["differ"], "a policy's bits are no matter of PTX"),
    ("cp_async", "_src", &["differ"], "a source larger than the copy is undefined"),
    (
        "texture",
        "istypep",
        &["interpreter"],
        "no engine has textures; ptxas folds the question away",
    ),
    ("sreg", "clock", &["differ"], "time"),
    ("sreg", "globaltimer", &["differ"], "time"),
    ("int", "bfe_s64", &["differ"], "ptxas reads the whole register as position, PTX its low byte"),
    ("int", "bfi_b64", &["differ"], "ptxas reads the whole register as position, PTX its low byte"),
    ("lexical", "guard_shfl", &["differ"], "it reads lanes whose guard is false"),
    (
        "f32",
        "sin_approx_f32",
        &["differ"],
        "of a subnormal number: the error is far below the bound",
    ),
    (
        "video",
        "",
        &["differ", "near"],
        "ptxas saturates and compares otherwise than PTX says: sums of 33 bits",
    ),
];

/// Whether floats take part: those may be rounded differently, and NaNs have different bits.
pub fn has_floats(kernel: &str) -> bool {
    ["f16", "f32", "f64", "e4m3", "e5m2"].iter().any(|ty| kernel.contains(ty))
}

pub fn kind(end: &End) -> (&'static str, String) {
    match end {
        End::Same => ("same", String::new()),
        End::Near(text) => ("near", text.clone()),
        End::Differ(text) => ("differ", text.clone()),
        End::AsReference(text) => ("as the reference", text.clone()),
        End::Order(text) => ("order", text.clone()),
        End::Interpreter(text) => ("interpreter", text.clone()),
        End::Simulator(text) => ("simulator", text.clone()),
        End::Both(a, b) => ("both", format!("{a}; simulator: {b}")),
        End::Unwritten(text) => ("unwritten", text.clone()),
    }
}
