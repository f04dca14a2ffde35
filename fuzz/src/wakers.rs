//! Wakers that say when and in which order they were called, and may call back into what woke them.

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::task::{Context, Poll, Wake, Waker};

/// How deep wakers may call back into what wakes them.
const DEPTH_MAX: usize = 3;

/// What a waker with a reaction does; its argument picks one of several.
type Reaction = Rc<dyn Fn(u8)>;

#[derive(Default)]
struct Wakers {
    /// Numbers of those called since the last look, in order.
    called: RefCell<Vec<u32>>,
    /// Those called since the last turn whose futures found the budget used up when they were polled last.
    called_late: RefCell<Vec<u32>>,
    /// Whether there was budget left when the step began; always outside of a runtime.
    budget_is_used_up: Cell<bool>,
    /// Whether a step is being taken, and not a turn of the runtime.
    in_step: Cell<bool>,
    made: Cell<u32>,
    alive: Cell<usize>,
    reaction: RefCell<Option<Reaction>>,
    depth: Cell<usize>,
    /// The one that several futures share.
    common: RefCell<Option<Arc<Bell>>>,
}

thread_local! {
    static WAKERS: Wakers = Wakers::default();
}

struct Bell {
    number: u32,
    reaction: Option<u8>,
    /// Which calls count, if not each does.
    needed: Option<Needed>,
}

/// Which call of a waker is needed.
#[derive(Default)]
struct Needed {
    /// Whether the next one is.
    is_armed: AtomicBool,
    /// Whether it may come at any time up to the next turn.
    is_late: AtomicBool,
}

impl Bell {
    fn new(reaction: Option<u8>, counts_all: bool) -> Arc<Bell> {
        WAKERS.with(|wakers| {
            let number = wakers.made.get();
            wakers.made.set(number + 1);
            wakers.alive.set(wakers.alive.get() + 1);
            let needed = (!counts_all).then(Needed::default);
            Arc::new(Bell { number, reaction, needed })
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

    fn ring(&self) {
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

impl Wake for Bell {
    fn wake(self: Arc<Self>) {
        self.ring();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        self.ring();
    }
}

impl Drop for Bell {
    fn drop(&mut self) {
        // The thread's own values may be gone already if a run leaked a waker.
        let _ = WAKERS.try_with(|wakers| wakers.alive.set(wakers.alive.get().saturating_sub(1)));
    }
}

/// Starts over for a new run.
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

/// Says what wakers with a reaction do from now on in this run.
pub fn react(reaction: impl Fn(u8) + 'static) {
    WAKERS.with(|wakers| *wakers.reaction.borrow_mut() = Some(Rc::new(reaction)));
}

/// Ends the run's use of wakers, so that only leaked ones are still alive.
pub fn finish() {
    WAKERS.with(|wakers| {
        wakers.common.borrow_mut().take();
        let reaction = wakers.reaction.borrow_mut().take();
        drop(reaction);
    });
}

/// Says that a step begins. Wakers call back only within steps: futures that found the budget used up are woken by the
/// runtime, in an order that is not the same.
pub fn begin_step(budget_is_left: bool) {
    WAKERS.with(|wakers| {
        wakers.in_step.set(true);
        wakers.budget_is_used_up.set(!budget_is_left);
    });
}

/// Says that the step is over, and takes the numbers of the wakers that were called, in order.
pub fn end_step() -> Vec<u32> {
    WAKERS.with(|wakers| {
        wakers.in_step.set(false);
        std::mem::take(&mut *wakers.called.borrow_mut())
    })
}

/// Takes the numbers of the wakers that were called between two polls, in no order. That of a future that found the budget
/// used up belongs to them, if only one call was needed: an unneeded one may have been its first.
pub fn called_by_turn() -> Vec<u32> {
    WAKERS.with(|wakers| {
        let mut called = std::mem::take(&mut *wakers.called.borrow_mut());
        called.append(&mut wakers.called_late.borrow_mut());
        called.sort_unstable();
        called
    })
}

/// Counts the wakers that are not dropped.
pub fn alive() -> usize {
    WAKERS.with(|wakers| wakers.alive.get())
}

/// The waker that one future is polled with.
#[derive(Default)]
pub struct Ring {
    bell: Option<Arc<Bell>>,
    counts_needed: bool,
}

impl Ring {
    /// Makes a ring whose wakers count only the calls that are needed: the first one after a poll that was pending.
    pub fn counting_needed() -> Ring {
        Ring { bell: None, counts_needed: true }
    }

    /// Says that no call is needed before the next poll, which will come in any case.
    pub fn forget_need(&self) {
        self.bell.iter().for_each(|bell| bell.arm(false));
    }

    /// Polls with the waker that `choice` picks: 0 the same as before, 1 a new one, 2 one that all futures share, from 3
    /// on a new one with a reaction.
    pub fn poll<T>(
        &mut self,
        choice: u8,
        poll: impl FnOnce(&mut Context<'_>) -> Poll<T>,
    ) -> Poll<T> {
        let counts_all = !self.counts_needed;
        let bell = match (choice, &self.bell) {
            (0, Some(bell)) => bell.clone(),
            (2, _) if counts_all => WAKERS.with(|wakers| {
                let mut common = wakers.common.borrow_mut();
                common.get_or_insert_with(|| Bell::new(None, true)).clone()
            }),
            (0..=2, _) => Bell::new(None, counts_all),
            (reaction, _) => Bell::new(Some(reaction - 3), counts_all),
        };
        self.forget_need();
        self.bell = Some(bell.clone());
        bell.arm(true);
        let calls_before = WAKERS.with(|wakers| wakers.called.borrow().len());
        let polled = poll(&mut Context::from_waker(&Waker::from(bell.clone())));
        if polled.is_ready() && self.counts_needed {
            bell.arm(false);
            bell.forget_calls_since(calls_before);
        }
        polled
    }
}
