//! Fences in pairs, where one side passes all the time and the other hardly ever.
//!
//! Two threads that each write one word and then read the other's need a fence between the two, or
//! both may read the old. With these, only the rare side pays: its [`heavy_fence`] makes every thread
//! of the process pass a full fence, wherever that is just then. The [`LightFence`] of the others only
//! keeps the compiler from moving the read before the write.
//!
//! ```text
//!   frequent side                     rare side
//!   a = 1                             b = 1
//!   light.fence()                     heavy_fence()
//!   if b == 0 { it sees a == 1 }      if a == 0 { it sees b == 1 }
//! ```
//!
//! The kernel's part is `membarrier`. Where there is none, both sides use ordinary fences.

use crate::sync::atomic::{Ordering::SeqCst, fence};

/// The frequent side's fence.
#[derive(Debug, Clone, Copy)]
pub struct LightFence {
    kind: Kind,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// The heavy fence does it all.
    Compiler,
    Real,
    /// There is no other side.
    None,
}

impl LightFence {
    /// A fence whose other side is [`heavy_fence`].
    pub fn new() -> LightFence {
        LightFence { kind: if barrier::is_there() { Kind::Compiler } else { Kind::Real } }
    }

    /// No fence: nobody will call [`heavy_fence`].
    pub fn unpaired() -> LightFence {
        LightFence { kind: Kind::None }
    }

    /// Keeps what comes after behind what came before.
    #[inline(always)]
    pub fn fence(self) {
        if self.kind == Kind::Real {
            fence(SeqCst);
        } else {
            // Loom models atomics only, and is given a real fence above.
            std::sync::atomic::compiler_fence(SeqCst);
        }
    }
}

impl Default for LightFence {
    fn default() -> LightFence {
        LightFence::new()
    }
}

/// Spares the first [`heavy_fence`] its wait, if that can be done in no time: while the process has one thread.
pub fn prepare() {
    if barrier::is_there() {
        barrier::prepare();
    }
}

/// The rare side's fence. False if the kernel refused it, and nothing may be built on it.
///
/// The first call of a process that has several threads takes ten milliseconds or so, unless [`prepare`] came
/// before them.
#[must_use]
pub fn heavy_fence() -> bool {
    if barrier::is_there() {
        barrier::pass_everywhere()
    } else {
        fence(SeqCst);
        true
    }
}

/// The system call itself; declared here, so that the lowest crate depends on nothing but std.
#[cfg(all(
    target_os = "linux",
    any(target_arch = "x86_64", target_arch = "aarch64", target_arch = "riscv64"),
    not(any(wakeful_loom, miri)),
))]
mod barrier {
    use std::ffi::{c_int, c_long, c_uint};
    use std::sync::OnceLock;
    use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

    const SYS_MEMBARRIER: c_long = if cfg!(target_arch = "x86_64") { 324 } else { 283 };
    const QUERY: c_int = 0;
    const PRIVATE_EXPEDITED: c_int = 1 << 3;
    const REGISTER_PRIVATE_EXPEDITED: c_int = 1 << 4;

    unsafe extern "C" {
        fn syscall(number: c_long, ...) -> c_long;
    }

    fn membarrier(command: c_int) -> c_long {
        let (flags, cpu): (c_uint, c_int) = (0, 0);
        // SAFETY: the call takes three numbers and touches no memory of ours.
        unsafe { syscall(SYS_MEMBARRIER, command, flags, cpu) }
    }

    pub(super) fn is_there() -> bool {
        static IS_THERE: OnceLock<bool> = OnceLock::new();
        *IS_THERE.get_or_init(|| {
            let wanted = (PRIVATE_EXPEDITED | REGISTER_PRIVATE_EXPEDITED) as c_long;
            let known = membarrier(QUERY);
            known >= 0 && known & wanted == wanted
        })
    }

    /// To register takes the kernel 3 µs for a process with one thread, and up to 13 ms for others.
    pub(super) fn prepare() {
        // A process that has had threads once mostly has them from then on.
        static IS_TRIED: AtomicBool = AtomicBool::new(false);
        // No caller waits for another: reading the directory allocates, and the allocator may call this again.
        if IS_TRIED.swap(true, Relaxed) {
            return;
        }
        let threads =
            std::fs::read_dir("/proc/self/task").map_or(0, |threads| threads.take(2).count());
        if threads == 1 {
            // Refused, it is tried again with the first fence, whose caller is told.
            membarrier(REGISTER_PRIVATE_EXPEDITED);
        }
    }

    /// Makes all threads of the process pass a fence.
    pub(super) fn pass_everywhere() -> bool {
        // Refused until the process has registered for it.
        membarrier(PRIVATE_EXPEDITED) == 0
            || (membarrier(REGISTER_PRIVATE_EXPEDITED) == 0 && membarrier(PRIVATE_EXPEDITED) == 0)
    }
}

#[cfg(not(all(
    target_os = "linux",
    any(target_arch = "x86_64", target_arch = "aarch64", target_arch = "riscv64"),
    not(any(wakeful_loom, miri)),
)))]
mod barrier {
    pub(super) fn is_there() -> bool {
        false
    }

    pub(super) fn prepare() {}

    pub(super) fn pass_everywhere() -> bool {
        false
    }
}

#[cfg(all(test, not(wakeful_loom)))]
mod tests;
