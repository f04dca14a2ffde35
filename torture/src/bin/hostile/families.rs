//! All families of scenarios.

mod broadcast;
mod crowd;
mod duplex;
mod local;
mod locks;
mod mpsc;
mod notify;
mod once;
mod oneshot;
mod readiness;
mod semaphore;
mod signals;
mod tasks;
mod timers;
mod watch;

use wakeful_torture::rng::Rng;

use crate::scenario::run;

/// The name of a family, and the function that runs one of its scenarios.
pub type Family = (&'static str, fn(&mut Rng));

pub const FAMILIES: &[Family] = &[
    ("oneshot", run::<oneshot::Oneshot>),
    ("mpsc", run::<mpsc::Mpsc>),
    ("broadcast", run::<broadcast::Broadcast>),
    ("watch", run::<watch::Watch>),
    ("notify", run::<notify::Notification>),
    ("semaphore", run::<semaphore::Permits>),
    ("locks", run::<locks::Locks>),
    ("once", run::<once::Once>),
    ("duplex", run::<duplex::Duplex>),
    ("timers", run::<timers::Timers>),
    ("readiness", run::<readiness::Readiness>),
    ("tasks", run::<tasks::Tasks>),
    ("signals", run::<signals::Signals>),
    ("local", local::run),
    ("crowd", crowd::run),
];
