//! Workers that are free now, kept for whoever compiles next.

use orias_systems::{Options, PipelineError, Worker};
use std::sync::{Mutex, PoisonError};

/// Teams of workers: a team compiles some functions together, in one thread. One is made when there
/// is none that fits, so there are no more of them than threads for each kind of options.
#[derive(Default)]
pub(crate) struct Teams(Mutex<Vec<Vec<Worker>>>);

impl Teams {
    /// Workers of one thread, each as new, at least so many.
    pub fn take(&self, count: usize, pipeline: &Options) -> Result<Vec<Worker>, PipelineError> {
        let mut idle = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let fits = |team: &Vec<Worker>| {
            team.first().is_some_and(|worker| worker.options().is_same(pipeline))
        };
        let found = idle.iter().rposition(fits).map(|at| idle.swap_remove(at));
        drop(idle);
        let mut team = found.unwrap_or_default();
        team.iter_mut().take(count).for_each(Worker::reset);
        team.reserve_exact(count.saturating_sub(team.len()));
        while team.len() < count {
            let new = team.first().map(Worker::another);
            team.push(new.map_or_else(|| Worker::new(pipeline.clone()), Ok)?);
        }
        Ok(team)
    }

    pub fn give_back(&self, team: Vec<Worker>) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(team);
    }
}
