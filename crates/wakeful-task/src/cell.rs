//! A task of a given future and home, and what depends on their types.

use crate::current::CurrentGuard;
use crate::error::{JoinError, PanicPayload};
use crate::header::{Header, PollResult, TaskRef, Vtable};
use crate::id::Id;
use crate::join::JoinHandle;
use crate::refs::{Runnable, Schedule};
use crate::state::Outcome;
use std::any::Any;
use std::future::Future;
use std::marker::PhantomData;
use std::mem::{self, ManuallyDrop};
use std::panic::{AssertUnwindSafe, Location, catch_unwind};
use std::pin::Pin;
use std::ptr::NonNull;
use std::task::{Context, Poll};
use wakeful_base::catch_panic::{contain_panic, drop_payload};
use wakeful_base::slab_alloc;
use wakeful_base::sync::UnsafeCell;

/// The future while it runs, then the output, or the panic that came instead.
union FutureOrOutput<F: Future> {
    future: ManuallyDrop<F>,
    output: ManuallyDrop<F::Output>,
    // Boxed twice to stay one word: the union is at least as large as its largest field.
    panic: ManuallyDrop<Box<PanicPayload>>,
}

#[repr(C)]
struct TaskCell<F: Future, S> {
    header: Header,
    stage: UnsafeCell<FutureOrOutput<F>>,
    _home: PhantomData<fn(S)>,
}

/// Allocates a task. It is scheduled: the caller owes the returned entry a queue.
///
/// # Safety
/// - `home` must be valid until [`Schedule::release_cell`] is called on it for this task.
/// - Unless `F` and its output are `Send`, the task must be polled, and its future dropped, on the
///   calling thread only.
pub unsafe fn new_task<F, S>(
    future: F,
    home: NonNull<S>,
    id: Id,
    spawned_at: &'static Location<'static>,
) -> (Runnable, JoinHandle<F::Output>)
where
    F: Future + 'static,
    F::Output: 'static,
    S: Schedule,
{
    let cell = slab_alloc::allocate::<TaskCell<F, S>>();
    // SAFETY: just allocated for one.
    unsafe {
        cell.write(TaskCell {
            header: Header::new(vtable::<F, S>(), home.cast(), id, spawned_at),
            stage: UnsafeCell::new(FutureOrOutput { future: ManuallyDrop::new(future) }),
            _home: PhantomData,
        });
    }
    let task: TaskRef = cell.cast();
    // SAFETY: the state word of a new task speaks of one entry and one join handle; these are they.
    unsafe { (Runnable::from_raw(task), JoinHandle::from_raw(task)) }
}

fn vtable<F: Future, S: Schedule>() -> &'static Vtable {
    const {
        &Vtable {
            poll: poll::<F, S>,
            cancel: cancel::<F, S>,
            drop_output: drop_output::<F, S>,
            take_output: take_output::<F, S>,
            schedule: schedule::<S>,
            free: free::<F, S>,
            calls_wakers: S::CALLS_WAKERS,
        }
    }
}

impl<F: Future, S> TaskCell<F, S> {
    /// # Safety
    /// `task` must be a live cell of just these types.
    unsafe fn stage<'a>(task: TaskRef) -> &'a UnsafeCell<FutureOrOutput<F>> {
        // SAFETY: the header is the first field of a `repr(C)` struct.
        unsafe { &(*task.cast::<TaskCell<F, S>>().as_ptr()).stage }
    }
}

/// # Safety
/// The caller has the task's turn, and the cell holds a future.
unsafe fn poll<F: Future, S>(task: TaskRef, cx: &mut Context<'_>) -> PollResult {
    // SAFETY: the caller's claim on the cell outlives this call.
    let _current = unsafe { CurrentGuard::enter(task) };
    // SAFETY: types by the vtable.
    let stage = unsafe { TaskCell::<F, S>::stage(task) };
    let polled = catch_unwind(AssertUnwindSafe(|| {
        let on_unwind = DropOnUnwind(stage);
        let polled = stage.with_mut(|stage| {
            // SAFETY: the turn makes the future ours; a cell never moves, so it is pinned.
            let future = unsafe { Pin::new_unchecked(&mut *(*stage).future) };
            future.poll(cx)
        });
        mem::forget(on_unwind);
        polled
    }));
    let (outcome, new) = match polled {
        Ok(Poll::Pending) => return PollResult::Pending,
        Err(payload) => (Outcome::Panic, panic_stage(payload)),
        // SAFETY: the future is still ours, and dropped this once.
        Ok(Poll::Ready(output)) => match unsafe { drop_future(stage) } {
            Ok(()) => (Outcome::Value, FutureOrOutput { output: ManuallyDrop::new(output) }),
            Err(payload) => {
                // As with Tokio, whoever joins learns of a panic rather than getting the value.
                contain_panic(|| drop(output));
                (Outcome::Panic, panic_stage(payload))
            }
        },
    };
    // SAFETY: the stage is ours and empty now.
    stage.with_mut(|stage| unsafe { stage.write(new) });
    PollResult::Ready(outcome)
}

/// Drops the future of a poll that panics while the panic is still under way, so that its destructors
/// can tell. A second panic in there is contained: the first is the one to report.
struct DropOnUnwind<'a, F: Future>(&'a UnsafeCell<FutureOrOutput<F>>);

