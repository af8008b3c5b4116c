//! The words that PTX knows: opcodes and modifiers.
//!
//! Source: PTX ISA 9.0, "Instruction Set"; which words ptxas 13.0.88 knows was observed from what
//! it answers to each.

use crate::ptx::types::Type;
use orias_components::names::Names;

/// Opcodes that [`super::table`] has no rows for: their operands are checked by what compiles them;
/// sorted.
#[rustfmt::skip]
pub(super) const OPCODES: &[&str] = &[
    "activemask", "alloca", "applypriority", "bar", "barrier", "bmsk", "brkpt", "call", "clusterlaunchcontrol", "cp",
    "createpolicy", "cvt", "discard", "elect", "fence", "fns", "getctarank", "griddepcontrol", "istypep", "ldmatrix",
    "mapa", "match", "mbarrier", "mma", "movmatrix", "multimem", "pmevent", "prefetch", "prefetchu", "red", "redux",
    "setmaxnreg", "stackrestore", "stacksave", "stmatrix", "suld", "suq", "sured", "sust", "szext", "tcgen05",
    "tensormap", "tex", "tld4", "txq", "vabsdiff", "vabsdiff2", "vabsdiff4", "vadd", "vadd2", "vadd4", "vavrg2",
    "vavrg4", "vmad", "vmax", "vmax2", "vmax4", "vmin", "vmin2", "vmin4", "vote", "vset", "vset2", "vset4", "vshl",
    "vshr", "vsub", "vsub2", "vsub4", "wgmma", "wmma",
];

/// Modifiers of letters alone, and those with digits that follow no pattern; sorted.
#[rustfmt::skip]
const MODIFIERS: &[&str] = &[
    "L1", "L2", "NaN", "a", "a1d", "a2d", "a2dms", "abs", "acq_rel", "acquire", "acube", "add", "addr_mode_0",
    "addr_mode_1", "addr_mode_2", "alias", "aligned", "all", "alloc", "and", "any", "approx", "array_size", "arrive",
    "arrive_drop", "ashr", "async", "async_group", "b", "b0", "b1", "b1024", "b2", "b3", "b4e", "ballot", "base",
    "bfly", "bidx", "block16", "block32", "block_scale", "box_dim", "bulk", "bulk_group", "c", "ca", "cas", "cc",
    "cg", "channel_data_type", "channel_order", "clamp", "cluster", "clusterid", "col", "commit", "commit_group",
    "complete_tx", "const", "cp", "cp_async", "cp_fenceproxy", "cp_mask", "cs", "cta", "cube", "cv", "cvt", "d", "dealloc",
    "dec", "depth", "down", "ecl", "ecr", "element_stride", "elemtype", "eq", "equ", "exch", "exit", "expect_tx",
    "f4e", "fence", "fill_mode", "filter_mode", "finite", "force_unnormalized_coords", "fractional", "ftz", "full",
    "g", "ge", "generic", "get_first_ctaid", "geu", "gl", "global", "global_address", "global_dim", "global_stride",
    "gpu", "grad", "gt", "gtu", "h0", "h1", "height", "hi", "hs", "idx", "im2col", "im2col_no_offs", "inc",
    "infinite", "init", "interleave_layout", "inval", "is_canceled", "l", "launch_dependents", "ld", "ld_reduce",
    "le", "leu", "level", "lo", "load", "local", "ls", "lt", "ltu", "lu", "mask", "max", "mbarrier", "mbarrier_init",
    "memory_layout", "min", "mma", "mma_async", "mmio", "mul", "nan", "nc", "ne", "neu", "noComplete", "noftz",
    "noinc", "normal", "normalized_coords", "not", "notanumber", "num", "num_mipmap_levels", "num_samples", "number",
    "oob", "op_restrict", "or", "p", "pack", "param", "parity", "pending_count", "po", "popc", "prefetch",
    "prefetchu", "proxy", "query_cancel", "r", "range", "rank", "rc16", "rc8", "read", "red", "red_async", "reduce",
    "reg", "relaxed", "release", "relinquish_alloc_permit", "relu", "replace", "rm", "rmi", "rn", "rna", "rni", "row",
    "rp", "rpi", "rs", "rsqrt", "rz", "rzi", "s", "s16x2", "s2", "s4", "samplerref", "sat", "satfinite", "sc",
    "scale_vec", "seq_cst", "set", "shared", "shfl", "shift", "shiftamt", "shl", "shr", "shr15", "shr7", "sp",
    "sparse", "st", "store", "sub", "subnormal", "surfref", "swizzle_atomicity", "swizzle_mode", "sync",
    "sync_restrict", "sys", "tensor", "tensormap", "test_wait", "texref", "tile", "to", "trans", "trap", "trigger",
    "trunc", "try_wait", "u16x2", "u2", "u4", "ue4m3", "ue8m0", "uni", "unordered", "up", "v2", "v4", "v8",
    "volatile", "w", "wait", "wait_all", "wait_group", "warp", "wb", "weak", "wide", "width", "wrap", "ws", "wt", "x",
    "xor", "xorsign", "zero", "zfill",
];

