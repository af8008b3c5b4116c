//! What people read: a row for each input, and the totals.

use crate::Both;
use crate::inputs::Input;
use orias_speed::callgrind;
use orias_speed::turns::{self, Pair, geomean};
use std::path::Path;

/// CPU time and memory in turns.
///
/// # Errors
/// When an input cannot be made, or neither took any.
pub fn compare(
    inputs: &[Input],
    both: Both<'_>,
    folder: &Path,
    effort: (usize, f64),
    rows: bool,
) -> Result<(), String> {
    let out = folder.join("out.cubin");
    let mut pairs: Vec<(String, Pair)> = Vec::new();
    let (mut by_ours, mut by_other, mut by_both) = (0, 0, 0);
    say!(
        "{:<36} {:>9} {:>9} {:>7} {:>8} {:>8} {:>6} {:>5}",
        "input",
        "ours s",
        "other s",
        "ratio",
        "ours MB",
        "other MB",
        "noise",
        "turns"
    )?;
    for input in inputs {
        let (name, path) = input.file(folder)?;
        let options = (both.options, both.options);
        match turns::compare((both.ours, both.theirs), options, &path, &out, effort) {
            Ok(pair) => {
                if rows || matches!(input, Input::Shape(..)) {
                    print_row(&name, &pair)?;
                }
                pairs.push((name, pair));
            }
            Err(why) => {
                for (who, why) in [("ours", &why.ours), ("the other", &why.theirs)] {
                    if let Some(why) = why {
                        say!("{name}: refused by {who}: {why}")?;
                    }
                }
                *match (why.ours, why.theirs) {
                    (Some(_), None) => &mut by_ours,
                    (None, _) => &mut by_other,
                    (Some(_), Some(_)) => &mut by_both,
                } += 1;
            }
        }
        // Of a million instructions the text is large.
        if matches!(input, Input::Shape(..)) {
            let _ = std::fs::remove_file(&path);
        }
    }
    say!("refused: {by_ours} by ours alone, {by_other} by the other alone, {by_both} by both")?;
    let Some((worst, pair)) = pairs.iter().min_by(|a, b| a.1.ratio().total_cmp(&b.1.ratio()))
    else {
        return Err("nothing was compared".to_string());
    };
    let total = |f: fn(&Pair) -> f64| pairs.iter().map(|(_, p)| f(p)).sum::<f64>();
    println!(
        "{} inputs: geomean {:.2}, in all {:.2}, least {:.2} ({worst})",
        pairs.len(),
        geomean(pairs.iter().map(|(_, p)| p.ratio())),
        total(|p| p.theirs.seconds) / total(|p| p.ours.seconds),
        pair.ratio(),
    );
    let mut noise: Vec<f64> = pairs.iter().map(|(_, p)| p.noise).collect();
    noise.sort_by(f64::total_cmp);
    say!(
        "noise: the middle run of a compiler took {:.0} % longer than its least (half of the inputs), {:.0} % at most",
        100.0 * noise[noise.len() / 2],
        100.0 * noise[noise.len() - 1],
    )
}

fn print_row(name: &str, pair: &Pair) -> Result<(), String> {
    say!(
        "{name:<36} {:>9.4} {:>9.4} {:>7.2} {:>8.1} {:>8.1} {:>5.0}% {:>5}",
        pair.ours.seconds,
        pair.theirs.seconds,
        pair.ratio(),
        pair.ours.memory as f64 / 1e6,
        pair.theirs.memory as f64 / 1e6,
        100.0 * pair.noise,
        pair.turns,
    )
}

/// Instructions executed, in millions.
///
/// # Errors
/// When valgrind or a compiler fails.
pub fn callgrind(inputs: &[Input], both: Both<'_>, folder: &Path) -> Result<(), String> {
    let out = folder.join("out.cubin");
    let mut ratios = Vec::new();
    say!("{:<36} {:>12} {:>12} {:>7}", "instructions, millions", "ours", "other", "ratio")?;
    for input in inputs {
        let (name, path) = input.file(folder)?;
        let count = |program| callgrind::instructions(program, both.options, &path, &out);
        let (ours, theirs) = (count(both.ours)? as f64, count(both.theirs)? as f64);
        let ratio = theirs / ours.max(1.0);
        say!("{name:<36} {:>12.2} {:>12.2} {ratio:>7.2}", ours / 1e6, theirs / 1e6)?;
        ratios.push(ratio);
    }
    say!("{} inputs: geomean {:.2}", ratios.len(), geomean(ratios.iter().copied()))
}
