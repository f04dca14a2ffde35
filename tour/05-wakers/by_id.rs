//! A waker whose data is a number.
//!
//! The word of data need not be a pointer. Here it is the task's id, and to wake is to note that id
//! where the executor will look. There is nothing to count: a copy of a number owns nothing, and
//! nothing dangles when the task is gone. The price is a place that everybody can find, here a
//! `static`, and a look-up at each wake-up.

use std::collections::BTreeMap;
use std::pin::Pin;
use std::ptr;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, RawWaker, RawWakerVTable, Waker};
use std::thread;

use crate::timeline::{Timeline, thread_name};

/// Every task that is alive, by id. Ids are never used twice, so a waker that outlives its task wakes
/// nobody, rather than somebody else.
static ALIVE: Mutex<BTreeMap<usize, Entry>> = Mutex::new(BTreeMap::new());
/// Somebody in [`ALIVE`] was woken.
static SOMEBODY_WOKEN: Condvar = Condvar::new();

struct Entry {
    name: &'static str,
    /// Woken, and not polled since. Two wake-ups before a poll are one.
    is_woken: bool,
    timeline: Timeline,
}

fn alive() -> MutexGuard<'static, BTreeMap<usize, Entry>> {
    // Nothing panics while it is held.
    ALIVE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A waker for the task `id`.
pub(super) fn waker(id: usize) -> Waker {
    // SAFETY: the functions of `VTABLE` never follow the pointer, which is a mere number. They can be
    // called from any thread, as often as one likes, whether or not the task is alive.
    unsafe { Waker::from_raw(raw(id)) }
}

fn raw(id: usize) -> RawWaker {
    RawWaker::new(ptr::without_provenance(id), &VTABLE)
}

/// `wake` and `wake_by_ref` are the same, and `drop` does nothing: numbers are free.
static VTABLE: RawWakerVTable =
    RawWakerVTable::new(|data| raw(data.addr()), wake, wake, |_data| ());

fn wake(data: *const ()) {
    let mut alive = alive();
    if let Some(task) = alive.get_mut(&data.addr()) {
        task.timeline.woken(task.name, &thread_name());
        task.is_woken = true;
        SOMEBODY_WOKEN.notify_all();
    }
}

type BoxFuture = Pin<Box<dyn Future<Output = ()>>>;

/// An executor for such tasks. It polls those that were woken, and sleeps when there are none.
#[derive(Default)]
pub(super) struct Tasks {
    futures: BTreeMap<usize, BoxFuture>,
}

impl Tasks {
    /// Returns the task's id.
    pub(super) fn spawn(
        &mut self,
        name: &'static str,
        timeline: &Timeline,
        future: impl Future<Output = ()> + 'static,
    ) -> usize {
        static NEXT_ID: AtomicUsize = AtomicUsize::new(1);
        let id = NEXT_ID.fetch_add(1, Ordering::Relaxed);
        // New tasks count as woken: they have to be polled once, to begin.
        let entry = Entry { name, is_woken: true, timeline: timeline.clone() };
        alive().insert(id, entry);
        self.futures.insert(id, Box::pin(timeline.trace(name, future)));
        id
    }

    /// Runs all tasks to their end.
    pub(super) fn run(&mut self) {
        while !self.futures.is_empty() {
            for id in self.wait_for_woken() {
                let waker = waker(id);
                let future = self.futures.get_mut(&id).expect("only tasks of ours are waited for");
                if future.as_mut().poll(&mut Context::from_waker(&waker)).is_ready() {
                    self.futures.remove(&id);
                    alive().remove(&id);
                }
            }
        }
    }

    /// Sleeps until at least one of our tasks is woken. Returns those that are; they are awake no
    /// longer, before they are polled, so that whoever wakes them from now on is heard.
    fn wait_for_woken(&self) -> Vec<usize> {
        let mut alive = alive();
        loop {
            let mut woken = Vec::new();
            for &id in self.futures.keys() {
                let task = alive.get_mut(&id).expect("a task is there until it is done");
                if std::mem::take(&mut task.is_woken) {
                    woken.push(id);
                }
            }
            if !woken.is_empty() {
                return woken;
            }
            alive = SOMEBODY_WOKEN.wait(alive).unwrap_or_else(PoisonError::into_inner);
        }
    }
}

impl Drop for Tasks {
    fn drop(&mut self) {
        for id in self.futures.keys() {
            alive().remove(id);
        }
    }
}

/// Something to wait for: a letter that will come.
#[derive(Default)]
pub(super) struct Letterbox {
    has_letter: AtomicBool,
    waker: Mutex<Option<Waker>>,
}

impl Letterbox {
    /// Ready when there is a letter. As in step 3: first the waker, then the look.
    pub(super) fn letter(self: Arc<Self>) -> impl Future<Output = ()> {
        std::future::poll_fn(move |cx| {
            *self.waker() = Some(cx.waker().clone());
            if self.has_letter.load(Ordering::Acquire) { Poll::Ready(()) } else { Poll::Pending }
        })
    }

    /// Puts in a letter and wakes who waits for it.
    pub(super) fn deliver(&self) {
        self.has_letter.store(true, Ordering::Release);
        let waker = self.waker().clone();
        if let Some(waker) = waker {
            waker.wake();
        }
    }

    fn waker(&self) -> MutexGuard<'_, Option<Waker>> {
        self.waker.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Two tasks wait for letters, and a postman brings them.
pub(super) fn run(timeline: &Timeline) {
    let mut tasks = Tasks::default();
    let boxes = ["anna", "bert"].map(|name| {
        let letterbox = Arc::new(Letterbox::default());
        let id = tasks.spawn(name, timeline, letterbox.clone().letter());
        (id, letterbox)
    });
    let postman = thread::Builder::new().name("postman".to_owned());
    let boxes_to_fill = boxes.clone();
    let round = move || {
        for (_, letterbox) in boxes_to_fill.iter().rev() {
            letterbox.deliver();
        }
    };
    let postman = postman.spawn(round).expect("a thread can be started");
    tasks.run();
    postman.join().expect("the postman does not panic");

    let (id, _) = boxes[0];
    waker(id).wake();
    timeline.note("anna", "woken once more: there is no such task, nothing happens");
}
