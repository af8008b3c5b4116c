//! Calls that have gone, because their functions' statements stand there.

use super::code::Loc;
use std::sync::Arc;

/// A call in whose place its function stands.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Call {
    /// The function's name.
    pub name: String,
    /// Where the call stands in the text.
    pub at: u32,
    /// `.loc` in force there.
    pub loc: Loc,
    /// The call that this one was inlined by.
    pub inside: Option<Arc<Call>>,
}

impl Call {
    /// The same where the outermost is in another one.
    pub(super) fn within(&self, call: &Arc<Call>) -> Arc<Call> {
        let inside = match &self.inside {
            Some(inside) => inside.within(call),
            None => call.clone(),
        };
        Arc::new(Call { inside: Some(inside), ..self.clone() })
    }
}

/// The call that an instruction was inlined by.
pub fn call_of(calls: &[(u32, Option<Arc<Call>>)], at: usize) -> Option<&Arc<Call>> {
    let behind = calls.partition_point(|(from, _)| *from as usize <= at);
    behind.checked_sub(1).and_then(|i| calls[i].1.as_ref())
}
