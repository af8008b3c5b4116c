//! Numbers that vary from turn to turn: medians, quartiles, and how sure a difference is.
//!
//! Intervals are by bootstrap: the turns are drawn again, with repetition, a few thousand times;
//! between the 2.5th and the 97.5th hundredth of the medians that come out lies the true one, 19
//! times of 20, as far as the turns are alike. The draws are the same in every run.

/// Draws of the bootstrap.
const DRAWS: usize = 2000;

/// The middle of some samples.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct Spread {
    /// Half of the samples are less.
    pub median: f64,
    /// A quarter of the samples are less.
    pub low: f64,
    /// A quarter of the samples are more.
    pub high: f64,
}

/// Samples of several files, one a turn: of each file its own.
pub type Samples<'s> = [&'s [f64]];

/// Of several files: the sums of their medians and of their quartiles. What disturbs one file in
/// one turn does not show, as it would in sums of turns. Of no samples all is zero.
pub fn spread(files: &Samples<'_>) -> Spread {
    let mut sum = Spread::default();
    for samples in files {
        let mut sorted = samples.to_vec();
        sorted.sort_by(f64::total_cmp);
        sum.median += quantile(&sorted, 0.5);
        sum.low += quantile(&sorted, 0.25);
        sum.high += quantile(&sorted, 0.75);
    }
    sum
}

/// Of sorted samples, between two of them by distance.
fn quantile(sorted: &[f64], q: f64) -> f64 {
    let Some(last) = sorted.len().checked_sub(1) else { return 0.0 };
    let at = q * last as f64;
    let below = sorted[at as usize];
    let above = sorted[(at as usize + 1).min(last)];
    below + (above - below) * at.fract()
}

fn median(samples: &mut [f64]) -> f64 {
    samples.sort_by(f64::total_cmp);
    quantile(samples, 0.5)
}

/// How much more the second is, in hundredths of the first one's median.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Difference {
    /// The best guess.
    pub percent: f64,
    /// The least that it may be, by [the bootstrap](self).
    pub low: f64,
    /// The most.
    pub high: f64,
}

impl Difference {
    /// Zero is no likely value.
    pub fn is_sure(self) -> bool {
        self.low > 0.0 || self.high < 0.0
    }
}

/// Of samples that were taken in turns: the turn's noise is in both, and not in their difference.
/// None without samples, or where the first is nothing.
pub fn paired(first: &Samples<'_>, second: &Samples<'_>) -> Option<Difference> {
    let of_file =
        |(a, b): (&&[f64], &&[f64])| a.iter().zip(*b).map(|(a, b)| b - a).collect::<Vec<f64>>();
    let differences: Vec<Vec<f64>> = first.iter().zip(second).map(of_file).collect();
    let guess = differences.iter().map(|file| median(&mut file.clone())).sum();
    let turns = differences.iter().map(Vec::len).max().unwrap_or(0);
    // The same turns of all files.
    let of = |draw: &mut Draw| {
        let drawn: Vec<usize> = (0..turns).map(|_| draw.below(turns)).collect();
        let of_file = |file: &Vec<f64>| {
            median(
                &mut drawn.iter().filter_map(|turn| file.get(*turn).copied()).collect::<Vec<_>>(),
            )
        };
        differences.iter().map(of_file).sum()
    };
    difference(guess, spread(first).median, turns, of)
}

/// Of samples of two runs that have no turns in common.
pub fn unpaired(first: &Samples<'_>, second: &Samples<'_>) -> Option<Difference> {
    let again = |files: &Samples<'_>, draw: &mut Draw| -> f64 {
        let of_file = |file: &&[f64]| {
            median(&mut file.iter().map(|_| file[draw.below(file.len())]).collect::<Vec<_>>())
        };
        files.iter().map(of_file).sum()
    };
    let of = |draw: &mut Draw| -again(first, draw) + again(second, draw);
    let guess = spread(second).median - spread(first).median;
    let turns = |files: &Samples<'_>| files.iter().map(|file| file.len()).max().unwrap_or(0);
    difference(guess, spread(first).median, turns(first).min(turns(second)), of)
}

fn difference(
    guess: f64,
    unit: f64,
    count: usize,
    of: impl Fn(&mut Draw) -> f64,
) -> Option<Difference> {
    if count == 0 || unit <= 0.0 {
        return None;
    }
    let mut draw = Draw(0x9e37_79b9_7f4a_7c15);
    let mut drawn: Vec<f64> = (0..DRAWS).map(|_| of(&mut draw)).collect();
    drawn.sort_by(f64::total_cmp);
    let percent = |value: f64| 100.0 * value / unit;
    Some(Difference {
        percent: percent(guess),
        low: percent(quantile(&drawn, 0.025)),
        high: percent(quantile(&drawn, 0.975)),
    })
}

/// xorshift64: good enough to draw turns, and the same everywhere.
struct Draw(u64);

impl Draw {
    /// `bound` is not 0.
    fn below(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        ((self.0 >> 11) % bound as u64) as usize
    }
}

/// The mean by which ratios are multiplied; 1 of none.
pub fn geomean(ratios: impl Iterator<Item = f64>) -> f64 {
    let (mut sum, mut count) = (0.0, 0_u32);
    for ratio in ratios {
        sum += ratio.ln();
        count += 1;
    }
    if count == 0 { 1.0 } else { (sum / f64::from(count)).exp() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quartiles_are_between_samples() {
        let got = spread(&[&[4.0, 1.0, 3.0, 2.0]]);
        assert_eq!(got, Spread { median: 2.5, low: 1.75, high: 3.25 });
        assert_eq!(spread(&[&[7.0]]), Spread { median: 7.0, low: 7.0, high: 7.0 });
        // A turn that disturbed one file, and another that disturbed the other one.
        assert_eq!(spread(&[&[1.0, 90.0, 1.0], &[80.0, 2.0, 2.0]]).median, 3.0);
        assert_eq!(spread(&[]), Spread::default());
    }

    #[test]
    fn a_difference_that_every_turn_shows_is_sure_however_the_turns_vary() {
        let first: Vec<f64> = (0..9).map(|turn| 100.0 + 20.0 * f64::from(turn % 3)).collect();
        let second: Vec<f64> = first.iter().map(|time| time + 6.0).collect();
        let got = paired(&[&first], &[&second]).expect("samples");
        assert!((got.percent - 5.0).abs() < 1e-9, "{got:?}");
        assert!(got.is_sure() && got.low > 4.9 && got.high < 5.1, "{got:?}");
        // The same turns without their order say less.
        assert!(!unpaired(&[&first], &[&second]).expect("samples").is_sure());
    }

    #[test]
    fn noise_is_no_sure_difference() {
        let first: Vec<f64> = (0..12).map(|turn| 100.0 + f64::from(turn * 7 % 12)).collect();
        let second: Vec<f64> = (0..12).map(|turn| 100.0 + f64::from(turn * 5 % 12)).collect();
        assert!(!paired(&[&first], &[&second]).expect("samples").is_sure());
        assert_eq!(
            paired(&[&first], &[&second]),
            paired(&[&first], &[&second]),
            "the draws are fixed"
        );
        assert_eq!(paired(&[], &[]), None);
        assert_eq!(paired(&[&[0.0]], &[&[1.0]]), None);
    }

    #[test]
    fn the_mean_of_a_half_and_a_double_is_one() {
        assert!((geomean([0.5, 2.0].into_iter()) - 1.0).abs() < 1e-12);
        assert!((geomean(std::iter::empty()) - 1.0).abs() < 1e-12);
    }
}
