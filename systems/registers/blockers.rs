//! Which classes to spill where there are enough registers, but none of them where a group needs
//! them: beside each other, aligned, or such that calls leave them as they are.
//!
//! For a class that found no place each of the places that it could have alone is looked at, and
//! what stands there. The cheapest to clear is cleared, or the class itself goes.

use super::assign::{self, Assignment, Input};
use super::ranges::{Segment, join, overlap};
use super::spill::Weights;
use orias_components::VRegId;

/// The classes to spill, so that what `found` has no place for gets one.
pub fn choose(input: &Input<'_, '_>, weights: &Weights, found: &Assignment) -> Vec<VRegId> {
    let mut victims: Vec<VRegId> = Vec::new();
    for (number, &leader) in found.failed.iter().enumerate() {
        // Room made for the first ones is often room for the rest.
        if number > 0 && victims.len() >= 4 + found.failed.len() / 2 {
            break;
        }
        for victim in for_one(input, weights, found, leader) {
            if !victims.contains(&victim) {
                victims.push(victim);
            }
        }
    }
    victims
}

fn for_one(
    input: &Input<'_, '_>,
    weights: &Weights,
    found: &Assignment,
    leader: VRegId,
) -> Vec<VRegId> {
    let class = input.classes.class(leader);
    let range = |l, c| input.classes.range(&input.liveness.map, input.ranges, l, c);
    let whole =
        (0..class.cells).fold(Vec::new(), |all: Vec<Segment>, c| join(&all, range(leader, c)));
    // By register: what stands there, while the class is live.
    let mut there: Vec<Vec<VRegId>> = vec![Vec::new(); 256];
    for other in input.classes.leaders().filter(|l| *l != leader) {
        let Some(first) = found.of[other.0 as usize] else { continue };
        let other_class = input.classes.class(other);
        if other_class.file != class.file {
            continue;
        }
        for cell in 0..other_class.cells {
            if overlap(range(other, cell), &whole) {
                there[usize::from(first) + usize::from(cell)].push(other);
            }
        }
    }
    let own = weights.of(leader).map(|weight| (weight, vec![leader]));
    let places = assign::places_alone(input, leader);
    let cleared = places.into_iter().filter_map(|first| {
        let mut victims: Vec<VRegId> =
            there[first as usize..first as usize + usize::from(class.cells)].concat();
        victims.sort_unstable();
        victims.dedup();
        let cost =
            victims.iter().try_fold(0u64, |sum, v| Some(sum.saturating_add(weights.of(*v)?)));
        cost.map(|cost| (cost, victims))
    });
    cleared.chain(own).min_by_key(|(cost, _)| *cost).map_or(Vec::new(), |(_, victims)| victims)
}
