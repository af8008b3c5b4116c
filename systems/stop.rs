//! Ending work before it is done: because nobody wants its result any more, or because its time is
//! over.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

/// A token that calls compiles off: all that were given it or a copy of it, from any thread. They
/// look at it between phases and between functions, so they end soon, not at once.
#[derive(Clone, Default, Debug)]
pub struct Cancel(Arc<AtomicBool>);

impl Cancel {
    /// A token that calls nothing off yet.
    pub fn new() -> Cancel {
        Cancel::default()
    }

    /// Calls off, for good.
    pub fn cancel(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    /// Whether that has happened.
    pub fn is_cancelled(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

/// With a flag that is set elsewhere, as by a signal.
impl From<Arc<AtomicBool>> for Cancel {
    fn from(flag: Arc<AtomicBool>) -> Cancel {
        Cancel(flag)
    }
}

/// Why work ended before it was done.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum Stopped {
    /// See [`Cancel`].
    #[error("the compile was cancelled")]
    Cancelled,
    /// The time that it had is over.
    #[error("the time for the compile is over")]
    OutOfTime,
}

/// What ends work: what it asks where it can end.
#[derive(Clone, Copy, Default, Debug)]
pub struct Stop<'a> {
    /// Whoever may call it off.
    pub cancel: Option<&'a Cancel>,
    /// When its time is over.
    pub deadline: Option<Instant>,
}

impl Stop<'_> {
    /// Nothing does.
    pub const NEVER: Stop<'static> = Stop { cancel: None, deadline: None };

    /// Whether work is to end now.
    ///
    /// # Errors
    /// Why.
    pub fn check(&self) -> Result<(), Stopped> {
        if self.cancel.is_some_and(Cancel::is_cancelled) {
            return Err(Stopped::Cancelled);
        }
        match self.deadline {
            Some(deadline) if Instant::now() >= deadline => Err(Stopped::OutOfTime),
            _ => Ok(()),
        }
    }
}
