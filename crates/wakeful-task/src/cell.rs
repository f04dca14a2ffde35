//! The memory of a task with a given future and home, and the functions that depend on their types.

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
use wakeful_base::waiting::{self, CurrentSlot};

/// The future while the task runs, then its output, or the payload of the panic that it ended with.
///
/// No tag says which field is in use. The state word does: the future until the task is complete,
/// then the field of its outcome.
union FutureOrOutput<F: Future> {
    future: ManuallyDrop<F>,
    output: ManuallyDrop<F::Output>,
    // Boxed twice, so that it takes one word: the union is as large as its largest field.
    panic: ManuallyDrop<Box<PanicPayload>>,
}

#[repr(C)]
struct TaskCell<F: Future, S> {
    header: Header,
    stage: UnsafeCell<FutureOrOutput<F>>,
    _home: PhantomData<fn(S)>,
}

/// Allocates a task. The task is scheduled: the caller must put the returned entry into a queue.
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
    // SAFETY: `cell` was just allocated for this type and is not shared yet.
    unsafe {
        cell.write(TaskCell {
            header: Header::new(vtable::<F, S>(), home.cast(), id, spawned_at),
            stage: UnsafeCell::new(FutureOrOutput { future: ManuallyDrop::new(future) }),
            _home: PhantomData,
        });
    }
    let task: TaskRef = cell.cast();
    // SAFETY: the state word of a new task counts one queue entry and one join handle, which are
    // these two.
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
            type_name: std::any::type_name::<F>,
        }
    }
}

impl<F: Future, S> TaskCell<F, S> {
    /// # Safety
    /// `task` must be a live cell of exactly these types.
    unsafe fn stage<'a>(task: TaskRef) -> &'a UnsafeCell<FutureOrOutput<F>> {
        // SAFETY: by contract `task` points to a `TaskCell<F, S>`, whose first field is the header
        // (`repr(C)`).
        unsafe { &(*task.cast::<TaskCell<F, S>>().as_ptr()).stage }
    }
}

/// # Safety
/// The caller must hold the right to poll the task, and the cell must hold a future.
unsafe fn poll<F: Future, S>(task: TaskRef, cx: &mut Context<'_>) -> PollResult {
    // SAFETY: this function is in the vtable of tasks of these types.
    let stage = unsafe { TaskCell::<F, S>::stage(task) };
    let polled = catch_unwind(AssertUnwindSafe(|| {
        let on_unwind = DropOnUnwind(stage);
        let polled = stage.with_mut(|stage| {
            // SAFETY: the right to poll gives exclusive access to the future. It is pinned, since a
            // cell never moves.
            let future = unsafe { Pin::new_unchecked(&mut *(*stage).future) };
            future.poll(cx)
        });
        mem::forget(on_unwind);
        polled
    }));
    let (outcome, new) = match polled {
        Ok(Poll::Pending) => return PollResult::Pending,
        Err(payload) => (Outcome::Panic, panic_stage(payload)),
        // SAFETY: the caller still has exclusive access to the future, which is dropped here only.
        Ok(Poll::Ready(output)) => match unsafe { drop_future(stage) } {
            Ok(()) => (Outcome::Value, FutureOrOutput { output: ManuallyDrop::new(output) }),
            Err(payload) => {
                // As in Tokio, a panic in the future's destructor wins over the output.
                contain_panic(|| drop(output));
                (Outcome::Panic, panic_stage(payload))
            }
        },
    };
    // SAFETY: the caller still has exclusive access, and the stage is empty.
    stage.with_mut(|stage| unsafe { stage.write(new) });
    PollResult::Ready(outcome)
}

/// If the poll panics, drops the future during the unwinding, so that its destructors can detect
/// the panic (`std::thread::panicking`). If a destructor panics too, that panic is discarded, and
/// the first one is reported.
struct DropOnUnwind<'a, F: Future>(&'a UnsafeCell<FutureOrOutput<F>>);

impl<F: Future> Drop for DropOnUnwind<'_, F> {
    fn drop(&mut self) {
        // SAFETY: created in `poll`, which has exclusive access to the future, and forgotten unless
        // the poll unwinds.
        if let Err(payload) = unsafe { drop_future(self.0) } {
            drop_payload(payload);
        }
    }
}

/// Makes a task the current one while its future or its output is dropped.
///
/// # Safety
/// The task must outlive the guard.
unsafe fn enter_for_drop(task: TaskRef) -> CurrentSlot {
    // A complete task may be in a queue, and a drop waits for nothing.
    // SAFETY: by contract.
    unsafe { waiting::enter_without_notes(&raw const (*task.as_ptr()).slot) }
}

