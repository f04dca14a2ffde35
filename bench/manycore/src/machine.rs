//! The interface of the virtual machine in `../machine`.

mod allocator;

use std::ffi::{CString, c_char, c_int};
use std::time::Duration;

/// What the machine has counted, of all threads together.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct Counts {
    /// Cache lines that moved from one core to another.
    pub transfers: u64,
    /// Reads that copied a line which no core had modified.
    pub shared_reads: u64,
    /// Atomic read-modify-writes.
    pub rmws: u64,
    /// Threads that parked.
    pub parks: u64,
    /// Calls of `epoll_wait`.
    pub polls: u64,
    /// All system calls.
    pub calls: u64,
}

/// The functions of `program.c` and `constants.c`.
mod ffi {
    use super::{Counts, c_char, c_int};

    unsafe extern "C" {
        pub safe fn mc_begin();
        pub safe fn mc_stop();
        pub safe fn mc_work(ns: u64);
        pub safe fn mc_alloc();
        pub safe fn mc_reset();
        pub safe fn mc_counts(counts: &mut Counts);
        pub safe fn mc_print_profile(places: c_int);
        pub safe fn mc_print_constants();
        pub fn mc_set(name: *const c_char, value: f64) -> bool;
        pub fn mc_fix_addresses(arguments: *const *const c_char);
    }
}

/// Restarts the program with the same addresses in every run. Returns if it has them already, or
/// cannot have them.
pub fn fix_addresses() {
    let arguments: Vec<CString> =
        std::env::args().map(|arg| CString::new(arg).expect("arguments have no NUL")).collect();
    let mut pointers: Vec<*const c_char> = arguments.iter().map(|arg| arg.as_ptr()).collect();
    pointers.push(std::ptr::null());
    // SAFETY: the array ends with a null pointer, and it and the strings live until the call
    // returns.
    unsafe { ffi::mc_fix_addresses(pointers.as_ptr()) };
}

/// Sets a constant of the machine. Returns whether there is one of that name.
pub fn set(name: &str, value: f64) -> bool {
    let name = CString::new(name).expect("names of constants have no NUL");
    // SAFETY: the string lives until the call returns, and ends with a NUL.
    unsafe { ffi::mc_set(name.as_ptr(), value) }
}

/// Prints all constants.
pub fn print_constants() {
    ffi::mc_print_constants();
}

/// Starts the machine: from now on, time is virtual. Other threads must not exist yet.
pub fn begin() {
    ffi::mc_begin();
}

/// Stops the machine. Other threads never run again.
pub fn stop() {
    ffi::mc_stop();
}

/// Starts counting.
pub fn reset() {
    ffi::mc_reset();
}

/// Returns what was counted since [`reset`].
pub fn counts() -> Counts {
    let mut counts = Counts::default();
    ffi::mc_counts(&mut counts);
    counts
}

/// Prints the places in the code that waited longest for cache lines since [`reset`].
pub fn print_profile(places: i32) {
    ffi::mc_print_profile(places);
}

/// Charges for an allocation.
fn charge_allocation() {
    ffi::mc_alloc();
}

/// Computes for so many nanoseconds.
pub fn work_ns(ns: u64) {
    ffi::mc_work(ns);
}

/// Computes for so many microseconds.
pub fn work_us(us: u64) {
    work_ns(us * 1000);
}

/// Returns the CPU time that all threads have used.
pub fn cpu_time() -> Duration {
    #[repr(C)]
    struct Timespec {
        seconds: i64,
        nanoseconds: i64,
    }
    const CLOCK_PROCESS_CPUTIME_ID: c_int = 2;
    unsafe extern "C" {
        fn clock_gettime(clock: c_int, time: *mut Timespec) -> c_int;
    }
    let mut time = Timespec { seconds: 0, nanoseconds: 0 };
    // SAFETY: the call writes one `Timespec` to `time`, which lives until it returns.
    unsafe { clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &mut time) };
    Duration::new(time.seconds as u64, time.nanoseconds as u32)
}
