//! The types of `io_driver.rs` in a build without I/O.

use super::{DriverParts, EventsMax, IoCounts};
use std::io;
use wakeful_base::CallWaker;

/// A runtime's I/O: none.
#[derive(Clone)]
pub(crate) struct IoHandle;

/// A buffer for no events.
#[derive(Default)]
pub(crate) struct LookEvents;

impl IoHandle {
    pub(super) fn enabled(max: EventsMax) -> io::Result<Option<DriverParts>> {
        debug_assert!(max.waiting > 0 && max.busy > 0, "the builder rejects zero");
        Ok(None)
    }

    pub(super) fn disabled() -> IoHandle {
        IoHandle
    }

    pub(crate) fn counts(&self) -> IoCounts {
        IoCounts::default()
    }

    pub(crate) fn look(&self, _: &mut LookEvents, _: CallWaker<'_>) {}

    pub(crate) fn has_events(&self) -> bool {
        false
    }

    pub(crate) fn shut_down(&self) {}
}

/// Returns whether `error` says that the runtime has shut down: false, since there is no I/O.
pub(crate) fn is_shutdown_error(_error: &io::Error) -> bool {
    false
}