/// # Safety
/// The caller must hold the right to poll the task, and the cell must hold a future.
unsafe fn cancel<F: Future, S>(task: TaskRef) -> Outcome {
    // SAFETY: the caller keeps the task alive during this call.
    let _current = unsafe { enter_for_drop(task) };
    // SAFETY: this function is in the vtable of tasks of these types.
    let stage = unsafe { TaskCell::<F, S>::stage(task) };
    // SAFETY: the right to poll gives exclusive access to the future, which is dropped here only.
    match unsafe { drop_future(stage) } {
        Ok(()) => Outcome::Cancelled,
        Err(payload) => {
            // SAFETY: the caller still has exclusive access, and the stage is empty.
            stage.with_mut(|stage| unsafe { stage.write(panic_stage(payload)) });
            Outcome::Panic
        }
    }
}

/// # Safety
/// The stage must hold a future to which the caller has exclusive access. It is empty afterwards.
unsafe fn drop_future<F: Future>(
    stage: &UnsafeCell<FutureOrOutput<F>>,
) -> Result<(), Box<dyn Any + Send>> {
    catch_unwind(AssertUnwindSafe(|| {
        // SAFETY: by contract.
        stage.with_mut(|stage| unsafe { ManuallyDrop::drop(&mut (*stage).future) })
    }))
}

fn panic_stage<F: Future>(payload: Box<dyn Any + Send>) -> FutureOrOutput<F> {
    FutureOrOutput { panic: ManuallyDrop::new(Box::new(PanicPayload::new(payload))) }
}

/// # Safety
/// The task must be complete. Its output must not have been taken, and must belong to the caller.
unsafe fn drop_output<F: Future, S>(task: TaskRef) {
    // SAFETY: the caller keeps the task alive during this call.
    let _current = unsafe { enter_for_drop(task) };
    // SAFETY: the caller keeps the task alive.
    let outcome = unsafe { task.as_ref() }.state.outcome();
    // SAFETY: this function is in the vtable of tasks of these types.
    let stage = unsafe { TaskCell::<F, S>::stage(task) };
    contain_panic(|| {
        stage.with_mut(|stage| {
            // SAFETY: the outcome of a complete task tells which field is in use, and the output is
            // the caller's.
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
/// As for `drop_output`. `into` must point to a writable `Option<Result<F::Output, JoinError>>`.
unsafe fn take_output<F: Future, S>(task: TaskRef, into: *mut ()) {
    // SAFETY: the caller keeps the task alive.
    let header = unsafe { task.as_ref() };
    // SAFETY: this function is in the vtable of tasks of these types.
    let stage = unsafe { TaskCell::<F, S>::stage(task) };
    let result = stage.with_mut(|stage| {
        // SAFETY: the outcome of a complete task tells which field is in use. The output is the
        // caller's, which takes it once.
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
    // SAFETY: by contract.
    unsafe { *into.cast::<Option<Result<F::Output, JoinError>>>() = Some(result) };
}

/// # Safety
/// The caller must hold the task's queue entry, and gives it up.
unsafe fn schedule<S: Schedule>(task: TaskRef) {
    // SAFETY: only the holder of the queue entry, the caller, may read or change the home.
    let home = unsafe { task.as_ref().home.with(|home| (*home).cast::<S>()) };
    // SAFETY: the home stays valid as long as the cell, and the entry is the caller's.
    unsafe { S::schedule(home, Runnable::from_raw(task)) };
}

/// # Safety
/// The caller must have released the last reference, and the stage must be empty.
unsafe fn free<F: Future, S: Schedule>(task: TaskRef) {
    let place = task.cast::<TaskCell<F, S>>();
    // SAFETY: `new_task` wrote a cell of these types, and no other reference to it is left.
    let cell = unsafe { &mut *place.as_ptr() };
    cell.header.assert_at_end();
    // The stage is empty. This access lets loom check that all earlier accesses to it happened
    // before.
    cell.stage.with_mut(|_| ());
    // SAFETY: without other references, this thread may access every field.
    let home = cell.header.home.with(|home| unsafe { *home }).cast::<S>();
    // SAFETY: `new_task` allocated the cell for this type, and it is freed here only.
    unsafe {
        place.drop_in_place();
        slab_alloc::free(place);
    }
    // SAFETY: the home was valid for as long as the cell, which has just been freed.
    unsafe { S::release_cell(home) };
}
