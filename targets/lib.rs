//! What each SM is: the instruction table, encoder, decoder, disassembler, and the SASS simulator.

pub mod approx;
pub mod latency;
pub mod memory;

/// One SM: its tables and limits.
#[derive(Debug)]
pub struct Target {
    /// `sm_90a`
    pub name: &'static str,
}

static TARGETS: [Target; 2] = [Target { name: "sm_90a" }, Target { name: "sm_90" }];

/// The target with this name.
pub fn target(name: &str) -> Option<&'static Target> {
    TARGETS.iter().find(|t| t.name == name)
}
