//! What each thread of the process does: the future of its `block_on`, and its blocking job.
//!
//! A thread gets a [`ThreadRecord`] when it first blocks on a future, or when the runtime that
//! starts it asks for one. Other threads read the records, to say what the process waits for.

use crate::thread_number;
use crate::waiting::{self, Leaves, WaitSlot};
use std::panic::Location;
use std::ptr;
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU8, AtomicU64, Ordering::*};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::task::{Wake, Waker};

/// Set in the id of a thread's [`WaitSlot`], which distinguishes it from the ids of tasks.
pub const THREAD_ID: u64 = 1 << 63;

/// What a thread is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum ThreadRole {
    /// A thread of the program's own.
    User,
    /// A thread of a runtime's pool: it runs a worker or blocking jobs.
    Pool,
    /// A helper of a runtime, which runs no user code that others wait for.
    Helper,
}

/// What a thread's `block_on` does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum BlockOn {
    /// The thread is in no `block_on`.
    No,
    /// The future, or a task that this `block_on` drives, is being polled.
    Polling,
    /// The future is pending.
    Pending,
}

/// The waker of a `block_on`, and a way to count its clones.
#[derive(Debug, Clone)]
pub struct RootWaker {
    waker: Waker,
    counted: Weak<dyn Send + Sync>,
}

impl RootWaker {
    /// Makes a waker of `wake`.
    pub fn new<W: Wake + Send + Sync + 'static>(wake: Arc<W>) -> RootWaker {
        let weak = Arc::downgrade(&wake);
        RootWaker { waker: Waker::from(wake), counted: weak }
    }

    /// Returns the waker.
    #[inline]
    pub fn waker(&self) -> &Waker {
        &self.waker
    }
}

/// What a thread does now.
#[derive(Debug)]
pub struct ThreadRecord {
    os_id: Option<u32>,
    name: Option<String>,
    role: AtomicU8,
    /// The id of the runtime that has started the thread, or zero.
    own_runtime: AtomicU64,
    slot: WaitSlot,
    block_on: AtomicU8,
    site: AtomicPtr<Location<'static>>,
    /// The id of the runtime that `block_on` is in, or zero.
    runtime: AtomicU64,
    waker: Mutex<Option<RootWaker>>,
    /// The next poll of the future is to be collected.
    asked: AtomicBool,
    answer: Mutex<Option<Leaves>>,
    job: AtomicU64,
    job_site: AtomicPtr<Location<'static>>,
}

static RECORDS: Mutex<Vec<Weak<ThreadRecord>>> = Mutex::new(Vec::new());

thread_local! {
    static RECORD: Arc<ThreadRecord> = ThreadRecord::register();
}

impl ThreadRecord {
    fn register() -> Arc<ThreadRecord> {
        // Locks keep the lower 32 bits of their holder's id. Bit 31 keeps the threads' apart from
        // those of the first two billion tasks.
        static NEXT: AtomicU64 = AtomicU64::new(1 << 31 | 1);
        let record = Arc::new(ThreadRecord {
            os_id: thread_number::of_this_thread(),
            name: std::thread::current().name().map(String::from),
            role: AtomicU8::new(ThreadRole::User as u8),
            own_runtime: AtomicU64::new(0),
            slot: WaitSlot::new(THREAD_ID | NEXT.fetch_add(1, Relaxed)),
            block_on: AtomicU8::new(BlockOn::No as u8),
            site: AtomicPtr::new(ptr::null_mut()),
            runtime: AtomicU64::new(0),
            waker: Mutex::new(None),
            asked: AtomicBool::new(false),
            answer: Mutex::new(None),
            job: AtomicU64::new(0),
            job_site: AtomicPtr::new(ptr::null_mut()),
        });
        let mut records = lock(&RECORDS);
        records.retain(|record| record.strong_count() > 0);
        records.push(Arc::downgrade(&record));
        record
    }

    /// Returns the kernel's id of the thread, if it is known.
    pub fn os_id(&self) -> Option<u32> {
        self.os_id
    }

    /// Returns the name that the thread had when its record was made.
    pub fn name(&self) -> Option<&str> {
        self.name.as_deref()
    }

    /// Returns what the thread is for.
    pub fn role(&self) -> ThreadRole {
        match self.role.load(Relaxed) {
            1 => ThreadRole::Pool,
            2 => ThreadRole::Helper,
            _ => ThreadRole::User,
        }
    }

    /// Returns the id of the runtime that has started the thread, or zero.
    pub fn own_runtime(&self) -> u64 {
        self.own_runtime.load(Relaxed)
    }

