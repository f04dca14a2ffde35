//! A set whose members can be notified, and that returns notified members in that order.
//!
//! Each member has a waker of its own. Waking it puts the member into a queue that all threads
//! share, so the owner of the set finds the notified members without looking at the others.
//!
//! ```text
//!              (1) insert                 (2) wake                    (3) collect
//!   owner ───────────────▶ a member ──────────────────▶ notified ──────────────────▶ ready
//!                              │         on any thread    │       all at once          │
//!                              │                          │                            │ (4) pop
//!                              └──────────(5) drain───────┴──────────────┐             ▼
//!                                                                        └──────▶  taken out
//! ```
//!
//! # Which thread may access which field of an entry
//!
//! | field | access |
//! |---|---|
//! | `links`, `value` | the owner of the set |
//! | `queue` | read by any thread |
//! | `queue_link` | written in the first wake-up, under the lock; read by wake-ups and the owner |
//!
//! An entry has two references: the set's, while the entry is a member, and the waker's. The queue
//! has none. It needs none, since the owner empties it before it releases the entries that were in
//! it, or, where members leave without having been notified (5), closes it and uses a new one.
//!
//! The queue is a list under a mutex. A lock-free one was no faster, see bench/NOTES.md: `JoinSet`
//! queue.

use std::marker::PhantomData;
use std::mem::ManuallyDrop;
use std::ptr::NonNull;
use std::sync::Arc;
use std::task::{Poll, Wake, Waker};
use wakeful_base::list::{Link, Links, List};
use wakeful_base::sync::{Mutex, UnsafeCell};

/// A set of values that can be notified, see the module documentation.
pub(super) struct NotifiedSet<V> {
    /// All members; the list owns the set's reference to each.
    members: List<MemberLink<V>>,
    len: usize,
    /// The first of the collected members, linked through `next`.
    ready: EntryRef<V>,
    /// The queue of the members; created with the first one.
    queue: Option<Arc<NotifyQueue<V>>>,
}

// SAFETY: wakers on other threads reach only the entries' `queue_link` and `queue`, which the
// queue's lock protects. The values and the lists belong to the owner of the set, and move to
// another thread with it only if `V` may.
unsafe impl<V: Send> Send for NotifiedSet<V> {}
// SAFETY: through `&NotifiedSet` a thread gets at most shared references to values (`for_each`).
unsafe impl<V: Sync> Sync for NotifiedSet<V> {}

type EntryRef<V> = Option<NonNull<Entry<V>>>;

/// One member.
struct Entry<V> {
    links: Links<Entry<V>>,
    queue_link: UnsafeCell<QueueLink<V>>,
    queue: Arc<NotifyQueue<V>>,
    /// Moved out by the owner when the entry stops being a member.
    value: UnsafeCell<ManuallyDrop<V>>,
}

/// An entry's place in the queue, then among the collected members.
struct QueueLink<V> {
    is_notified: bool,
    next: EntryRef<V>,
}

// SAFETY: other threads have the entry only as a waker. Through it they reach `queue_link`, under
// the queue's lock, and `queue`, and may free the memory; they never reach the value, which
// `ManuallyDrop` keeps from being dropped with the entry.
unsafe impl<V> Send for Entry<V> {}
// SAFETY: as above.
unsafe impl<V> Sync for Entry<V> {}

struct MemberLink<V>(PhantomData<V>);

// SAFETY: `links` is a field of the entry that only the list accesses.
unsafe impl<V> Link for MemberLink<V> {
    type Node = Entry<V>;

    unsafe fn links(entry: NonNull<Entry<V>>) -> NonNull<Links<Entry<V>>> {
        // SAFETY: the entry is alive by the trait's contract, and a field of it is not null.
        unsafe { NonNull::new_unchecked(&raw mut (*entry.as_ptr()).links) }
    }
}

impl<V> NotifiedSet<V> {
    pub(super) fn new() -> NotifiedSet<V> {
        NotifiedSet { members: List::new(), len: 0, ready: None, queue: None }
    }

    pub(super) fn len(&self) -> usize {
        self.len
    }

