//! The kernel's id of a thread.

/// Returns the kernel's id of the calling thread, as under `/proc/self/task`.
///
/// Returns `None` if the platform has no such id.
pub fn of_this_thread() -> Option<u32> {
    number::own()
}

/// The system call, declared here because this crate depends on nothing but std. (Older C libraries
/// have no `gettid` function.)
#[cfg(all(
    target_os = "linux",
    any(target_arch = "x86_64", target_arch = "aarch64", target_arch = "riscv64"),
    not(any(wakeful_loom, miri)),
))]
mod number {
    use std::ffi::c_long;

    const SYS_GETTID: c_long = if cfg!(target_arch = "x86_64") { 186 } else { 178 };

    unsafe extern "C" {
        fn syscall(number: c_long, ...) -> c_long;
    }

    pub(super) fn own() -> Option<u32> {
        // SAFETY: the call takes no arguments and accesses no memory of the caller.
        u32::try_from(unsafe { syscall(SYS_GETTID) }).ok()
    }
}

#[cfg(not(all(
    target_os = "linux",
    any(target_arch = "x86_64", target_arch = "aarch64", target_arch = "riscv64"),
    not(any(wakeful_loom, miri)),
)))]
mod number {
    pub(super) fn own() -> Option<u32> {
        // The link's target is `PID/task/TID`.
        let link = std::fs::read_link("/proc/thread-self").ok()?;
        link.file_name()?.to_str()?.parse().ok()
    }
}

#[cfg(all(test, target_os = "linux", not(any(wakeful_loom, miri))))]
mod tests {
    use super::*;

    #[test]
    fn the_id_is_the_one_under_proc() {
        let numbers = [std::thread::spawn(of_this_thread).join().unwrap(), of_this_thread()];
        let link = std::fs::read_link("/proc/thread-self").unwrap();
        assert_eq!(numbers[1].unwrap().to_string(), link.file_name().unwrap().to_str().unwrap());
        assert_ne!(numbers[0], numbers[1]);
    }
}
