//! A build without I/O.

use super::DriverParts;
use std::io;

/// A runtime's I/O: none.
#[derive(Clone)]
pub(crate) struct IoHandle;

impl IoHandle {
    pub(super) fn enabled() -> io::Result<Option<DriverParts>> {
        Ok(None)
    }

    pub(super) fn disabled() -> IoHandle {
        IoHandle
    }

    pub(crate) fn shut_down(&self) {}
}