/// Types of instructions that no variable has: narrow integers, bits, packed and narrow floats,
/// scales.
#[rustfmt::skip]
const NARROW: &[&str] = &[
    "b1", "b4x16", "b4x16_p64", "b6x16_p32", "e2m1", "e2m1x2", "e2m1x4", "e2m3", "e2m3x2", "e2m3x4", "e3m2", "e3m2x2",
    "e3m2x4", "e4m3x4", "e5m2x4", "s2", "s4", "u2", "u4", "ue4m3", "ue8m0", "ue8m0x2",
];

/// Whether a word is a type, of variables or of instructions alone.
pub(super) fn is_type(word: &str) -> bool {
    Type::parse(word).is_some() || NARROW.binary_search(&word).is_ok()
}

static MODIFIERS_AT: Names<1024> = Names::new(MODIFIERS);

/// Whether some instruction has this modifier (types are known elsewhere).
pub(super) fn is_modifier(word: &str) -> bool {
    MODIFIERS_AT.find(word, |at| MODIFIERS[at]).is_some() || has_pattern(word)
}

/// Words that are made of numbers: scopes with `::`, shapes (`m16n8k16`, `16x64b`, `2d`), counts
/// (`x4`), narrow float formats.
fn has_pattern(word: &str) -> bool {
    let mut bytes = word.bytes();
    let (first, second) = (bytes.next().unwrap_or(0), bytes.next().unwrap_or(0));
    word.contains("::")
        || first.is_ascii_digit()
        || matches!(first, b'm' | b'x') && second.is_ascii_digit()
        || word.starts_with("warpx")
        || is_narrow_format(word)
}

/// `e4m3`, `e2m1x2`, `ue8m0x2`, `b6x16_p32`.
pub(super) fn is_narrow_format(word: &str) -> bool {
    let rest = word.strip_prefix('u').unwrap_or(word);
    let second_digit = rest.as_bytes().get(1).is_some_and(u8::is_ascii_digit);
    (rest.starts_with('e') && second_digit && rest.contains('m'))
        || (word.starts_with('b') && second_digit && word.contains('x'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_list_is_sorted() {
        for list in [OPCODES, MODIFIERS, NARROW] {
            let wrong = list.windows(2).find(|pair| pair[0] >= pair[1]);
            assert_eq!(wrong, None);
        }
    }

    #[test]
    fn patterns_know_shapes_and_not_typing_errors() {
        for word in
            ["m16n8k16", "16x64b", "x4", "2d", "shared::cta", "e2m1x2", "ue8m0x2", "b6x16_p32"]
        {
            assert!(is_modifier(word), "{word}");
        }
        for word in ["u33", "foo", "bar", "s128", "gloobal", "mx", ""] {
            assert!(!is_modifier(word), "{word}");
        }
    }
}
