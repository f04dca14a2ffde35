//! Readiness of descriptors: from the kernel's event to the waker of the task that waits.
//!
//! ```text
//!   Registration ──register──▶ a slot, and epoll with the slot's token
//!   kernel ──event: token, ready──▶ IoDriver::wait, look ──▶ slot: readiness, wakers called
//!   task ──poll: not ready──▶ waker left in the slot
//!   task ──WouldBlock──▶ readiness cleared, unless a newer event came meanwhile
//! ```
//!
//! Slots are reused. Each use of a slot has its own **generation**, which is part of the token. An
//! event that arrives after its descriptor was removed carries an old generation and is dropped.
//! Slots never move, and are freed only with the driver, so the slot of an event always exists.
//!
//! | file | contents |
//! |---|---|
//! | `driver.rs` | [`IoDriver`]: takes events from the kernel and passes them to slots |
//! | `wake_state.rs` | whether a thread waits, and whether a wake-up is pending |
//! | `slot.rs`, `slots.rs` | the state of one descriptor; the table of all slots |
//! | `registration.rs`, `readiness.rs` | a registered descriptor; a future that waits for it |
//! | `fallback.rs`, `stopped.rs` | a driver that has failed; the errors after a driver's end |

mod driver;
mod fallback;
mod readiness;
mod registration;
mod slot;
mod slots;
mod stopped;
mod wake_state;

pub use crate::sys::TickTimers;
pub use driver::{IoDriver, IoEvents, IoMetrics};
pub use readiness::Readiness;
pub use registration::{ReadyEvent, Registration};
pub use slot::Direction;
pub use stopped::{is_shutdown_error, is_stopped_error};
