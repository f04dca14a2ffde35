//! How late the kernel may end a wait.

use std::marker::PhantomData;

/// Makes the kernel end this thread's waits on time, until dropped.
///
/// By default it may end them up to 50 µs late, in order to end several at once.
#[derive(Debug)]
pub struct PreciseWaits {
    before_ns: libc::c_ulong,
    _not_send: PhantomData<*const ()>,
}

impl PreciseWaits {
    /// Starts on the calling thread.
    pub fn begin() -> PreciseWaits {
        // SAFETY: the calls take integers only, and return an error if the kernel does not know
        // them.
        let before_ns = unsafe { libc::prctl(libc::PR_GET_TIMERSLACK) };
        set_slack(1);
        // Zero stands for the thread's default.
        PreciseWaits { before_ns: before_ns.max(0) as libc::c_ulong, _not_send: PhantomData }
    }
}

impl Drop for PreciseWaits {
    fn drop(&mut self) {
        set_slack(self.before_ns);
    }
}

fn set_slack(slack_ns: libc::c_ulong) {
    // SAFETY: as above.
    unsafe { libc::prctl(libc::PR_SET_TIMERSLACK, slack_ns) };
}