    /// Returns the slot of the future that the thread blocks on.
    pub fn slot(&self) -> &WaitSlot {
        &self.slot
    }

    /// Returns what the thread's `block_on` does.
    pub fn block_on(&self) -> BlockOn {
        match self.block_on.load(Acquire) {
            1 => BlockOn::Polling,
            2 => BlockOn::Pending,
            _ => BlockOn::No,
        }
    }

    /// Returns where `block_on` was called, if that is known.
    pub fn block_on_site(&self) -> Option<&'static Location<'static>> {
        // SAFETY: only null and pointers made from `&'static Location` are stored.
        unsafe { self.site.load(Relaxed).as_ref() }
    }

    /// Returns the id of the runtime that `block_on` is in, or zero.
    pub fn block_on_runtime(&self) -> u64 {
        self.runtime.load(Relaxed)
    }

    /// Returns the id of the task that is the thread's blocking job, and where it was spawned.
    pub fn job(&self) -> Option<(u64, Option<&'static Location<'static>>)> {
        let job = self.job.load(Acquire);
        // SAFETY: only null and pointers made from `&'static Location` are stored.
        let site = unsafe { self.job_site.load(Relaxed).as_ref() };
        (job != 0).then_some((job, site))
    }

    /// Returns how many wakers of the future exist besides those that `block_on` keeps itself.
    pub fn wakers(&self) -> Option<usize> {
        let waker = lock(&self.waker);
        // That of `block_on`, and that of this record.
        waker.as_ref().map(|root| root.counted.strong_count().saturating_sub(2))
    }

    /// Asks for the leaves of the future that the thread blocks on, and wakes it.
    pub fn ask(&self) {
        *lock(&self.answer) = None;
        self.asked.store(true, Release);
        let waker = lock(&self.waker).as_ref().map(|root| root.waker.clone());
        if let Some(waker) = waker {
            crate::call_now(waker);
        }
    }

    /// Returns the answer to [`ask`](Self::ask), once the future has been polled.
    pub fn take_answer(&self) -> Option<Leaves> {
        lock(&self.answer).take()
    }
}

/// Returns the records of all threads that have one.
pub fn all() -> Vec<Arc<ThreadRecord>> {
    lock(&RECORDS).iter().filter_map(Weak::upgrade).collect()
}

/// Says what the calling thread is for, and to which runtime it belongs.
pub fn set_role(role: ThreadRole, runtime: u64) {
    with_record(|record| {
        record.role.store(role as u8, Relaxed);
        record.own_runtime.store(runtime, Relaxed);
    });
}

/// Notes that the calling thread runs a blocking job, until the guard is dropped.
pub fn begin_job(id: u64, site: &'static Location<'static>) -> JobGuard {
    let before = with_record(|record| {
        let site_before = record.job_site.swap(ptr::from_ref(site).cast_mut(), Relaxed);
        (record.job.swap(id, Release), site_before)
    });
    JobGuard { before: before.unwrap_or((0, ptr::null_mut())) }
}

/// The blocking job of a thread ends when this is dropped.
#[derive(Debug)]
#[must_use]
pub struct JobGuard {
    before: (u64, *mut Location<'static>),
}

impl Drop for JobGuard {
    fn drop(&mut self) {
        let (id, site) = self.before;
        with_record(|record| {
            record.job.store(id, Release);
            record.job_site.store(site, Relaxed);
        });
    }
}

/// Calls `f` with the thread's record, unless the thread is ending.
fn with_record<R>(f: impl FnOnce(&Arc<ThreadRecord>) -> R) -> Option<R> {
    // Loom's atomics only work inside a model, and the registry outlives it.
    if cfg!(wakeful_loom) {
        return None;
    }
    RECORD.try_with(f).ok()
}

/// The future that the calling thread blocks on, until this is dropped.
///
/// A `block_on` inside another one hides the outer future meanwhile.
#[derive(Debug)]
#[must_use]
pub struct BlockedOn {
    record: Option<Arc<ThreadRecord>>,
    before: (u8, *mut Location<'static>, u64, Option<RootWaker>),
}

impl BlockedOn {
    /// Notes that the calling thread blocks on a future, which is woken by `waker`.
    pub fn begin(
        site: Option<&'static Location<'static>>,
        runtime: u64,
        waker: &RootWaker,
    ) -> BlockedOn {
        let Some(record) = with_record(Arc::clone) else {
            return BlockedOn { record: None, before: (0, ptr::null_mut(), 0, None) };
        };
        let site = site.map_or(ptr::null_mut(), |site| ptr::from_ref(site).cast_mut());
        let waker = waker.clone();
        let before = (
            record.block_on.swap(BlockOn::Polling as u8, AcqRel),
            record.site.swap(site, Relaxed),
            record.runtime.swap(runtime, Relaxed),
            lock(&record.waker).replace(waker),
        );
        BlockedOn { record: Some(record), before }
    }

