//! `.target` names: which there are, since which PTX version, and which GPU can run PTX for which.
//!
//! Source: PTX ISA 9.0, ".target" and "Release Notes"; messages observed: ptxas 13.0.88.

/// The SM that a `.target` or `--gpu-name` names.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Sm {
    /// 90 of `sm_90a`.
    pub number: u32,
    /// `a`: features of this SM alone; `f`: of its family.
    pub suffix: Option<char>,
}

/// SMs that a `.target` may name, with the first PTX version that knows it.
#[rustfmt::skip]
const KNOWN: [(u32, (u32, u32)); 31] = [
    (10, (1, 0)), (11, (1, 0)), (12, (1, 2)), (13, (1, 2)), (20, (2, 0)), (21, (2, 0)), (30, (3, 0)), (32, (4, 0)),
    (35, (3, 1)), (37, (4, 1)), (50, (4, 0)), (52, (4, 1)), (53, (4, 2)), (60, (5, 0)), (61, (5, 0)), (62, (5, 0)),
    (70, (6, 0)), (72, (6, 1)), (75, (6, 3)), (80, (7, 0)), (86, (7, 1)), (87, (7, 4)), (88, (9, 0)), (89, (7, 8)),
    (90, (7, 8)), (100, (8, 6)), (101, (8, 6)), (103, (8, 8)), (110, (9, 0)), (120, (8, 7)), (121, (8, 8)),
];

/// Whether there is such a PTX version, up to [`super::check::NEWEST_VERSION`].
pub fn is_version(major: u32, minor: u32) -> bool {
    /// Highest minor version of each major one, from 1 on.
    const LAST: [u32; 9] = [5, 3, 2, 3, 1, 5, 8, 8, 0];
    major.checked_sub(1).and_then(|i| LAST.get(i as usize)).is_some_and(|last| minor <= *last)
}

/// `.target` words that are no SM.
pub const OPTIONS: [&str; 4] =
    ["texmode_unified", "texmode_independent", "debug", "map_f64_to_f32"];

impl Sm {
    /// `sm_90a`, `compute_90`; None for what no PTX version has.
    pub fn parse(name: &str) -> Option<Sm> {
        let rest = name.strip_prefix("sm_").or_else(|| name.strip_prefix("compute_"))?;
        let digits = rest.trim_end_matches(['a', 'f']);
        let suffix = match &rest[digits.len()..] {
            "" => None,
            "a" => Some('a'),
            "f" => Some('f'),
            _ => return None,
        };
        let number = digits.parse().ok().filter(|_| digits.bytes().all(|b| b.is_ascii_digit()))?;
        KNOWN.iter().find(|(known, _)| *known == number)?;
        let least = match suffix {
            None => 0,
            Some('a') => 90,
            Some(_) => 100,
        };
        (number >= least).then_some(Sm { number, suffix })
    }

    /// The first PTX version that has this target.
    pub fn since(self) -> (u32, u32) {
        let plain = KNOWN.iter().find(|(known, _)| *known == self.number).map_or((0, 0), |k| k.1);
        match (self.number, self.suffix) {
            (90, Some('a')) => (8, 0),
            (_, Some('f')) => plain.max((8, 8)),
            _ => plain,
        }
    }
}

/// Whether PTX for one target can be compiled for a GPU.
///
/// # Errors
/// ptxas's message.
pub fn compatible(target: &str, gpu: &str) -> Result<(), String> {
    let (Some(ptx), Some(sm)) = (Sm::parse(target), Sm::parse(gpu)) else {
        return Err(format!("Unsupported .target '{target}'"));
    };
    if ptx.number > sm.number {
        let text = "SM version specified by .target is higher than default SM version assumed";
        return Err(text.to_string());
    }
    let right = match ptx.suffix {
        None => true,
        Some('a') => ptx == sm,
        Some(_) => ptx.number / 10 == sm.number / 10 && sm.suffix.is_some(),
    };
    if right {
        return Ok(());
    }
    Err(format!("PTX with .target '{target}' cannot be compiled for architecture '{gpu}'"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn older_ptx_runs_on_newer_gpus_and_not_the_other_way() {
        assert_eq!(compatible("sm_80", "sm_90a"), Ok(()));
        assert_eq!(compatible("sm_90", "sm_90a"), Ok(()));
        assert_eq!(compatible("compute_90", "sm_90"), Ok(()));
        assert_eq!(compatible("sm_90a", "sm_90a"), Ok(()));
        assert!(compatible("sm_100", "sm_90a").unwrap_err().starts_with("SM version specified"));
        assert_eq!(
            compatible("sm_90a", "sm_90").unwrap_err(),
            "PTX with .target 'sm_90a' cannot be compiled for architecture 'sm_90'"
        );
    }

    #[test]
    fn names_that_are_no_target() {
        for name in ["sm_1", "sm_90f", "sm_90af", "sm_", "sm_+90", "sm90", "foo", "sm_80a", ""] {
            assert_eq!(Sm::parse(name), None, "{name}");
        }
    }
}
