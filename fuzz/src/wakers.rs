//! Wakers that log when and in which order they are called. Some call back into the object that
//! wakes them.

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::task::{Context, Poll, Wake, Waker};

/// How deeply calls of wakers may nest.
const DEPTH_MAX: usize = 3;

/// What a waker with a reaction does. The argument picks one of several.
type Reaction = Rc<dyn Fn(u8)>;

#[derive(Default)]
struct Wakers {
    /// The numbers of the wakers called since the last look, in order.
    called: RefCell<Vec<u32>>,
    /// The numbers of the wakers called since the last turn whose last poll ran out of budget.
    called_late: RefCell<Vec<u32>>,
    /// Whether the budget was used up when the step began. Never true outside a runtime.
    budget_is_used_up: Cell<bool>,
    /// Whether a step is running, rather than a turn of the runtime.
    in_step: Cell<bool>,
    made: Cell<u32>,
    alive: Cell<usize>,
    reaction: RefCell<Option<Reaction>>,
    depth: Cell<usize>,
    /// The waker that several futures share.
    shared: RefCell<Option<Arc<CountedWaker>>>,
}

thread_local! {
    static WAKERS: Wakers = Wakers::default();
}

struct CountedWaker {
    number: u32,
    reaction: Option<u8>,
    /// Which calls are logged. `None` if all are.
    needed: Option<Needed>,
}

/// Which call of a waker is required.
#[derive(Default)]
struct Needed {
    /// Whether the next call is.
    is_armed: AtomicBool,
    /// Whether the call may come at any time until the next turn.
    is_late: AtomicBool,
}

impl CountedWaker {
    fn new(reaction: Option<u8>, counts_all: bool) -> Arc<CountedWaker> {
        WAKERS.with(|wakers| {
            let number = wakers.made.get();
            wakers.made.set(number + 1);
            wakers.alive.set(wakers.alive.get() + 1);
            let needed = (!counts_all).then(Needed::default);
            Arc::new(CountedWaker { number, reaction, needed })
        })
    }

    fn arm(&self, armed: bool) {
        if let Some(needed) = &self.needed {
            let is_late = WAKERS.with(|wakers| {
                wakers.called_late.borrow_mut().retain(|&number| number != self.number);
                wakers.budget_is_used_up.get()
            });
            needed.is_armed.store(armed, Relaxed);
            needed.is_late.store(is_late, Relaxed);
        }
    }

    fn forget_calls_since(&self, count: usize) {
        WAKERS.with(|wakers| {
            let mut called = wakers.called.borrow_mut();
            let count = count.min(called.len());
            let since = called.split_off(count);
            called.extend(since.into_iter().filter(|&number| number != self.number));
        });
    }

    fn call(&self) {
        let (mut is_needed, mut is_late) = (true, false);
        if let Some(needed) = &self.needed {
            is_needed = needed.is_armed.swap(false, Relaxed);
            is_late = needed.is_late.load(Relaxed);
        }
        WAKERS.with(|wakers| match (is_needed, is_late) {
            (true, true) => wakers.called_late.borrow_mut().push(self.number),
            (true, false) => self.note_and_react(wakers),
            (false, _) => {}
        });
    }

    fn note_and_react(&self, wakers: &Wakers) {
        wakers.called.borrow_mut().push(self.number);
        let (reaction, depth) = (wakers.reaction.borrow().clone(), wakers.depth.get());
        if let (Some(kind), Some(reaction)) = (self.reaction, reaction)
            && wakers.in_step.get()
            && depth < DEPTH_MAX
        {
            wakers.depth.set(depth + 1);
            reaction(kind);
            wakers.depth.set(depth);
        }
    }
}

impl Wake for CountedWaker {
    fn wake(self: Arc<Self>) {
        self.call();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        self.call();
    }
}

impl Drop for CountedWaker {
    fn drop(&mut self) {
        // If a run leaked a waker, it may be dropped after the thread's locals.
        let _ = WAKERS.try_with(|wakers| wakers.alive.set(wakers.alive.get().saturating_sub(1)));
    }
}

