//! A wall clock that jumps, for this process only.
//!
//! Setting the machine's clock would disturb other programs. This program instead defines its own
//! `clock_gettime`, which the standard library and all crates link to, and which adds an offset to
//! the wall clock. A seccomp filter ends the process if it asks the kernel for a timer or a futex
//! on the wall clock.

use crate::seccomp::{self, Action, Argument, Rule};
use std::io;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering::Relaxed};
use std::thread;
use std::time::Duration;

/// The offset that is added to the wall clock.
static OFFSET_SECONDS: AtomicI64 = AtomicI64::new(0);
static STEPS: AtomicBool = AtomicBool::new(false);

/// Replaces the function of the C library.
///
/// # Safety
/// As for the C library's: `time` must be valid for a write.
#[unsafe(no_mangle)]
unsafe extern "C" fn clock_gettime(clock: libc::clockid_t, time: *mut libc::timespec) -> i32 {
    // SAFETY: `time` is valid for a write, by this function's contract.
    let result = unsafe { libc::syscall(libc::SYS_clock_gettime, clock, time) };
    if result == 0 && clock == libc::CLOCK_REALTIME {
        // SAFETY: as above; the system call has just initialized it.
        unsafe { (*time).tv_sec += OFFSET_SECONDS.load(Relaxed) };
    }
    result as i32
}

/// Moves the wall clock forwards and back every 5 ms, until the process ends.
pub fn begin_to_step() -> io::Result<()> {
    const REALTIME: u32 = libc::CLOCK_REALTIME as u32;
    const ON_REALTIME: u32 = libc::FUTEX_CLOCK_REALTIME as u32;
    let argument = |index, mask, value, is| Argument { index, mask, value, is };
    let is_realtime = || vec![argument(0, u32::MAX, REALTIME, true)];
    // Only waits with a timeout matter. Waits without one, such as joining a thread, may use any
    // clock.
    let timed = vec![argument(1, ON_REALTIME, ON_REALTIME, true), argument(3, u32::MAX, 0, false)];
    let rule = |call, arguments| Rule { call, arguments, action: Action::Kill };
    seccomp::enforce(&[
        rule(libc::SYS_timerfd_create, is_realtime()),
        rule(libc::SYS_timer_create, is_realtime()),
        rule(libc::SYS_futex, timed),
    ])?;
    if !STEPS.swap(true, Relaxed) {
        thread::Builder::new().spawn(|| {
            for offset in [3_600, -3_600, 0, 86_400 * 365, -86_400].into_iter().cycle() {
                OFFSET_SECONDS.store(offset, Relaxed);
                thread::sleep(Duration::from_millis(5));
            }
        })?;
    }
    Ok(())
}
