//! A waker that is borrowed from an `Arc`, and counts nothing.
//!
//! A poll needs a waker for as long as it runs. The executor has an `Arc` of the task in hand for
//! that time, so a waker could do without a reference of its own. In the `futures` crate this is
//! `waker_ref`. Here it is by hand: the waker is made of the bare pointer, and never dropped. What
//! is cloned from it counts as usual.
//!
//! 从 `Arc` 借来的 waker，什么也不数。一次 poll 只在它运行期间需要 waker，而这期间执行器手里本来就
//! 有任务的 `Arc`，所以这个 waker 不必自己拥有引用。`futures` 库里叫 `waker_ref`，这里手写一遍：用
//! 裸指针造 waker，而且永远不 drop 它；从它克隆出来的，照常计数。

use std::marker::PhantomData;
use std::mem::ManuallyDrop;
use std::ops::Deref;
use std::sync::Arc;
use std::task::{RawWaker, Waker};

use super::over_arc::{Bell, VTABLE};

/// Derefs to a waker for the bell, which outlives it.
pub(super) struct Borrowed<'b> {
    waker: ManuallyDrop<Waker>,
    bell: PhantomData<&'b Arc<Bell>>,
}

/// Returns a waker for `bell` without counting it.
pub(super) fn waker_ref(bell: &Arc<Bell>) -> Borrowed<'_> {
    let raw = RawWaker::new(Arc::as_ptr(bell).cast(), &VTABLE);
    // SAFETY: the functions of `VTABLE` want a pointer from an `Arc` whose reference the waker
    // owns. This waker owns none, but it is neither dropped nor woken by value: it is only lent out
    // as a `&Waker`. `clone` and `wake_by_ref` need the bell to be alive, and `bell` is borrowed
    // for as long as the `Borrowed` lives.
    let waker = unsafe { Waker::from_raw(raw) };
    Borrowed { waker: ManuallyDrop::new(waker), bell: PhantomData }
}

impl Deref for Borrowed<'_> {
    type Target = Waker;

    fn deref(&self) -> &Waker {
        &self.waker
    }
}