/// Resets the state for a new run.
pub fn reset() {
    WAKERS.with(|wakers| {
        wakers.called.borrow_mut().clear();
        wakers.called_late.borrow_mut().clear();
        wakers.budget_is_used_up.set(false);
        wakers.made.set(0);
        wakers.alive.set(0);
        wakers.depth.set(0);
    });
}

/// Sets what wakers with a reaction do in this run.
pub fn react(reaction: impl Fn(u8) + 'static) {
    WAKERS.with(|wakers| *wakers.reaction.borrow_mut() = Some(Rc::new(reaction)));
}

/// Drops the wakers and the reaction of the run, so that only leaked wakers are alive.
pub fn finish() {
    WAKERS.with(|wakers| {
        wakers.shared.borrow_mut().take();
        let reaction = wakers.reaction.borrow_mut().take();
        drop(reaction);
    });
}

/// Begins a step. Wakers call back only within steps: the runtime wakes futures that ran out of
/// budget, in an order that differs.
pub fn begin_step(budget_is_left: bool) {
    WAKERS.with(|wakers| {
        wakers.in_step.set(true);
        wakers.budget_is_used_up.set(!budget_is_left);
    });
}

/// Ends the step. Returns the numbers of the wakers that were called, in order.
pub fn end_step() -> Vec<u32> {
    WAKERS.with(|wakers| {
        wakers.in_step.set(false);
        std::mem::take(&mut *wakers.called.borrow_mut())
    })
}

/// Returns the numbers of the wakers that were called between two polls, sorted. They include the
/// wakers of futures that ran out of budget, if only required calls are logged: such a waker may
/// have been called early, without need.
pub fn called_by_turn() -> Vec<u32> {
    WAKERS.with(|wakers| {
        let mut called = std::mem::take(&mut *wakers.called.borrow_mut());
        called.append(&mut wakers.called_late.borrow_mut());
        called.sort_unstable();
        called
    })
}

/// Returns how many wakers are alive.
pub fn alive() -> usize {
    WAKERS.with(|wakers| wakers.alive.get())
}

/// The wakers with which one future is polled.
#[derive(Default)]
pub struct WakerSlot {
    waker: Option<Arc<CountedWaker>>,
    counts_needed: bool,
}

impl WakerSlot {
    /// Creates a slot whose wakers log only required calls: the first one after a poll that was
    /// pending.
    pub fn counting_needed() -> WakerSlot {
        WakerSlot { waker: None, counts_needed: true }
    }

    /// Marks no call as required until the next poll, which comes in any case.
    pub fn forget_need(&self) {
        self.waker.iter().for_each(|waker| waker.arm(false));
    }

    /// Polls with the waker that `choice` picks: 0 the same as before, 1 a new one, 2 one that all
    /// futures share, from 3 on a new one with a reaction.
    pub fn poll<T>(
        &mut self,
        choice: u8,
        poll: impl FnOnce(&mut Context<'_>) -> Poll<T>,
    ) -> Poll<T> {
        let counts_all = !self.counts_needed;
        let waker = match (choice, &self.waker) {
            (0, Some(waker)) => waker.clone(),
            (2, _) if counts_all => WAKERS.with(|wakers| {
                let mut shared = wakers.shared.borrow_mut();
                shared.get_or_insert_with(|| CountedWaker::new(None, true)).clone()
            }),
            (0..=2, _) => CountedWaker::new(None, counts_all),
            (reaction, _) => CountedWaker::new(Some(reaction - 3), counts_all),
        };
        self.forget_need();
        self.waker = Some(waker.clone());
        waker.arm(true);
        let calls_before = WAKERS.with(|wakers| wakers.called.borrow().len());
        let polled = poll(&mut Context::from_waker(&Waker::from(waker.clone())));
        if polled.is_ready() && self.counts_needed {
            waker.arm(false);
            waker.forget_calls_since(calls_before);
        }
        polled
    }
}
