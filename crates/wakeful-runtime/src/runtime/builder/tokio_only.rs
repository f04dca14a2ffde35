//! Settings of Tokio's that choose between two ways of its own, of which Wakeful has one.

use super::Builder;

/// Settings for experiments of Tokio's, accepted so that programs with them compile.
#[doc(hidden)]
impl Builder {
    /// Enables timers. (In Tokio, those of each worker; Wakeful's always are.)
    pub fn enable_alt_timer(&mut self) -> &mut Self {
        self.enable_time()
    }

    /// Does nothing: a worker that blocks never keeps the others from waiting for I/O.
    pub fn enable_eager_driver_handoff(&mut self) -> &mut Self {
        self
    }

    /// Does nothing: Wakeful's blocking pool has one kind of queue.
    pub fn enable_sharded_blocking_queue(&mut self) -> &mut Self {
        self
    }
}
