//! What is younger than PTX 6.0 or needs an SM, apart from instructions (`forms.tbl`): directives,
//! types, pragmas. Observed: ptxas 13.0.88.

use super::Checker;
use crate::ptx::ast::{self, NOUNROLL};
use crate::ptx::types::{Span, Type};

/// Name, PTX version and SM of function directives.
const DIRECTIVES: [(&str, (u32, u32), u32); 7] = [
    ("reqnctapercluster", (7, 8), 90),
    ("explicitcluster", (7, 8), 90),
    ("maxclusterrank", (7, 8), 90),
    ("blocksareclusters", (9, 0), 90),
    ("noreturn", (6, 4), 0),
    ("abi_preserve", (9, 0), 80),
    ("abi_preserve_control", (9, 0), 80),
];

/// The same of a pragma's first word.
const PRAGMAS: [(&str, (u32, u32), u32); 3] = [
    ("used_bytes_mask", (8, 3), 50),
    ("enable_smem_spilling", (8, 7), 75),
    ("frequency", (9, 0), 0),
];

/// Any module may have it.
const OLDEST: (u32, u32) = (6, 0);

/// Parameter bytes that every SM has.
const FEW_PARAMETERS: u64 = 4352;

impl<'s> Checker<'s> {
    pub(super) fn directive_gates(&mut self, function: &ast::Function<'s>) {
        for (directive, _) in &function.directives {
            if let Some((name, version, sm)) = DIRECTIVES.iter().find(|d| d.0 == directive.text) {
                self.gate(&format!(".{name}"), *version, *sm, directive.span);
            }
        }
    }

    /// Of a `.pragma` that begins here: whether it is one that keeps loops as they are.
    pub(super) fn pragma(&mut self, at: u32) -> bool {
        let again = self.again;
        let mut young = Vec::new();
        let mut is_rolled = false;
        let span = again.pragma(at, |value| {
            let first = value.split_whitespace().next().unwrap_or("");
            is_rolled |= first == NOUNROLL;
            young.extend(PRAGMAS.into_iter().find(|p| p.0 == first));
        });
        for (name, version, sm) in young {
            self.gate(name, version, sm, span);
        }
        is_rolled
    }

    /// Of a declaration's type.
    pub(super) fn type_gate(&mut self, ty: Type, span: Span) {
        match ty {
            Type::B128 => self.gate("Type .b128", (8, 3), 70, span),
            Type::F16x2 => self.gate(".f16x2 packed data-type", OLDEST, 53, span),
            _ => {}
        }
    }

    pub(super) fn alias_gate(&mut self, span: Span) {
        self.gate(".alias", (6, 3), 0, span);
    }

    pub(super) fn inline_gate(&mut self, span: Span) {
        self.gate("Line information of inline functions", (7, 0), 0, span);
    }

    pub(super) fn mask_gate(&mut self, span: Span) {
        self.gate("mask operator in initializer", (7, 1), 0, span);
    }

    /// Of a kernel with that many bytes of parameters.
    pub(super) fn parameter_gate(&mut self, bytes: u64, span: Span) {
        if bytes > FEW_PARAMETERS {
            self.gate("Kernel parameter size larger than 4352 bytes", OLDEST, 70, span);
        }
    }
}
