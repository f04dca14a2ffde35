//! A waker whose data is a number.
//!
//! The word of data need not be a pointer. Here it is the task's id, and to wake is to put that id
//! into the executor's queue. There is nothing to count: a copy of a number owns nothing, and
//! nothing dangles when the task is gone. The price is a place that every thread can find, here a
//! `static`, and a look-up in it at each wake-up. The executor looks at the ids in its queue and at
//! no others.
//!
//! 用数字作 data 的 waker。那个机器字不一定是指针，这里是任务的编号；唤醒，就是把编号放进执行器的队
//! 列。没有什么要数的：数字的副本不拥有任何东西，任务没了也不会悬空。代价是要有一个所有线程都找得到
//! 的地方（这里是一个 `static`），每次唤醒查一次表。执行器只看队列里的编号，别的一概不看。

use std::collections::BTreeMap;
use std::mem;
use std::pin::Pin;
use std::ptr;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, RawWaker, RawWakerVTable, Waker};
use std::thread;

use crate::timeline::{Timeline, thread_name};

/// Every task that is alive, by id. Ids are never used twice, so a waker that outlives its task
/// wakes no task, rather than another one.
static ALIVE: Mutex<BTreeMap<usize, Entry>> = Mutex::new(BTreeMap::new());

struct Entry {
    name: &'static str,
    /// Whether its id is in the queue. Two wake-ups before a poll are one.
    is_woken: bool,
    /// The queue of the executor that the task belongs to.
    woken: Arc<WokenIds>,
    timeline: Timeline,
}

/// The ids of the tasks that were woken and not polled since, in the order of their wake-ups.
#[derive(Default)]
struct WokenIds {
    ids: Mutex<Vec<usize>>,
    is_filled: Condvar,
}

impl WokenIds {
    fn push(&self, id: usize) {
        self.lock().push(id);
        self.is_filled.notify_one();
    }

    /// Sleeps until there is an id, and takes all that there are.
    fn wait(&self) -> Vec<usize> {
        let ids = self.is_filled.wait_while(self.lock(), |ids| ids.is_empty());
        mem::take(&mut *ids.unwrap_or_else(PoisonError::into_inner))
    }

    fn lock(&self) -> MutexGuard<'_, Vec<usize>> {
        self.ids.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn alive() -> MutexGuard<'static, BTreeMap<usize, Entry>> {
    // Nothing panics while it is held.
    ALIVE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A waker for the task `id`.
pub(super) fn waker(id: usize) -> Waker {
    // SAFETY: the functions of `VTABLE` never follow the pointer, which is a mere number. They can
    // be called from any thread, any number of times, whether or not the task is alive.
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
        if !mem::replace(&mut task.is_woken, true) {
            task.woken.push(data.addr());
        }
    }
}

type BoxFuture = Pin<Box<dyn Future<Output = ()>>>;

/// An executor for such tasks. It polls those that were woken, and sleeps when there are none.
#[derive(Default)]
pub(super) struct Tasks {
    futures: BTreeMap<usize, BoxFuture>,
    woken: Arc<WokenIds>,
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
        let (woken, timeline_of_task) = (self.woken.clone(), timeline.clone());
        let entry = Entry { name, is_woken: true, woken, timeline: timeline_of_task };
        alive().insert(id, entry);
        self.futures.insert(id, Box::pin(timeline.trace(name, future)));
        // New tasks count as woken: they have to be polled once, to begin.
        self.woken.push(id);
        id
    }

    /// Runs all tasks to their end.
    pub(super) fn run(&mut self) {
        while !self.futures.is_empty() {
            for id in self.woken.wait() {
                // Before the poll, not after it: a wake-up that comes during the poll has to count.
                if let Some(task) = alive().get_mut(&id) {
                    task.is_woken = false;
                }
                let waker = waker(id);
                let future = self.futures.get_mut(&id).expect("a task is queued at most once");
                if future.as_mut().poll(&mut Context::from_waker(&waker)).is_ready() {
                    self.futures.remove(&id);
                    alive().remove(&id);
                }
            }
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

    /// Puts in a letter and wakes the task that waits for it.
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
