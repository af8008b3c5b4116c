//! Special registers by name. Source: PTX ISA 9.0, "Special Registers".

use crate::ptx::program::{Part, Special};

/// The number of a vector element: `x` = 0 … `w` = 3, also written `r g b a`.
pub(super) fn element(name: &str) -> Option<u8> {
    Some(match name {
        "x" | "r" => 0,
        "y" | "g" => 1,
        "z" | "b" => 2,
        "w" | "a" => 3,
        _ => return None,
    })
}

/// `b0`, `h10`, `b7654`: what a video instruction selects.
pub(super) fn part(name: &str) -> Option<Part> {
    let (halves, most, limit) = match name.as_bytes().first()? {
        b'b' => (false, 4, b'8'),
        b'h' => (true, 2, b'4'),
        _ => return None,
    };
    let digits = &name.as_bytes()[1..];
    if digits.is_empty() || digits.len() > most {
        return None;
    }
    let mut lanes = [0; 4];
    for (lane, digit) in lanes.iter_mut().zip(digits) {
        if !(b'0'..limit).contains(digit) {
            return None;
        }
        *lane = digit - b'0';
    }
    Some(Part { halves, count: digits.len() as u8, lanes })
}

/// A special register with four elements, as a function of the element.
pub(super) fn vector(name: &str) -> Option<fn(u8) -> Special> {
    Some(match name {
        "%tid" => Special::Tid,
        "%ntid" => Special::Ntid,
        "%ctaid" => Special::CtaId,
        "%nctaid" => Special::NCtaId,
        "%clusterid" => Special::ClusterId,
        "%nclusterid" => Special::NClusterId,
        "%cluster_ctaid" => Special::ClusterCtaId,
        "%cluster_nctaid" => Special::ClusterNCtaId,
        _ => return None,
    })
}

/// A special register without elements.
pub(super) fn scalar(name: &str) -> Option<Special> {
    Some(match name {
        "%laneid" => Special::LaneId,
        "%warpid" => Special::WarpId,
        "%nwarpid" => Special::NWarpId,
        "%smid" => Special::SmId,
        "%nsmid" => Special::NSmId,
        "%gridid" => Special::GridId,
        "%is_explicit_cluster" => Special::IsExplicitCluster,
        "%cluster_ctarank" => Special::ClusterCtaRank,
        "%cluster_nctarank" => Special::ClusterNCtaRank,
        "%lanemask_eq" => Special::LaneMaskEq,
        "%lanemask_le" => Special::LaneMaskLe,
        "%lanemask_lt" => Special::LaneMaskLt,
        "%lanemask_ge" => Special::LaneMaskGe,
        "%lanemask_gt" => Special::LaneMaskGt,
        "%clock" => Special::Clock,
        "%clock_hi" => Special::ClockHi,
        "%clock64" => Special::Clock64,
        "%globaltimer" => Special::GlobalTimer,
        "%globaltimer_lo" => Special::GlobalTimerLo,
        "%globaltimer_hi" => Special::GlobalTimerHi,
        "%reserved_smem_offset_begin" => Special::ReservedSmemOffset(0),
        "%reserved_smem_offset_end" => Special::ReservedSmemOffset(1),
        "%reserved_smem_offset_cap" => Special::ReservedSmemOffset(2),
        "%reserved_smem_offset_0" => Special::ReservedSmemOffset(3),
        "%reserved_smem_offset_1" => Special::ReservedSmemOffset(4),
        "%total_smem_size" => Special::TotalSmemSize,
        "%aggr_smem_size" => Special::AggrSmemSize,
        "%dynamic_smem_size" => Special::DynamicSmemSize,
        "%current_graph_exec" => Special::CurrentGraphExec,
        _ => return numbered(name),
    })
}

/// `%envreg0` … `%envreg31`, `%pm0` … `%pm7`, `%pm0_64` … `%pm7_64`.
fn numbered(name: &str) -> Option<Special> {
    let number = |text: &str, limit: u8| {
        let plain = text.len() == 1 || !text.starts_with('0');
        text.parse::<u8>().ok().filter(|n| plain && *n < limit && !text.starts_with('+'))
    };
    if let Some(rest) = name.strip_prefix("%envreg") {
        return number(rest, 32).map(Special::EnvReg);
    }
    let rest = name.strip_prefix("%pm")?;
    match rest.strip_suffix("_64") {
        Some(rest) => number(rest, 8).map(Special::Pm64),
        None => number(rest, 8).map(Special::Pm),
    }
}

/// How wide a register must be at least to take a special register; `%gridid` may be read by halves
/// (observed: ptxas 13.0.88).
pub(super) fn bits(special: Special) -> u32 {
    match special {
        Special::Clock64 | Special::GlobalTimer | Special::Pm64(_) | Special::CurrentGraphExec => {
            64
        }
        _ => 32,
    }
}

/// The first PTX version (major, minor) and SM of special registers that are younger than PTX 6.0
/// or Maxwell. Observed: ptxas 13.0.88.
pub(super) fn since(special: Special) -> ((u32, u32), u32) {
    match special {
        Special::ClusterId(_)
        | Special::NClusterId(_)
        | Special::ClusterCtaId(_)
        | Special::ClusterNCtaId(_)
        | Special::ClusterCtaRank
        | Special::ClusterNCtaRank
        | Special::IsExplicitCluster => ((7, 8), 90),
        Special::AggrSmemSize => ((8, 1), 90),
        Special::CurrentGraphExec => ((8, 0), 50),
        Special::ReservedSmemOffset(_) => ((7, 6), 80),
        Special::Pm64(_) => ((6, 0), 50),
        _ => ((6, 0), 0),
    }
}
