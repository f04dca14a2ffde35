//! Whether this thread is driving a runtime right now.
//!
//! Blocking a thread that drives tasks starves them, so `block_on`, `blocking_recv` and their kind ask
//! here first. The mark belongs to the thread, not to a particular runtime.

use std::cell::Cell;

/// What this thread is to a runtime.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Entered {
    /// Not driving any: free to block.
    No,
    /// Driving one; `block_in_place` can move its work elsewhere.
    MayBlockInPlace,
    /// Driving one that is bound to this thread: nothing may block.
    Bound,
}

crate::per_thread! {
    static ENTERED: Cell<Entered> = const { Cell::new(Entered::No) };
}

/// What this thread is to a runtime.
pub fn entered() -> Entered {
    ENTERED.with(Cell::get)
}

/// Sets the mark until the guard is dropped, which puts the old one back.
#[must_use]
pub fn set_entered(mark: Entered) -> EnteredGuard {
    EnteredGuard { before: ENTERED.with(|cell| cell.replace(mark)), _not_send: Default::default() }
}

/// Puts the thread's old mark back when dropped.
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
