//! Ticks that are armed ahead take timers of the kernel's that end a wait, as Linux has them.

use super::kqueue::Poller;
use std::convert::Infallible;
use std::io;

/// There are none: waits are given the time that is left.
#[derive(Debug)]
pub struct TickTimers(Infallible);

impl TickTimers {
    pub(crate) fn new(_poller: &Poller) -> io::Result<TickTimers> {
        Err(io::ErrorKind::Unsupported.into())
    }

    /// Has waits end at two ticks to come.
    pub fn arm(&mut self, _now_ns: u64, _next_ns: u64, _after_ns: u64) -> io::Result<()> {
        match self.0 {}
    }
}
