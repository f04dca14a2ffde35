//! How late the kernel may end a wait.

use std::marker::PhantomData;

/// Has the kernel end this thread's waits in time, until dropped; here it does so anyhow.
#[derive(Debug)]
pub struct PreciseWaits {
    _not_send: PhantomData<*const ()>,
}

impl PreciseWaits {
    /// Begins on the calling thread.
    pub fn begin() -> PreciseWaits {
        PreciseWaits { _not_send: PhantomData }
    }
}
