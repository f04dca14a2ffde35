//! Signals: from the handler to who listens.
//!
//! ```text
//!   kernel ──▶ handler ──note──▶ pending: "this signal came"
//!                  └─────ring──▶ notifier ──▶ an event in every driver that attends to signals
//!   IoDriver::wait ──distribute──▶ pending: one more delivery, wakers called
//!   Listener ──poll: no new delivery──▶ waker left on the pending
//! ```
//!
//! The handler does what may be done in one: it sets a bit and writes to a descriptor. All of this is the
//! process's: a listener belongs to no driver, and whichever driver turns first serves the listeners of
//! all. A signal that came and was not handed out yet is had by listeners made meanwhile, too.

mod handler;
mod notifier;
mod pending;

pub use pending::Listener;

pub(crate) use notifier::notifier_fd;

use pending::PendingSignals;
use std::io;
use std::sync::OnceLock;
use wakeful_base::CallWaker;

/// Signals have numbers from one to this.
const SIGNALS_MAX: usize = 64;

/// There before the first handler is.
static PENDING: OnceLock<PendingSignals> = OnceLock::new();

/// Has `signal` caught from now on, for good, and makes a listener for it.
///
/// # Errors
/// If it is no signal, or none that may be caught; those of the kernel.
pub fn listen(signal: i32) -> io::Result<Listener<'static>> {
    let Some(index) = handler::index_of(signal) else {
        let why = format!("there is no signal {signal}, or it is not one to listen for");
        return Err(io::Error::other(why));
    };
    let pending = PENDING.get_or_init(|| PendingSignals::new(SIGNALS_MAX));
    handler::install(signal, index)?;
    Ok(pending.listen(index))
}

/// Hands out what the handler noted, to wakers that are called by `call`.
pub(crate) fn distribute(call: CallWaker<'_>) {
    notifier::acknowledge();
    if let Some(pending) = PENDING.get() {
        pending.distribute(call);
    }
}
