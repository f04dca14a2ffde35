//! Readiness of descriptors: from the kernel's report to the waker of who waits.
//!
//! ```text
//!   Registration ──register──▶ a slot, and epoll with the slot's token
//!   kernel ──event: token, ready──▶ IoDriver::wait ──▶ slot: readiness, wakers called
//!   task ──poll: not ready──▶ waker left in the slot
//!   task ──WouldBlock──▶ readiness cleared, unless a newer event came meanwhile
//! ```
//!
//! A slot is used again for another descriptor. Each use has a **generation**, which is part of the
//! token: an event that was under way when its descriptor went finds another generation, and is
//! dropped. Slots never move and are freed with the driver only, so no event can find none.

mod driver;
mod fallback;
mod readiness;
mod registration;
mod slot;
mod slots;
mod stopped;

pub use crate::sys::TickTimers;
pub use driver::{IoDriver, IoEvents, IoMetrics};
pub use readiness::Readiness;
pub use registration::{ReadyEvent, Registration};
pub use slot::Direction;
pub use stopped::{is_shutdown_error, is_stopped_error};
