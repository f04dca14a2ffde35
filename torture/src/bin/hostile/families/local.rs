//! Local sets that are polled by hand with hostile wakers, driven by a runtime, and dropped with
//! their tasks.

use std::cell::RefCell;
use std::future::Future;
use std::pin::Pin;
use std::rc::Rc;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use wakeful::runtime::Runtime;
use wakeful::sync::Notify;
use wakeful::task::{self, JoinHandle, LocalSet};
use wakeful_torture::rng::Rng;

use crate::runtimes;
use crate::shared::with_context;
use crate::values::{Value, call_hostile};
use crate::wakers::Masked;
use crate::world::{self, attempt, discard};

const STEPS_MAX: usize = 150;

/// A set with its tasks, handles and wakers, which are dropped in random order.
struct Scene {
    set: LocalSet,
    runtime: Arc<Runtime>,
    local: Vec<JoinHandle<Value>>,
    remote: Vec<JoinHandle<Value>>,
    /// Wakers of tasks in the set. They outlive it.
    wakers: Rc<RefCell<Vec<Waker>>>,
    notify: Arc<Notify>,
}

pub fn run(rng: &mut Rng) {
    world::begin(rng);
    let runtime = runtimes::any(rng);
    let wakers = Rc::default();
    let mut scene = Scene {
        set: LocalSet::new(),
        runtime: runtime.clone(),
        local: Vec::new(),
        remote: Vec::new(),
        wakers,
        notify: Arc::new(Notify::new()),
    };
    for _ in 0..rng.below(STEPS_MAX) {
        attempt(|| scene.step(rng));
    }
    scene.end(rng);
    world::arm(false);
    runtimes::check(&runtime);
    world::arm(true);
    discard(runtime);
    world::arm(false);
}

impl Scene {
    fn step(&mut self, rng: &mut Rng) {
        match rng.below(16) {
            0..4 => self.spawn_local(rng),
            4 => self.spawn_remote(rng),
            5 | 6 => self.join_in_set(rng),
            7..10 => _ = with_context(|cx| Pin::new(&mut self.set).poll(cx)),
            10 => self.drive(rng),
            11 => self.notify.notify_waiters(),
            12 => self.use_waker(rng),
            13 => self.wake_from_afar(rng),
            14 => take(&mut self.local, rng).into_iter().for_each(|handle| match rng.below(3) {
                0 => handle.abort(),
                _ => discard(handle),
            }),
            _ => self.poll_handle(rng),
        }
    }

    fn spawn_local(&mut self, rng: &mut Rng) {
        let future = LocalTask {
            captured: Rc::new(Value::new()),
            polls_left: rng.below(4),
            rng: rng.fork(),
            wakers: self.wakers.clone(),
        };
        self.local.push(self.set.spawn_local(future));
    }

    fn spawn_remote(&mut self, rng: &mut Rng) {
        let value = Value::new();
        self.remote.push(match rng.below(3) {
            0 => self.runtime.spawn_blocking(move || {
                call_hostile(&value);
                value
            }),
            1 => self.runtime.spawn(async move {
                task::yield_now().await;
                call_hostile(&value);
                value
            }),
            _ => {
                let notify = self.notify.clone();
                self.runtime.spawn(async move {
                    notify.notified().await;
                    value
                })
            }
        });
    }

    /// Spawns a task in the set that waits for a task outside the set, or for one in it.
    fn join_in_set(&mut self, rng: &mut Rng) {
        let tasks = if rng.chance(600) { &mut self.remote } else { &mut self.local };
        let Some(handle) = take(tasks, rng) else { return };
        let (value, masked) = (Rc::new(Value::new()), rng.chance(300));
        self.local.push(self.set.spawn_local(async move {
            let result = if masked { Masked::new(handle).await } else { handle.await };
            value.look();
            result.unwrap_or_else(|error| {
                drop(error);
                Value::new()
            })
        }));
    }

    /// Drives the set in a runtime for a moment.
    fn drive(&mut self, rng: &mut Rng) {
        let turns = rng.below(10);
        let moment = async {
            for _ in 0..turns {
                task::yield_now().await;
            }
        };
        match rng.below(2) {
            0 => self.set.block_on(&self.runtime, moment),
            _ => self.runtime.block_on(Masked::new(self.set.run_until(moment))),
        }
    }

    fn use_waker(&mut self, rng: &mut Rng) {
        let waker = take(&mut self.wakers.borrow_mut(), rng);
        waker.into_iter().for_each(|waker| match rng.below(2) {
            0 => waker.wake(),
            _ => drop(waker),
        });
    }

    /// A thread of the runtime wakes a task of the set, and so the waker with which the set was
    /// polled.
    fn wake_from_afar(&mut self, rng: &mut Rng) {
        let waker = take(&mut self.wakers.borrow_mut(), rng);
        if let Some(waker) = waker {
            let value = Value::new();
            self.remote.push(match rng.below(2) {
                0 => self.runtime.spawn(async move {
                    waker.wake();
                    value
                }),
                _ => self.runtime.spawn_blocking(move || {
                    waker.wake();
                    value
                }),
            });
        }
    }

    fn poll_handle(&mut self, rng: &mut Rng) {
        let tasks = if rng.chance(500) { &mut self.remote } else { &mut self.local };
        if let Some(mut handle) = take(tasks, rng)
            && with_context(|cx| Pin::new(&mut handle).poll(cx)).is_pending()
        {
            tasks.push(handle);
        }
    }

    fn end(self, rng: &mut Rng) {
        let Scene { set, runtime, local, remote, wakers, notify } = self;
        // Held outside the shared list, so that tasks which are dropped do not find wakers there.
        let taken = std::mem::take(&mut *wakers.borrow_mut());
        let mut ends: Vec<Box<dyn FnOnce()>> = vec![
            Box::new(move || drop(set)),
            Box::new(move || local.into_iter().for_each(discard)),
            Box::new(move || remote.into_iter().for_each(discard)),
            Box::new(move || taken.into_iter().for_each(discard)),
            Box::new(move || drop(runtime)),
            Box::new(move || notify.notify_waiters()),
        ];
        while !ends.is_empty() {
            let end = ends.swap_remove(rng.below(ends.len()));
            attempt(end);
        }
        let left = std::mem::take(&mut *wakers.borrow_mut());
        left.into_iter().for_each(discard);
    }
}

/// A future that is not `Send`. It may panic, wake itself, or leave its waker in the shared list.
struct LocalTask {
    captured: Rc<Value>,
    polls_left: usize,
    rng: Rng,
    wakers: Rc<RefCell<Vec<Waker>>>,
}

impl Future for LocalTask {
    type Output = Value;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Value> {
        call_hostile(&self.captured);
        if self.polls_left == 0 {
            return Poll::Ready(Value::new());
        }
        self.polls_left -= 1;
        if self.rng.chance(400) {
            cx.waker().wake_by_ref();
        }
        if self.rng.chance(600) {
            self.wakers.borrow_mut().push(cx.waker().clone());
        }
        Poll::Pending
    }
}

fn take<T>(things: &mut Vec<T>, rng: &mut Rng) -> Option<T> {
    if things.is_empty() { None } else { Some(things.swap_remove(rng.below(things.len()))) }
}
