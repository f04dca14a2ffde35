//! Timers that end waits on ticks. Only Linux has them.

use super::kqueue::Poller;
use std::convert::Infallible;
use std::io;

/// Cannot be created here: waits are given a timeout instead.
#[derive(Debug)]
pub struct TickTimers(Infallible);

impl TickTimers {
    pub(crate) fn new(_poller: &Poller) -> io::Result<TickTimers> {
        Err(io::ErrorKind::Unsupported.into())
    }

    /// Makes waits end at the next two ticks.
    pub fn arm(&mut self, _now_ns: u64, _next_ns: u64, _after_ns: u64) -> io::Result<()> {
        match self.0 {}
    }
}
