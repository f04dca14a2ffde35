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
    /// Whether the next call counts; `None` if each does.
    is_armed: Option<AtomicBool>,
}

impl Bell {
    fn new(reaction: Option<u8>, counts_all: bool) -> Arc<Bell> {
        WAKERS.with(|wakers| {
            let number = wakers.made.get();
            wakers.made.set(number + 1);
            wakers.alive.set(wakers.alive.get() + 1);
            let is_armed = (!counts_all).then(AtomicBool::default);
            Arc::new(Bell { number, reaction, is_armed })
        })
    }

    fn arm(&self, armed: bool) {
        if let Some(is_armed) = &self.is_armed {
            is_armed.store(armed, Relaxed);
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
        if self.is_armed.as_ref().is_some_and(|is_armed| !is_armed.swap(false, Relaxed)) {
            return;
        }
        WAKERS.with(|wakers| {
            wakers.called.borrow_mut().push(self.number);
            let reaction = wakers.reaction.borrow().clone();
            if let (Some(kind), Some(reaction)) = (self.reaction, reaction) {
                let depth = wakers.depth.get();
                if depth < DEPTH_MAX {
                    wakers.depth.set(depth + 1);
                    reaction(kind);
                    wakers.depth.set(depth);
                }
            }
        });
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

/// Takes the numbers of the wakers that were called since the last look, in order.
pub fn called() -> Vec<u32> {
    WAKERS.with(|wakers| std::mem::take(&mut *wakers.called.borrow_mut()))
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