    /// Polls the future, by a call of `poll`, and returns the result.
    #[inline]
    pub fn poll<R>(&self, waker: &Waker, poll: impl FnOnce() -> R) -> R {
        let Some(record) = &self.record else { return poll() };
        record.block_on.store(BlockOn::Polling as u8, Relaxed);
        // SAFETY: `self.record` keeps the slot valid, and a thread's slot is in no queue.
        let _current = unsafe { waiting::enter(&raw const record.slot) };
        if record.asked.load(Relaxed) {
            return record.poll_collected(waker, poll);
        }
        let result = poll();
        record.block_on.store(BlockOn::Pending as u8, Release);
        result
    }
}

impl ThreadRecord {
    #[cold]
    fn poll_collected<R>(&self, waker: &Waker, poll: impl FnOnce() -> R) -> R {
        self.asked.store(false, Relaxed);
        let (result, leaves) = waiting::collect(waker, poll);
        self.block_on.store(BlockOn::Pending as u8, Release);
        *lock(&self.answer) = Some(leaves);
        result
    }
}

impl Drop for BlockedOn {
    fn drop(&mut self) {
        let Some(record) = &self.record else { return };
        let (block_on, site, runtime, waker) =
            (self.before.0, self.before.1, self.before.2, self.before.3.take());
        record.block_on.store(block_on, Release);
        record.site.store(site, Relaxed);
        record.runtime.store(runtime, Relaxed);
        let own = std::mem::replace(&mut *lock(&record.waker), waker);
        drop(own);
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(all(test, not(any(wakeful_loom, miri))))]
mod tests {
    use super::*;
    use crate::block_on;
    use crate::waiting::{Asking, WaitKind, note};
    use std::future::poll_fn;
    use std::task::Poll;

    fn record_of(os_id: Option<u32>) -> Arc<ThreadRecord> {
        let find = || all().into_iter().find(|record| record.os_id() == os_id);
        loop {
            match find() {
                Some(record) if record.block_on() == BlockOn::Pending => return record,
                _ => std::thread::yield_now(),
            }
        }
    }

    #[test]
    fn a_thread_in_block_on_says_what_it_waits_for_when_asked() {
        let (tell, told) = std::sync::mpsc::channel();
        let done = Arc::new(AtomicBool::new(false));
        let ends = done.clone();
        let blocked = std::thread::spawn(move || {
            tell.send(thread_number::of_this_thread()).unwrap();
            block_on(poll_fn(|cx| {
                if ends.load(SeqCst) {
                    return Poll::Ready(());
                }
                note(WaitKind::Notify, 42, cx.waker());
                Poll::Pending
            }));
        });
        let record = record_of(told.recv().unwrap());
        let waits = record.slot().waits().unwrap();
        assert_eq!((waits.kind, waits.detail), (WaitKind::Notify, 42));
        assert_ne!(record.slot().id() & THREAD_ID, 0);
        let asking = Asking::begin();
        record.ask();
        let answer = loop {
            match record.take_answer() {
                Some(answer) => break answer,
                None => std::thread::yield_now(),
            }
        };
        drop(asking);
        assert_eq!(answer.leaves.len(), 1);
        assert!(answer.leaves[0].has_own_waker);
        done.store(true, SeqCst);
        record.ask();
        blocked.join().unwrap();
        assert_eq!(record.block_on(), BlockOn::No);
    }

    #[test]
    fn an_inner_block_on_hides_the_outer_one() {
        struct Nothing;
        impl Wake for Nothing {
            fn wake(self: Arc<Self>) {}
        }
        let root = RootWaker::new(Arc::new(Nothing));
        let outer = BlockedOn::begin(None, 7, &root);
        outer.poll(Waker::noop(), || ());
        let record = with_record(Arc::clone).unwrap();
        let own = RootWaker::new(Arc::new(Nothing));
        let inner = BlockedOn::begin(Some(Location::caller()), 9, &own);
        assert_eq!(record.wakers(), Some(0));
        assert_eq!(record.block_on_runtime(), 9);
        assert!(record.block_on_site().is_some());
        drop(inner);
        assert_eq!((record.block_on_runtime(), record.block_on()), (7, BlockOn::Pending));
        assert!(record.block_on_site().is_none());
        drop(outer);
        assert_eq!(record.block_on(), BlockOn::No);
    }
}
