//! Tasks with their handles and wakers, sets of tasks, blocking calls, task-locals.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use wakeful::runtime::{Handle, RuntimeFlavor};
use wakeful::task::{self, AbortHandle, JoinHandle, JoinSet};
use wakeful_torture::rng::Rng;

use crate::basket::Basket;
use crate::pool::Pool;
use crate::shared::{Shared, with_context};
use crate::values::{Value, call_hostile};
use crate::wakers::Masked;
use crate::world::discard;

wakeful::task_local! {
    static LOCAL: Value;
}

#[derive(Default)]
pub struct Tasks {
    handles: Basket<JoinHandle<Value>>,
    abort_handles: Basket<AbortHandle>,
    sets: Basket<JoinSet<Value>>,
    /// Wakers of tasks.
    wakers: Basket<Waker>,
}

impl Shared for Tasks {
    const NEEDS_RUNTIME: bool = true;

    fn make(_: &mut Rng) -> Self {
        Tasks::default()
    }

    fn act(self: &Arc<Self>, pool: &mut Pool, rng: &mut Rng) {
        match rng.below(20) {
            0..5 => self.spawn(rng),
            5 => self.handles.with(rng, |handle| handle.abort()),
            6 => self.handles.drop_one(rng),
            7..9 => {
                if let Some(handle) = self.handles.take(rng) {
                    pool.add_direct(handle);
                }
            }
            9 => self.handles.with(rng, |handle| self.abort_handles.put(handle.abort_handle())),
            10 => self.abort_handles.with(rng, |handle| handle.abort()),
            11 => self.abort_handles.drop_one(rng),
            12 => self.wakers.with(rng, |waker| waker.wake_by_ref()),
            13 => self.wakers.drop_one(rng),
            14 => self.join_by_task(rng),
            _ => self.set(pool, rng),
        }
    }

    fn clear(&self) {
        self.sets.clear();
        self.handles.clear();
        self.abort_handles.clear();
        self.wakers.clear();
    }
}

impl Tasks {
    fn spawn(self: &Arc<Self>, rng: &mut Rng) {
        let future = self.future(rng);
        let value = Value::new();
        let handle = match rng.below(7) {
            0 => task::spawn_blocking(move || {
                call_hostile(&value);
                value
            }),
            1 => task::spawn(LOCAL.scope(value, async move {
                LOCAL.with(call_hostile);
                future.await
            })),
            2 if Handle::current().runtime_flavor() == RuntimeFlavor::MultiThread => {
                task::spawn(async move {
                    let value = task::block_in_place(move || {
                        call_hostile(&value);
                        value
                    });
                    future.await;
                    value
                })
            }
            3 => task::spawn(Masked::new(future)),
            _ => task::spawn(future),
        };
        self.handles.put(handle);
    }

    /// Spawns a task that waits for another.
    fn join_by_task(&self, rng: &mut Rng) {
        if let Some(handle) = self.handles.take(rng) {
            self.handles.put(task::spawn(async move {
                match handle.await {
                    Ok(value) => value,
                    Err(error) => {
                        drop(error);
                        Value::new()
                    }
                }
            }));
        }
    }

    fn set(self: &Arc<Self>, pool: &mut Pool, rng: &mut Rng) {
        match rng.below(12) {
            0 => self.sets.put(JoinSet::new()),
            1..4 => {
                let future = self.future(rng);
                self.sets.with(rng, |set| self.abort_handles.put(set.spawn(future)));
            }
            4 => self.sets.with(rng, |set| {
                let value = Value::new();
                set.spawn_blocking(move || {
                    call_hostile(&value);
                    value
                });
            }),
            5 | 6 => self.sets.with(rng, |set| drop(with_context(|cx| set.poll_join_next(cx)))),
            7 => self.sets.with(rng, |set| drop(set.try_join_next())),
            8 => self.sets.with(rng, JoinSet::abort_all),
            9 => self.sets.with(rng, JoinSet::detach_all),
            10 => {
                if let Some(mut set) = self.sets.take(rng) {
                    let shared = self.clone();
                    pool.add(async move {
                        discard(set.join_next().await);
                        set.shutdown().await;
                        shared.sets.put(set);
                    });
                }
            }
            _ => self.sets.drop_one(rng),
        }
    }

    fn future(self: &Arc<Self>, rng: &mut Rng) -> HostileTask {
        HostileTask {
            captured: Value::new(),
            polls_left: rng.below(4),
            rng: rng.fork(),
            shared: self.clone(),
        }
    }
}

/// The future of a task. It may panic, wake itself, or leave its waker in the shared list.
struct HostileTask {
    captured: Value,
    polls_left: usize,
    rng: Rng,
    shared: Arc<Tasks>,
}

impl Future for HostileTask {
    type Output = Value;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Value> {
        call_hostile(&self.captured);
        if self.polls_left == 0 {
            return Poll::Ready(Value::new());
        }
        self.polls_left -= 1;
        match self.rng.below(3) {
            0 => cx.waker().wake_by_ref(),
            1 => {
                cx.waker().wake_by_ref();
                self.shared.wakers.put(cx.waker().clone());
            }
            _ => self.shared.wakers.put(cx.waker().clone()),
        }
        Poll::Pending
    }
}
