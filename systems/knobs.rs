//! Knobs: numbers that phases decide by, for who looks for better ones or for a fault. Each is read
//! by the phase that its row names.

use orias_targets::Target;

/// A row of the table.
#[derive(Debug)]
pub struct Row {
    /// The number that the reference compiler's documents give it, where they do.
    pub id: Option<u16>,
    /// The name, as it is given.
    pub name: &'static str,
    /// What it is where nothing is given.
    pub default: Initial,
    /// The largest number that it may be; 1: it is off or on.
    pub most: u32,
    /// Who reads it, and what it changes.
    pub meaning: &'static str,
}

/// What a knob is where nothing is given.
#[derive(Clone, Copy, Debug)]
pub enum Initial {
    /// Always the same.
    Is(u32),
    /// What the target says.
    Of(fn(&Target) -> u32),
}

impl Initial {
    /// For code of this target.
    pub fn of(self, target: &Target) -> u32 {
        match self {
            Initial::Is(value) => value,
            Initial::Of(of) => of(target),
        }
    }
}

macro_rules! knobs {
    ($($name:ident $id:expr, $default:expr, $most:expr, $meaning:literal;)*) => {
        /// One of the knobs.
        #[derive(Clone, Copy, PartialEq, Eq, Debug)]
        pub enum Knob {
            $(#[doc = $meaning] $name,)*
        }

        /// All knobs, in the order of [`Knob`].
        pub const KNOBS: &[Row] = &[$(Row {
            id: $id,
            name: stringify!($name),
            default: $default,
            most: $most,
            meaning: $meaning,
        },)*];
    };
}

/// No more than that of anything that is counted.
const MANY: u32 = 1 << 20;

knobs! {
    BranchOptDisable Some(214), Initial::Is(0), 1, "OriBranchOpt does not run";
    BranchOptConvergence Some(464), Initial::Is(1), 1, "OriBranchOpt looks at a block again that it has changed; off, each block has one rewrite";
    GeneralOptimization Some(487), Initial::Is(1), 1, "Optimizations run that correct code does not need";
    OptimizationBudget Some(499), Initial::Is(MANY), MANY, "So many of the phases that want more than -O1 run, in their order: for bisecting";
    LinearReplacement Some(416), Initial::Is(1), 1, "OriLinearReplacement runs";
    NestedCondBranch None, Initial::Is(5), MANY, "OptimizeNestedCondBranches: most instructions between two branches that become one; 0: none do";
    PieceInstructions None, Initial::Is(4096), MANY, "A function of eight times as many instructions is optimized in pieces of about so many, from GenerateMovPhi on; 0: none is";
    PredicationRegions Some(577), Initial::Is(1), 1, "OriDoPredication does ways of branches under their condition";
    PredicationExtraPasses None, Initial::Is(0), 20, "OriDoPredication: so many passes more, while they find something: over what regions have become";
    PredicationAlone None, Initial::Of(|t| t.predication.alone), MANY, "OriDoPredication: most instructions of each way, with the branch at its end";
    PredicationOverlapped None, Initial::Of(|t| t.predication.overlapped), MANY, "OriDoPredication: most of a way that loads from global memory, or of two ways together, while other loads are under way";
    PredicationBeside None, Initial::Of(|t| t.predication.beside), MANY, "OriDoPredication: most of a way where the other one loads";
    PredicationMoves None, Initial::Of(|t| t.predication.moves), MANY, "OriDoPredication: most copies of a way";
    PredicationWindow None, Initial::Of(|t| t.predication.window), MANY, "OriDoPredication: a load so many instructions before a branch is still under way there";
    PredicationBehind None, Initial::Of(|t| t.predication.behind), MANY, "OriDoPredication: so many instructions behind the ways are as good as a load there";
    ColdShare None, Initial::Is(256), MANY, "PerformPGO: a block is cold where fewer threads come than one of these many that began the function";
    HoistRegisters None, Initial::Is(64), MANY, "OriHoistInvariants: most registers that are live in a loop with what is computed before it";
    InlineSmall None, Initial::Is(4), MANY, "Calls: most instructions of a function that is inlined wherever it is called, besides one for each word that it is passed";
    InlineOnce None, Initial::Is(4096), MANY, "Calls: most instructions of a function that is inlined where it is called once";
    RematRegisters None, Initial::Is(200), MANY, "OriDoRemat: where more registers than these are live, values are computed late";
    RotateLoops None, Initial::Is(4), MANY, "OriLoopSimplification: most instructions of a test that moves to its loop's end";
    SwitchOptBudget None, Initial::Is(1024), MANY, "DoSwitchOpt: most values of a table";
    SwitchOptExtendedPatternMatch None, Initial::Is(1), 1, "DoSwitchOpt takes comparisons for order too, not only chains for equality";
    SwitchOptComparisons None, Initial::Of(|t| t.switches.least), MANY, "DoSwitchOpt: fewest comparisons that become a table";
    SwitchOptSpread None, Initial::Of(|t| t.switches.spread), MANY, "DoSwitchOpt: most values of a table for each comparison";
    UnrollMost None, Initial::Of(|t| t.unrolling.most), MANY, "OriLoopUnrolling: most instructions of a loop that loads";
    UnrollWithoutLoads None, Initial::Of(|t| t.unrolling.without_loads), MANY, "OriLoopUnrolling: most instructions of a loop that does not load";
    UnrollWhole None, Initial::Of(|t| t.unrolling.whole), MANY, "OriLoopUnrolling: most instructions of all rounds, where their number is known";
    UnrollTimes None, Initial::Of(|t| t.unrolling.times), 64, "OriLoopUnrolling: rounds at once, where their number is not known; below 2 none";
    VectorizationDistance None, Initial::Is(160), MANY, "Vectorization: most instructions between loads that become one";
    UnseenForms None, Initial::Is(0), 1, "Code may use instructions as ptxas was never seen to emit them";
}

/// What the knobs are set to.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Knobs([Option<u32>; KNOBS.len()]);

impl Knobs {
    /// From names or numbers of knobs with their values, a later one instead of an earlier one. A
    /// value is a number, decimal or with `0x`, or for a knob that is off or on a word for that.
    ///
    /// # Errors
    /// In words, where nothing reads such a knob, or the value is none of its own.
    pub fn read(given: &[(String, String)]) -> Result<Knobs, String> {
        let mut knobs = Knobs::default();
        for (name, value) in given {
            let is = |row: &Row| {
                row.name.eq_ignore_ascii_case(name)
                    || row.id.is_some_and(|id| name.parse() == Ok(id))
            };
            let Some(at) = KNOBS.iter().position(is) else {
                return Err(format!("no knob is named '{name}': 'orias knobs' lists them"));
            };
            let row = &KNOBS[at];
            let Some(number) = number(value).filter(|n| *n <= row.most) else {
                let wants = match row.most {
                    1 => "0 or 1".to_string(),
                    most => format!("a number up to {most}"),
                };
                return Err(format!("knob {}: '{value}' is not {wants}", row.name));
            };
            knobs.0[at] = Some(number);
        }
        Ok(knobs)
    }

    /// The number that a phase is to decide by.
    pub fn get(&self, knob: Knob, target: &Target) -> u32 {
        let at = knob as usize;
        self.0[at].unwrap_or_else(|| KNOBS[at].default.of(target))
    }

    /// Whether a knob is on.
    pub fn is_on(&self, knob: Knob, target: &Target) -> bool {
        self.get(knob, target) != 0
    }
}

fn number(text: &str) -> Option<u32> {
    match text {
        "true" | "yes" | "on" => Some(1),
        "false" | "no" | "off" => Some(0),
        text => match text.strip_prefix("0x") {
            Some(digits) => u32::from_str_radix(digits, 16).ok(),
            None => text.parse().ok(),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::function::Options;

    fn read(name: &str, value: &str) -> Result<Knobs, String> {
        Knobs::read(&[(name.to_string(), value.to_string())])
    }

    #[test]
    fn a_knob_is_named_by_its_name_or_number() {
        let target = Options::for_test().target;
        let of = |name, value| read(name, value).map(|k| k.get(Knob::BranchOptDisable, target));
        assert_eq!(of("BranchOptDisable", "1"), Ok(1));
        assert_eq!(of("214", "on"), Ok(1));
        assert_eq!(of("branchoptdisable", "0x0"), Ok(0));
        assert_eq!(of("UnrollTimes", "8"), Ok(0));
        let most = target.predication.alone;
        assert_eq!(Knobs::default().get(Knob::PredicationAlone, target), most);
    }

    #[test]
    fn what_nothing_reads_and_what_a_knob_cannot_be_is_an_error() {
        assert!(
            read("NoSuchKnob", "1").is_err_and(|e| e.contains("no knob is named 'NoSuchKnob'"))
        );
        assert!(read("215", "1").is_err());
        let wrong = read("BranchOptDisable", "2");
        assert!(wrong.is_err_and(|e| e == "knob BranchOptDisable: '2' is not 0 or 1"));
        assert!(read("UnrollTimes", "65").is_err_and(|e| e.ends_with("a number up to 64")));
        assert!(read("UnrollTimes", "-1").is_err());
        assert!(read("UnrollTimes", "").is_err());
    }

    #[test]
    fn names_and_numbers_are_of_one_knob_each() {
        for (at, row) in KNOBS.iter().enumerate() {
            let rest = &KNOBS[at + 1..];
            assert!(rest.iter().all(|other| other.name != row.name), "{}", row.name);
            assert!(
                rest.iter().all(|other| row.id.is_none() || other.id != row.id),
                "{}",
                row.name
            );
        }
    }
}