impl<F: Future> Drop for DropOnUnwind<'_, F> {
    fn drop(&mut self) {
        // SAFETY: made in `poll`, which has the turn, and forgotten there unless it unwinds.
        if let Err(payload) = unsafe { drop_future(self.0) } {
            drop_payload(payload);
        }
    }
}

/// # Safety
/// The caller has the task's turn, and the cell holds a future.
unsafe fn cancel<F: Future, S>(task: TaskRef) -> Outcome {
    // SAFETY: the caller's claim on the cell outlives this call.
    let _current = unsafe { CurrentGuard::enter(task) };
    // SAFETY: types by the vtable.
    let stage = unsafe { TaskCell::<F, S>::stage(task) };
    // SAFETY: the turn makes the future ours to drop, once.
    match unsafe { drop_future(stage) } {
        Ok(()) => Outcome::Cancelled,
        Err(payload) => {
            // SAFETY: the stage is ours and empty now.
            stage.with_mut(|stage| unsafe { stage.write(panic_stage(payload)) });
            Outcome::Panic
        }
    }
}

/// # Safety
/// The stage must hold a future that is the caller's to drop.
unsafe fn drop_future<F: Future>(
    stage: &UnsafeCell<FutureOrOutput<F>>,
) -> Result<(), Box<dyn Any + Send>> {
    catch_unwind(AssertUnwindSafe(|| {
        // SAFETY: passed on to the caller.
        stage.with_mut(|stage| unsafe { ManuallyDrop::drop(&mut (*stage).future) })
    }))
}

fn panic_stage<F: Future>(payload: Box<dyn Any + Send>) -> FutureOrOutput<F> {
    FutureOrOutput { panic: ManuallyDrop::new(Box::new(PanicPayload::new(payload))) }
}

/// # Safety
/// The task must be complete and its output, not yet taken, the caller's.
unsafe fn drop_output<F: Future, S>(task: TaskRef) {
    // SAFETY: the caller's claim on the cell outlives this call.
    let _current = unsafe { CurrentGuard::enter(task) };
    // SAFETY: a live cell.
    let outcome = unsafe { task.as_ref() }.state.outcome();
    // SAFETY: types by the vtable.
    let stage = unsafe { TaskCell::<F, S>::stage(task) };
    contain_panic(|| {
        stage.with_mut(|stage| {
            // SAFETY: the outcome says which field is there, and it is the caller's.
            unsafe {
                match outcome {
                    Outcome::Value => ManuallyDrop::drop(&mut (*stage).output),
                    Outcome::Panic => ManuallyDrop::drop(&mut (*stage).panic),
                    Outcome::Cancelled => {}
                }
            }
        })
    });
}

/// # Safety
/// As for `drop_output`; `into` must point to a writable `Option<Result<F::Output, JoinError>>`.
unsafe fn take_output<F: Future, S>(task: TaskRef, into: *mut ()) {
    // SAFETY: a live cell.
    let header = unsafe { task.as_ref() };
    // SAFETY: types by the vtable.
    let stage = unsafe { TaskCell::<F, S>::stage(task) };
    let result = stage.with_mut(|stage| {
        // SAFETY: the outcome says which field is there; it is the caller's, who takes it once.
        unsafe {
            match header.state.outcome() {
                Outcome::Value => Ok(ManuallyDrop::take(&mut (*stage).output)),
                Outcome::Panic => {
                    let payload = ManuallyDrop::take(&mut (*stage).panic);
                    Err(JoinError::panic(header.id(), *payload))
                }
                Outcome::Cancelled => Err(JoinError::cancelled(header.id())),
            }
        }
    });
    // SAFETY: by contract of this function.
    unsafe { *into.cast::<Option<Result<F::Output, JoinError>>>() = Some(result) };
}

/// # Safety
/// The caller holds the task's queue entry and gives it up.
unsafe fn schedule<S: Schedule>(task: TaskRef) {
    // SAFETY: the entry lets us read the home.
    let home = unsafe { task.as_ref().home.with(|home| (*home).cast::<S>()) };
    // SAFETY: the home is valid as long as the cell is; the entry is the caller's.
    unsafe { S::schedule(home, Runnable::from_raw(task)) };
}

/// # Safety
/// The caller has given up the last reference, and the stage is empty.
unsafe fn free<F: Future, S: Schedule>(task: TaskRef) {
    let place = task.cast::<TaskCell<F, S>>();
    // SAFETY: written by `new_task` with these types, and nobody else refers to it any more.
    let cell = unsafe { &mut *place.as_ptr() };
    cell.header.assert_at_end();
    // Nothing is in the stage; the access tells loom that whatever was done to it is over.
    cell.stage.with_mut(|_| ());
    // SAFETY: the last reference may touch every field.
    let home = cell.header.home.with(|home| unsafe { *home }).cast::<S>();
    // SAFETY: allocated by `new_task` for this type, and dropped once.
    unsafe {
        place.drop_in_place();
        slab_alloc::free(place);
    }
    // SAFETY: the home was valid for the cell, which is gone now.
    unsafe { S::release_cell(home) };
}
