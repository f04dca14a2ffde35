//! Signals and child processes.

use std::sync::Arc;
use wakeful::process::{Child, Command};
use wakeful::signal::unix::{Signal, SignalKind, signal};
use wakeful_torture::rng::Rng;

use crate::basket::Basket;
use crate::pool::Pool;
use crate::shared::{Shared, with_context};
use crate::world::discard;

#[derive(Default)]
pub struct Signals {
    signals: Basket<Signal>,
    children: Basket<Child>,
}

impl Shared for Signals {
    const NEEDS_RUNTIME: bool = true;

    fn make(_: &mut Rng) -> Self {
        Signals::default()
    }

    fn act(self: &Arc<Self>, pool: &mut Pool, rng: &mut Rng) {
        let shared = self.clone();
        match rng.below(12) {
            // Both fail while the runtime shuts down.
            0 => {
                let signal = signal(SignalKind::user_defined1());
                signal.into_iter().for_each(|signal| self.signals.put(signal));
            }
            1 | 2 => {
                // Without a handler the signal would end the process, so a listener must exist.
                if let Some(signal) = self.signals.take(rng) {
                    self.signals.put(signal);
                    // SAFETY: takes a number. The listener shows that a handler is installed.
                    unsafe { libc::raise(libc::SIGUSR1) };
                }
            }
            3..6 => self.signals.with(rng, |signal| _ = with_context(|cx| signal.poll_recv(cx))),
            6 => {
                if let Some(mut signal) = self.signals.take(rng) {
                    pool.add(async move {
                        discard(signal.recv().await);
                        shared.signals.put(signal);
                    });
                }
            }
            7 => self.signals.drop_one(rng),
            8 if rng.chance(100) => {
                let child = Command::new("true").kill_on_drop(rng.chance(500)).spawn();
                child.into_iter().for_each(|child| self.children.put(child));
            }
            9 | 10 => {
                if let Some(mut child) = self.children.take(rng) {
                    pool.add(async move { discard(child.wait().await) });
                }
            }
            11 if rng.chance(200) => self.children.drop_one(rng),
            _ => self.children.with(rng, |child| discard(child.try_wait())),
        }
    }

    fn clear(&self) {
        self.signals.clear();
        self.children.clear();
    }
}
