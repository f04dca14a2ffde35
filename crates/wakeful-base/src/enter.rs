//! Whether the calling thread is driving a runtime.
//!
//! Blocking a thread that drives tasks starves these tasks. `block_on`, `blocking_recv` and similar
//! functions therefore check here first. The state belongs to the thread, not to a particular
//! runtime.

use std::cell::Cell;

/// Whether a thread drives a runtime, and whether it may block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Entered {
    /// The thread drives no runtime and may block.
    No,
    /// The thread drives a runtime, and `block_in_place` can hand its work off to another thread.
    MayBlockInPlace,
    /// The thread drives a runtime that is bound to it, so nothing may block.
    Bound,
}

crate::per_thread! {
    static ENTERED: Cell<Entered> = const { Cell::new(Entered::No) };
}

/// Returns whether the calling thread drives a runtime.
pub fn entered() -> Entered {
    ENTERED.with(Cell::get)
}

/// Sets the calling thread's state until the guard is dropped, which restores the previous state.
#[must_use]
pub fn set_entered(mark: Entered) -> EnteredGuard {
    EnteredGuard { before: ENTERED.with(|cell| cell.replace(mark)), _not_send: Default::default() }
}

/// Restores the thread's previous state when dropped.
#[derive(Debug)]
pub struct EnteredGuard {
    before: Entered,
    _not_send: std::marker::PhantomData<*const ()>,
}

impl Drop for EnteredGuard {
    fn drop(&mut self) {
        ENTERED.with(|cell| cell.set(self.before));
    }
}
