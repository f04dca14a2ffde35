//! Tests of the task, by behaviour.
//!
//! They play the scheduler themselves. [`home`] is a queue that counts its entries and the freed
//! cells. [`probes`] has futures and wakers that count what happens to them and panic on demand.

pub(crate) mod home;
pub(crate) mod probes;

#[cfg(not(wakeful_loom))]
mod aborting;
#[cfg(not(wakeful_loom))]
mod current_task;
#[cfg(not(wakeful_loom))]
mod external_wakers;
#[cfg(not(wakeful_loom))]
mod joining;
#[cfg(not(wakeful_loom))]
mod kept;
#[cfg(not(wakeful_loom))]
mod last_reference;
#[cfg(not(wakeful_loom))]
mod panics;
#[cfg(not(wakeful_loom))]
mod stress;
#[cfg(not(wakeful_loom))]
mod waking;

#[cfg(wakeful_loom)]
mod loom;
