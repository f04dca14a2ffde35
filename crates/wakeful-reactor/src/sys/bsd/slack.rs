//! How late the kernel may end a wait.

use std::marker::PhantomData;

/// Makes the kernel end this thread's waits on time, until dropped. These systems always do.
#[derive(Debug)]
pub struct PreciseWaits {
    _not_send: PhantomData<*const ()>,
}

impl PreciseWaits {
    /// Starts on the calling thread.
    pub fn begin() -> PreciseWaits {
        PreciseWaits { _not_send: PhantomData }
    }
}
