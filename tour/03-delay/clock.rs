//! The time, as the delays of this step see it.
//!
//! It is the machine's, or one that is turned by hand, so that nothing depends on how fast the
//! machine is.
//!
//! 这一步的 delay 看的钟：要么是机器的钟，要么是手拨的钟，后者让结果与机器快慢无关。

use std::sync::{Arc, Condvar, Mutex};
use std::thread;
use std::time::{Duration, Instant};

/// A clock; clones show the same time.
#[derive(Clone)]
pub(super) struct Clock(Arc<Kind>);

enum Kind {
    Real { start: Instant },
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
            Kind::ByHand(hands) => hands.now(),
        }
    }

    /// Blocks the thread until it shows `due`.
    pub(super) fn sleep_until(&self, due: Duration) {
        match &*self.0 {
            Kind::Real { .. } => thread::sleep(due.saturating_sub(self.now())),
            Kind::ByHand(hands) => hands.sleep_until(due),
        }
    }
}

/// Stands still until it is turned.
#[derive(Default)]
struct ByHand {
    time: Mutex<Duration>,
    turned: Condvar,
    after_next_look: Mutex<Option<Box<dyn FnOnce() + Send>>>,
}

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

impl Clock {
    /// A clock that stands still at zero.
    pub(super) fn by_hand() -> Clock {
        Clock(Arc::new(Kind::ByHand(ByHand::default())))
    }

    fn hands(&self) -> &ByHand {
        let Kind::ByHand(hands) = &*self.0 else { panic!("the machine's clock cannot be turned") };
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
