//! The time, as the delays of this step see it.
//!
//! It is the machine's, or in tests one that is turned by hand, so that no test depends on how fast
//! the machine is.

use std::sync::Arc;
#[cfg(test)]
use std::sync::{Condvar, Mutex};
use std::thread;
use std::time::{Duration, Instant};

/// A clock; clones show the same time.
#[derive(Clone)]
pub(super) struct Clock(Arc<Kind>);

enum Kind {
    Real {
        start: Instant,
    },
    #[cfg(test)]
    ByHand(ByHand),
}

impl Clock {
    /// The machine's clock.
    pub(super) fn real() -> Clock {
        Clock(Arc::new(Kind::Real { start: Instant::now() }))
    }

    /// How long it has been running.
    pub(super) fn now(&self) -> Duration {
        match &*self.0 {
            Kind::Real { start } => start.elapsed(),
            #[cfg(test)]
            Kind::ByHand(hands) => hands.now(),
        }
    }

    /// Blocks the thread until it shows `due`.
    pub(super) fn sleep_until(&self, due: Duration) {
        match &*self.0 {
            Kind::Real { .. } => thread::sleep(due.saturating_sub(self.now())),
            #[cfg(test)]
            Kind::ByHand(hands) => hands.sleep_until(due),
        }
    }
}

/// Stands still until it is turned.
#[cfg(test)]
#[derive(Default)]
struct ByHand {
    time: Mutex<Duration>,
    turned: Condvar,
    after_next_look: Mutex<Option<Box<dyn FnOnce() + Send>>>,
}

#[cfg(test)]
impl ByHand {
    fn now(&self) -> Duration {
        let time = *self.time.lock().unwrap();
        let act = self.after_next_look.lock().unwrap().take();
        if let Some(act) = act {
            act();
        }
        time
    }

    fn sleep_until(&self, due: Duration) {
        let time = self.time.lock().unwrap();
        drop(self.turned.wait_while(time, |time| *time < due).unwrap());
    }
}

#[cfg(test)]
impl Clock {
    /// A clock that stands still at zero.
    pub(super) fn by_hand() -> Clock {
        Clock(Arc::new(Kind::ByHand(ByHand::default())))
    }

    fn hands(&self) -> &ByHand {
        let Kind::ByHand(hands) = &*self.0 else { panic!("nobody can turn the machine's clock") };
        hands
    }

    pub(super) fn turn_to(&self, time: Duration) {
        *self.hands().time.lock().unwrap() = time;
        self.hands().turned.notify_all();
    }

    /// Runs `act` between the next look at the clock and whatever is made of it.
    pub(super) fn after_next_look(&self, act: impl FnOnce() + Send + 'static) {
        *self.hands().after_next_look.lock().unwrap() = Some(Box::new(act));
    }
}