    pub(super) fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// (1) Adds a member and passes its waker to `arm`, which registers it.
    ///
    /// If `arm` returns false, the member is notified immediately.
    pub(super) fn insert(&mut self, value: V, arm: impl FnOnce(&mut V, &Waker) -> bool)
    where
        V: 'static,
    {
        let queue = self.queue.get_or_insert_with(|| Arc::new(NotifyQueue::new(None))).clone();
        let entry = Arc::into_raw(Arc::new(Entry {
            links: Links::new(),
            queue_link: UnsafeCell::new(QueueLink { is_notified: false, next: None }),
            queue,
            value: UnsafeCell::new(ManuallyDrop::new(value)),
        }));
        // SAFETY: the entry is new, so in no list. The reference from `into_raw` is the list's: it
        // keeps the entry alive until it is taken out.
        unsafe { self.members.push_back(NonNull::new_unchecked(entry.cast_mut())) };
        self.len += 1;
        // SAFETY: this waker borrows the list's reference, which outlasts the call (`self` is
        // borrowed mutably), and `ManuallyDrop` keeps it from giving that reference back.
        let waker = ManuallyDrop::new(Waker::from(unsafe { Arc::from_raw(entry) }));
        // SAFETY: the entry is alive as above. Only the owner, this thread, accesses the value.
        let armed = unsafe { (*entry).value.with_mut(|value| arm(&mut *value, &waker)) };
        if !armed {
            waker.wake_by_ref();
        }
    }

    /// Returns `Ready` if a member has been notified; otherwise `waker` is woken when one is.
    ///
    /// The waker replaces that of the last call.
    pub(super) fn poll_notified(&mut self, waker: &Waker) -> Poll<()> {
        if self.collect(|queue| queue.take_or_wait(waker)) {
            Poll::Ready(())
        } else {
            Poll::Pending
        }
    }

    /// (4) Takes out the member that was notified first.
    pub(super) fn pop(&mut self) -> Option<V> {
        self.collect(|queue| queue.state.lock().take());
        let entry = self.ready?;
        // SAFETY: a ready entry is a member, so it is alive. Its link was written under the lock
        // before the owner collected it, and no wake-up writes it again: `is_notified` is set, and
        // the queue has forgotten its last entry.
        self.ready = unsafe { entry.as_ref().queue_link.with(|link| (*link).next) };
        // SAFETY: a ready entry is in the list.
        unsafe { self.members.remove(entry) };
        // SAFETY: the entry has been removed from the list and from the ready members.
        Some(unsafe { self.take(entry) })
    }

    /// Calls `f` with each member's value.
    pub(super) fn for_each(&self, mut f: impl FnMut(&V)) {
        self.members.for_each(|entry| {
            // SAFETY: a member is alive. Values are accessed through the set only, and while it is
            // borrowed here no `&mut` to a value exists.
            unsafe { entry.as_ref().value.with(|value| f(&*value)) };
        });
    }

    /// (5) Takes out all members, notified or not.
    ///
    /// `f` should not panic: the remaining members would stay in the set and be dropped with it.
    /// Aborting a task and dropping its handle do not panic, since both contain panics of user
    /// code.
    pub(super) fn drain(&mut self, mut f: impl FnMut(V)) {
        self.ready = None;
        // A waiting owner keeps waiting, for members that are inserted later.
        let waker = self.queue.take().and_then(|queue| queue.close());
        self.queue = waker.map(|waker| Arc::new(NotifyQueue::new(Some(waker))));
        while let Some(entry) = self.members.pop_front() {
            // SAFETY: the entry has just been removed from the list; no member is ready, and the
            // queue is closed.
            f(unsafe { self.take(entry) });
        }
    }

    /// Releases the set's reference to an entry and returns its value.
    ///
    /// # Safety
    /// The entry must just have been removed from the list, and be neither among the ready members
    /// nor in an open queue.
    unsafe fn take(&mut self, entry: NonNull<Entry<V>>) -> V {
        self.len -= 1;
        // SAFETY: `insert` gave this reference to the list, and the entry has left the list.
        let entry = unsafe { Arc::from_raw(entry.as_ptr()) };
        // SAFETY: only the owner accesses the value. It is taken once, since an entry is inserted
        // into the list once and removed before this call.
        entry.value.with_mut(|value| unsafe { ManuallyDrop::take(&mut *value) })
    }

