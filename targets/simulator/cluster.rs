//! A cluster: CTAs that run at the same time, reach each other's shared memory and wait for
//! each other at a barrier.
//!
//! The CTA of rank `r` has its shared memory at `r << 24` of the shared window (observed: what
//! ptxas adds to every shared address is `SR_CgaCtaId << 24`).

use super::cta::Cta;
use super::flight::Flight;
use super::groups::State;
use super::mbarrier::Barrier;

#[derive(Clone, Debug)]
pub struct Cluster {
    /// By rank.
    pub ctas: Vec<Cta>,
    pub flight: Flight,
}

impl Cluster {
    pub fn is_done(&self) -> bool {
        self.ctas.iter().all(Cta::is_done)
    }

    /// Cuts off all waits at barriers in shared memory; says whether there were any.
    pub fn expire(&mut self) -> bool {
        let mut any = false;
        for warp in self.ctas.iter_mut().flat_map(|cta| &mut cta.warps) {
            let lanes = warp.groups.wake(|_| true);
            warp.expired |= lanes;
            any |= lanes != 0;
        }
        any
    }

    /// Lets go who waits at one BSYNC of one warp; says whether somebody did.
    pub fn give_up(&mut self) -> bool {
        let mut warps = self.ctas.iter_mut().flat_map(|cta| &mut cta.warps);
        warps.any(|warp| warp.groups.give_up(&mut warp.barriers, &mut warp.saved))
    }

    /// What a group of the CTA waits for, for a message.
    pub fn describe(cta: &Cta, state: State) -> String {
        let State::Mbarrier { address, .. } = state else { return format!("{state:?}") };
        let word = cta.shared.load(u64::from(address), 8).unwrap_or_default();
        let Barrier { pending, transactions, .. } = Barrier::new(word);
        format!(
            "the mbarrier at {address:#x} waits for {pending} arrivals and {transactions} bytes"
        )
    }

    /// Opens the cluster's barrier where all threads that are left have arrived; says whether it
    /// did.
    pub fn release(&mut self) -> bool {
        let warps = || self.ctas.iter().flat_map(|cta| &cta.warps);
        let arrived = warps().any(|w| w.cluster.arrived != 0)
            && warps().all(|w| w.groups.live() & !w.cluster.arrived == 0);
        if arrived {
            let latest = warps().map(|w| w.clock.now).max().unwrap_or(0);
            for warp in self.ctas.iter_mut().flat_map(|cta| &mut cta.warps) {
                warp.cluster.arrived = 0;
                if warp.groups.release_cluster() {
                    warp.clock.now = latest;
                }
            }
        }
        arrived
    }
}
