//! Call stacks, captured where a leaf is polled and printed on another thread.

use std::backtrace::Backtrace;
use std::fmt;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The limit on frames that identify a stack.
const FRAMES_MAX: usize = 64;

/// A call stack, as a number. Stacks that are equal have the same number.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Stack(u64);

/// The stacks that were captured and not [taken](Stack::take_captured) yet.
static CAPTURED: Mutex<Vec<(u64, Backtrace)>> = Mutex::new(Vec::new());

/// The numbers of all stacks captured so far, in order.
static KNOWN: Mutex<Vec<u64>> = Mutex::new(Vec::new());

/// The addresses in the frames of the stacks in [`KNOWN`], in the same order.
#[cfg(feature = "taskdump")]
static ADDRESSES: Mutex<Vec<Box<[usize]>>> = Mutex::new(Vec::new());

impl Stack {
    /// Captures the calling thread's stack.
    ///
    /// Names are not resolved: that takes long, and is left to the thread that prints them.
    #[inline(never)]
    pub fn capture() -> Stack {
        let mut frames = [0_usize; FRAMES_MAX];
        let frames = frames::read(&mut frames);
        let mut hasher = DefaultHasher::new();
        frames.hash(&mut hasher);
        let number = hasher.finish();
        let is_new = lock(&KNOWN).binary_search(&number).is_err();
        if is_new {
            // Not under the lock: this may take long.
            let captured = Backtrace::force_capture();
            let mut known = lock(&KNOWN);
            if let Err(at) = known.binary_search(&number) {
                known.insert(at, number);
                #[cfg(feature = "taskdump")]
                lock(&ADDRESSES).insert(at, frames.into());
                drop(known);
                lock(&CAPTURED).push((number, captured));
            }
        }
        Stack(number)
    }

    /// Returns the addresses of the instructions that the stack's functions had reached, innermost
    /// first.
    #[cfg(feature = "taskdump")]
    pub fn addresses(self) -> Vec<usize> {
        let known = lock(&KNOWN);
        let at = known.binary_search(&self.0);
        at.map_or(Vec::new(), |at| lock(&ADDRESSES)[at].to_vec())
    }

    /// Returns the stacks captured since the last call, for [`Backtrace`]'s `Display` to resolve.
    pub fn take_captured() -> Vec<(Stack, Backtrace)> {
        let captured = std::mem::take(&mut *lock(&CAPTURED));
        captured.into_iter().map(|(number, stack)| (Stack(number), stack)).collect()
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl fmt::Debug for Stack {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Stack({:x})", self.0)
    }
}

mod frames {
    use std::ffi::{c_int, c_void};

    // Part of the unwinder that std links.
    unsafe extern "C" {
        fn _Unwind_Backtrace(
            step: extern "C" fn(*mut c_void, *mut c_void) -> c_int,
            state: *mut c_void,
        ) -> c_int;
        fn _Unwind_GetIP(context: *mut c_void) -> usize;
    }

    const GO_ON: c_int = 0;
    const STOP: c_int = 5;

    struct Frames<'a> {
        into: &'a mut [usize],
        len: usize,
    }

    extern "C" fn step(context: *mut c_void, state: *mut c_void) -> c_int {
        // SAFETY: `read` passes its `Frames`, which nothing else uses until the unwinder returns.
        let frames = unsafe { &mut *state.cast::<Frames<'_>>() };
        let Some(place) = frames.into.get_mut(frames.len) else { return STOP };
        // SAFETY: the unwinder passes its own context to this function, and it is valid during it.
        *place = unsafe { _Unwind_GetIP(context) };
        frames.len += 1;
        GO_ON
    }

    /// Reads the addresses in the calling thread's frames, as far as there is room. None under
    /// Miri, which has no unwinder.
    pub(super) fn read(into: &mut [usize]) -> &[usize] {
        if cfg!(miri) {
            return &[];
        }
        let mut frames = Frames { into, len: 0 };
        // SAFETY: `step` has the signature that the unwinder calls, and does not unwind. `frames`
        // lives until the call returns.
        unsafe { _Unwind_Backtrace(step, (&raw mut frames).cast()) };
        let Frames { into, len } = frames;
        &into[..len]
    }
}
