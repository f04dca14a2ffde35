//! Unix signals: from the signal handler to the listeners.
//!
//! ```text
//!   kernel ──▶ handler ──set_pending──▶ PendingSignals: the signal's bit
//!                  └──────notify──────▶ notifier ──▶ an event in every driver that watches it
//!   IoDriver::wait ──distribute──▶ PendingSignals: one more delivery, wakers called
//!   Listener ──poll: no new delivery──▶ waker stored in PendingSignals
//! ```
//!
//! A signal handler may do almost nothing, so ours sets a bit and writes to a descriptor. All of
//! this is global to the process: a listener belongs to no driver, and the first driver that gets
//! the event serves the listeners of all drivers. A listener that is created while a signal is
//! pending receives that signal.
//!
//! | file | contents |
//! |---|---|
//! | `handler.rs` | installs the handler, which also calls the previous one |
//! | `notifier.rs` | the descriptor that all drivers watch |
//! | `pending.rs` | pending signals, deliveries and listeners |

mod handler;
mod notifier;
mod pending;

pub use pending::Listener;

pub(crate) use notifier::notifier_fd;

use pending::PendingSignals;
use std::io;
use std::sync::OnceLock;
use wakeful_base::CallWaker;

/// Bounds the signal numbers, which start at one.
const SIGNALS_MAX: usize = 64;

/// The pending signals of the process. Set before the first handler is installed.
static PENDING: OnceLock<PendingSignals> = OnceLock::new();

/// Installs the handler for `signal`, which stays for good, and returns a listener.
///
/// # Errors
/// Returns an error if the signal does not exist or cannot be listened for, or if the kernel
/// refuses the handler.
pub fn listen(signal: i32) -> io::Result<Listener<'static>> {
    let Some(index) = handler::index_of(signal) else {
        let why = format!("signal {signal} does not exist or cannot be listened for");
        return Err(io::Error::other(why));
    };
    let pending = PENDING.get_or_init(|| PendingSignals::new(SIGNALS_MAX));
    handler::install(signal, index)?;
    Ok(pending.listen(index))
}

/// Delivers all pending signals, passing the listeners' wakers to `call`.
pub(crate) fn distribute(call: CallWaker<'_>) {
    notifier::acknowledge();
    if let Some(pending) = PENDING.get() {
        pending.distribute(call);
    }
}
