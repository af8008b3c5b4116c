//! Random instructions of every row, taken from the table's own ranges (the last values included):
//! what the encoder makes of them decodes to the same instruction, and nvdisasm reads the word as
//! the text that we print. Every row is drawn, and every value of each of its modifier fields.
//!
//! `ORIAS_RANDOM_COUNT` instructions are drawn for each SM (at least once every value), from
//! `ORIAS_SEED`.

use orias_isa::proof::wrong;
use orias_runner::oracle;
use orias_targets::target;

fn number(name: &str, usual: u64) -> u64 {
    std::env::var(name).ok().and_then(|v| v.parse().ok()).unwrap_or(usual)
}

fn check(name: &str) {
    let target = target(name).expect("a target");
    let count = number("ORIAS_RANDOM_COUNT", 100_000) as usize;
    let wrong = wrong(target, oracle::tool("nvdisasm").as_deref(), count, number("ORIAS_SEED", 1));
    let shown: Vec<&str> = wrong.iter().take(50).map(String::as_str).collect();
    assert!(wrong.is_empty(), "{} differ:\n{}", wrong.len(), shown.join("\n"));
}

#[test]
fn instructions_of_sm_90a_read_the_same_in_nvdisasm() {
    check("sm_90a");
}

#[test]
fn instructions_of_sm_90_read_the_same_in_nvdisasm() {
    check("sm_90");
}

#[test]
fn instructions_of_sm_80_read_the_same_in_nvdisasm() {
    check("sm_80");
}

#[test]
fn instructions_of_sm_86_read_the_same_in_nvdisasm() {
    check("sm_86");
}

#[test]
fn instructions_of_sm_87_read_the_same_in_nvdisasm() {
    check("sm_87");
}

#[test]
fn instructions_of_sm_88_read_the_same_in_nvdisasm() {
    check("sm_88");
}

#[test]
fn instructions_of_sm_89_read_the_same_in_nvdisasm() {
    check("sm_89");
}