    /// (3) Takes the queue's contents if no member is ready, and returns whether one is then.
    fn collect(&mut self, take: impl FnOnce(&NotifyQueue<V>) -> EntryRef<V>) -> bool {
        if self.ready.is_none() {
            self.ready = self.queue.as_deref().and_then(take);
        }
        self.ready.is_some()
    }
}

impl<V> Drop for NotifiedSet<V> {
    fn drop(&mut self) {
        self.drain(drop);
    }
}

impl<V: 'static> Wake for Entry<V> {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    /// (2) Puts the member into the queue.
    fn wake_by_ref(self: &Arc<Self>) {
        self.queue.push(self);
    }
}

/// The queue of notified members, shared by the owner and the wakers.
struct NotifyQueue<V> {
    state: Mutex<NotifyState<V>>,
}

struct NotifyState<V> {
    first: EntryRef<V>,
    last: EntryRef<V>,
    /// Set while the owner waits for the next entry.
    waker: Option<Waker>,
    /// The owner will neither look at the queue again nor keep entries in it alive.
    is_closed: bool,
}

// SAFETY: the state refers to entries as wakers do, and entries are `Send` and `Sync`.
unsafe impl<V> Send for NotifyState<V> {}

impl<V> NotifyState<V> {
    fn take(&mut self) -> EntryRef<V> {
        self.last = None;
        self.first.take()
    }
}

impl<V> NotifyQueue<V> {
    fn new(waker: Option<Waker>) -> NotifyQueue<V> {
        let state = NotifyState { first: None, last: None, waker, is_closed: false };
        NotifyQueue { state: Mutex::new(state) }
    }

    /// Appends an entry, unless it has been notified before, and wakes the owner if it waits.
    fn push(&self, entry: &Arc<Entry<V>>) {
        let mut state = self.state.lock();
        // SAFETY: `is_notified` is written only under the lock, which this thread holds.
        if state.is_closed || entry.queue_link.with(|link| unsafe { (*link).is_notified }) {
            return;
        }
        // SAFETY: this thread holds the lock. The owner reads the link only of entries that it has
        // collected, and this one has not been in the queue yet.
        entry.queue_link.with_mut(|link| unsafe { (*link).is_notified = true });
        // SAFETY: an `Arc` is not null. The pointer comes from the `Arc` and not from `&Entry`,
        // since the owner makes an `Arc` of it again, whose counts lie outside the entry.
        let entry = unsafe { NonNull::new_unchecked(Arc::as_ptr(entry).cast_mut()) };
        match state.last.replace(entry) {
            // SAFETY: the queue is open, so its entries are members and alive. `last` has not been
            // collected, so the owner does not read its link, and other wakers need the lock.
            Some(last) => unsafe {
                last.as_ref().queue_link.with_mut(|link| (*link).next = Some(entry))
            },
            None => state.first = Some(entry),
        }
        let waker = state.waker.take();
        drop(state);
        if let Some(waker) = waker {
            waker.wake();
        }
    }

    /// Takes all entries. If there are none, the next push wakes `waker`.
    fn take_or_wait(&self, waker: &Waker) -> EntryRef<V> {
        let mut state = self.state.lock();
        let is_waiting = state.waker.as_ref().is_some_and(|set| set.will_wake(waker));
        if is_waiting || state.first.is_some() {
            return state.take();
        }
        // Cloning and dropping a waker may run user code, which must not run under the lock.
        drop(state);
        let new = waker.clone();
        let mut state = self.state.lock();
        let old = state.waker.replace(new);
        let first = state.take();
        drop(state);
        drop(old);
        first
    }

    /// Makes further pushes do nothing, and returns the waker of a waiting owner.
    fn close(&self) -> Option<Waker> {
        let mut state = self.state.lock();
        state.is_closed = true;
        state.waker.take()
    }
}

#[cfg(all(test, not(wakeful_loom)))]
mod tests;

#[cfg(all(test, wakeful_loom))]
#[path = "notified_set/tests/loom.rs"]
mod loom;
