//! Asymmetric fences: almost free on the frequent side, expensive on the rare side.
//!
//! Two threads that each write one word and then read the other's word both need a fence in
//! between, or both may read the old value. With asymmetric fences only the rare side pays:
//! [`heavy_fence`] makes every thread of the process execute a full fence, wherever it is at that
//! moment. The frequent side's [`LightFence`] only keeps the compiler from moving the read before
//! the write.
//!
//! ```text
//!   frequent side                     rare side
//!   a = 1                             b = 1
//!   light.fence()                     heavy_fence()
//!   if b == 0 { it sees a == 1 }      if a == 0 { it sees b == 1 }
//! ```
//!
//! The heavy fence is Linux's `membarrier`. Where the kernel does not have it, both sides use
//! ordinary full fences.

use crate::sync::atomic::{Ordering::SeqCst, fence};

/// The fence of the frequent side.
#[derive(Debug, Clone, Copy)]
pub struct LightFence {
    kind: Kind,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// A compiler fence only: the heavy fence covers the CPU's part.
    Compiler,
    /// A full fence of the CPU, because the kernel has no `membarrier`.
    Real,
    /// No fence is needed, since no thread calls `heavy_fence`.
    None,
}

impl LightFence {
    /// Creates a fence that pairs with [`heavy_fence`].
    pub fn new() -> LightFence {
        LightFence { kind: if barrier::is_supported() { Kind::Compiler } else { Kind::Real } }
    }

    /// Creates a fence that does nothing, for use when no thread calls [`heavy_fence`].
    pub fn unpaired() -> LightFence {
        LightFence { kind: Kind::None }
    }

    /// Orders earlier memory accesses before later ones, with respect to [`heavy_fence`].
    #[inline(always)]
    pub fn fence(self) {
        if self.kind == Kind::Real {
            fence(SeqCst);
        } else {
            // Under loom, which models atomics only, a paired fence takes the branch above, since
            // `is_supported` returns false.
            std::sync::atomic::compiler_fence(SeqCst);
        }
    }
}

impl Default for LightFence {
    fn default() -> LightFence {
        LightFence::new()
    }
}

/// Registers the process for `membarrier` while that is cheap: while it has a single thread.
///
/// Optional. It saves the first [`heavy_fence`] a wait.
pub fn prepare() {
    if barrier::is_supported() {
        barrier::prepare();
    }
}

/// Executes the fence of the rare side.
///
/// Returns false if the kernel refused it: the caller must then not rely on any ordering.
///
/// The first call in a process with several threads blocks until the kernel has registered the
/// process, unless [`prepare`] was called before they started; see bench/NOTES.md: membarrier.
#[must_use]
pub fn heavy_fence() -> bool {
    if barrier::is_supported() {
        barrier::pass_everywhere()
    } else {
        fence(SeqCst);
        true
    }
}

/// The system call, declared here because this crate depends on nothing but std.
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
        // SAFETY: `membarrier` takes three integers and accesses no memory of the caller.
        unsafe { syscall(SYS_MEMBARRIER, command, flags, cpu) }
    }

    pub(super) fn is_supported() -> bool {
        static IS_SUPPORTED: OnceLock<bool> = OnceLock::new();
        *IS_SUPPORTED.get_or_init(|| {
            let wanted = (PRIVATE_EXPEDITED | REGISTER_PRIVATE_EXPEDITED) as c_long;
            let known = membarrier(QUERY);
            known >= 0 && known & wanted == wanted
        })
    }

    /// Registers the process, if it has one thread. With several threads the kernel waits for a
    /// grace period; see bench/NOTES.md: membarrier.
    pub(super) fn prepare() {
        // Tried once: a process that has had several threads mostly has several from then on.
        static IS_TRIED: AtomicBool = AtomicBool::new(false);
        // A flag rather than a `Once`, because this can be re-entered: reading the directory
        // allocates, and a global allocator may call `prepare` again.
        if IS_TRIED.swap(true, Relaxed) {
            return;
        }
        let threads =
            std::fs::read_dir("/proc/self/task").map_or(0, |threads| threads.take(2).count());
        if threads == 1 {
            // If the kernel refuses, the first heavy fence tries again and reports the failure.
            membarrier(REGISTER_PRIVATE_EXPEDITED);
        }
    }

    /// Makes every thread of the process execute a full fence. Returns false if the kernel refused.
    pub(super) fn pass_everywhere() -> bool {
        // The kernel refuses the fence until the process is registered for it.
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
    pub(super) fn is_supported() -> bool {
        false
    }

    pub(super) fn prepare() {}

    pub(super) fn pass_everywhere() -> bool {
        false
    }
}

#[cfg(all(test, not(wakeful_loom)))]
mod tests;
