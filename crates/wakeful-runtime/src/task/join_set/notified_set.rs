//! A set whose members announce, once each, that they can be taken out.
//!
//! Each member has a waker of its own. Waking it posts the member to the set's mailbox, so that the
//! owner finds those that are ready without looking at the others, in the order they became so.
//!
//! ```text
//!              (1) insert                 (2) wake                   (3) collect
//!   owner ───────────────▶ a member ──────────────────▶ posted ──────────────────▶ in line
//!                              │         on any thread    │      all at once          │
//!                              │                          │                           │ (4) pop
//!                              └──────────(5) drain───────┴──────────────┐            ▼
//!                                                                        └──────▶  taken out
//! ```
//!
//! # Who may touch which field of an entry
//!
//! | field | who, when |
//! |---|---|
//! | `links`, `value` | the owner of the set |
//! | `mailbox` | read by anybody |
//! | `post` | written by the first wake, with the mailbox locked; after (3) read by the owner, and by further wakes |
//!
//! An entry has two references: the set's, while it is a member, and the waker's. The mailbox has
//! none. It needs none, because the owner empties it before it lets go of what was posted there, or,
//! where members leave unannounced (5), closes it and takes a new one.
//!
//! Measured with 100,000 tasks on two threads, a lock-free mailbox was no faster than this one.

use std::marker::PhantomData;
use std::mem::ManuallyDrop;
use std::ptr::NonNull;
use std::sync::Arc;
use std::task::{Poll, Wake, Waker};
use wakeful_base::list::{Link, Links, List};
use wakeful_base::sync::{Mutex, UnsafeCell};

/// See the module's head.
pub(super) struct NotifiedSet<V> {
    /// All members, each on the set's reference.
    members: List<MemberLink<V>>,
    len: usize,
    /// The first of the members in line, linked through `next`.
    in_line: EntryRef<V>,
    /// Where the members are posted; made for the first one.
    mailbox: Option<Arc<Mailbox<V>>>,
}

// SAFETY: what is shared with wakers, on whatever thread, is under the mailbox's lock; the rest is the
// owner's, and goes with it to another thread if the values may.
unsafe impl<V: Send> Send for NotifiedSet<V> {}
// SAFETY: a shared borrow gives out shared borrows of the values at most.
unsafe impl<V: Sync> Sync for NotifiedSet<V> {}

type EntryRef<V> = Option<NonNull<Entry<V>>>;

/// One member.
struct Entry<V> {
    links: Links<Entry<V>>,
    post: UnsafeCell<Post<V>>,
    mailbox: Arc<Mailbox<V>>,
    /// Taken by the owner when the entry stops being a member.
    value: UnsafeCell<ManuallyDrop<V>>,
}

/// An entry's place in the mailbox, then in line.
struct Post<V> {
    posted: bool,
    next: EntryRef<V>,
}

// SAFETY: who does not own the set has the entry only as a waker, through which it reaches `post` and
// `mailbox`, and may free the memory, but not reach the value.
unsafe impl<V> Send for Entry<V> {}
// SAFETY: as above.
unsafe impl<V> Sync for Entry<V> {}

struct MemberLink<V>(PhantomData<V>);

// SAFETY: the links are a field of the entry that nothing else touches.
unsafe impl<V> Link for MemberLink<V> {
    type Node = Entry<V>;

    unsafe fn links(entry: NonNull<Entry<V>>) -> NonNull<Links<Entry<V>>> {
        // SAFETY: the entry is live by the trait's contract, and a field of it is not null.
        unsafe { NonNull::new_unchecked(&raw mut (*entry.as_ptr()).links) }
    }
}

impl<V> NotifiedSet<V> {
    pub(super) fn new() -> NotifiedSet<V> {
        NotifiedSet { members: List::new(), len: 0, in_line: None, mailbox: None }
    }

    pub(super) fn len(&self) -> usize {
        self.len
    }

    pub(super) fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// (1) Adds a member. `arm` leaves the waker, which announces it, with whoever is to wake it; if it
    /// returns false, the member is announced at once.
    pub(super) fn insert(&mut self, value: V, arm: impl FnOnce(&mut V, &Waker) -> bool)
    where
        V: 'static,
    {
        let mailbox = self.mailbox.get_or_insert_with(|| Arc::new(Mailbox::new(None))).clone();
        let entry = Arc::into_raw(Arc::new(Entry {
            links: Links::new(),
            post: UnsafeCell::new(Post { posted: false, next: None }),
            mailbox,
            value: UnsafeCell::new(ManuallyDrop::new(value)),
        }));
        // SAFETY: new, so in no list; the reference we made keeps it in place until taken out.
        unsafe { self.members.push_back(NonNull::new_unchecked(entry.cast_mut())) };
        self.len += 1;
        // SAFETY: it lives on the set's reference, which outlasts this call, and is not dropped.
        let waker = ManuallyDrop::new(Waker::from(unsafe { Arc::from_raw(entry) }));
        // SAFETY: alive, and the value is the owner's: ours.
        let armed = unsafe { (*entry).value.with_mut(|value| arm(&mut *value, &waker)) };
        if !armed {
            waker.wake_by_ref();
        }
    }

    /// Ready once a member is announced; else `waker`, in place of any other, is woken when one is.
    pub(super) fn poll_announced(&mut self, waker: &Waker) -> Poll<()> {
        if self.collect(|mailbox| mailbox.open_or_wait(waker)) {
            Poll::Ready(())
        } else {
            Poll::Pending
        }
    }

    /// (4) Takes the member out that was announced first.
    pub(super) fn pop(&mut self) -> Option<V> {
        self.collect(|mailbox| mailbox.contents.lock().take());
        let entry = self.in_line?;
        // SAFETY: what is in line is a member, so alive, and has been posted for good.
        self.in_line = unsafe { entry.as_ref().post.with(|post| (*post).next) };
        // SAFETY: as above.
        unsafe { self.members.remove(entry) };
        // SAFETY: just taken out of the list, and out of the line.
        Some(unsafe { self.take(entry) })
    }

    /// Calls `f` with each member's value.
    pub(super) fn for_each(&self, mut f: impl FnMut(&V)) {
        self.members.for_each(|entry| {
            // SAFETY: a member is alive, and with the set borrowed nobody else has its value.
            unsafe { entry.as_ref().value.with(|value| f(&*value)) };
        });
    }

    /// (5) Takes all members out, announced or not.
    ///
    /// `f` must not panic: the members behind would be dropped instead of given to it. To abort a task
    /// or to drop its handle does not, for both contain the panics of user code.
    pub(super) fn drain(&mut self, mut f: impl FnMut(V)) {
        self.in_line = None;
        // Who waits goes on waiting, for members to come.
        let waker = self.mailbox.take().and_then(|mailbox| mailbox.close());
        self.mailbox = waker.map(|waker| Arc::new(Mailbox::new(Some(waker))));
        while let Some(entry) = self.members.pop_front() {
            // SAFETY: just taken out of the list; nobody is in line, and the mailbox is closed.
            f(unsafe { self.take(entry) });
        }
    }

    /// The value of an entry that was just taken out of the list, whose reference is given up.
    ///
    /// # Safety
    /// It must have been in the list, and be neither in line nor in an open mailbox.
    unsafe fn take(&mut self, entry: NonNull<Entry<V>>) -> V {
        self.len -= 1;
        // SAFETY: `insert` gave the list this reference.
        let entry = unsafe { Arc::from_raw(entry.as_ptr()) };
        // SAFETY: the value is the owner's, and taken once since the entry was in the list once.
        entry.value.with_mut(|value| unsafe { ManuallyDrop::take(&mut *value) })
    }

    /// (3) Has those that were posted stand in line, if nobody does. False if nobody does then either.
    fn collect(&mut self, open: impl FnOnce(&Mailbox<V>) -> EntryRef<V>) -> bool {
        if self.in_line.is_none() {
            self.in_line = self.mailbox.as_deref().and_then(open);
        }
        self.in_line.is_some()
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

    /// (2)
    fn wake_by_ref(self: &Arc<Self>) {
        self.mailbox.post(self);
    }
}

/// Where wakers leave their entries.
struct Mailbox<V> {
    contents: Mutex<Contents<V>>,
}

struct Contents<V> {
    first: EntryRef<V>,
    last: EntryRef<V>,
    /// The owner waits for the next post.
    waker: Option<Waker>,
    /// The owner will not look any more, nor keep what is posted alive.
    closed: bool,
}

// SAFETY: it holds entries as wakers do, and those are `Send` and `Sync`.
unsafe impl<V> Send for Contents<V> {}

impl<V> Contents<V> {
    fn take(&mut self) -> EntryRef<V> {
        self.last = None;
        self.first.take()
    }
}

impl<V> Mailbox<V> {
    fn new(waker: Option<Waker>) -> Mailbox<V> {
        let contents = Contents { first: None, last: None, waker, closed: false };
        Mailbox { contents: Mutex::new(contents) }
    }

    /// Puts the entry last, unless it has been there before, and wakes the owner if it waits.
    fn post(&self, entry: &Arc<Entry<V>>) {
        let mut contents = self.contents.lock();
        // SAFETY: written under the lock only.
        if contents.closed || entry.post.with(|post| unsafe { (*post).posted }) {
            return;
        }
        // SAFETY: we have the lock, and until posted the entry is not in line.
        entry.post.with_mut(|post| unsafe { (*post).posted = true });
        // SAFETY: an `Arc` is not null. Through a borrow of the entry instead, the pointer would not be
        // good for the counts beside it.
        let entry = unsafe { NonNull::new_unchecked(Arc::as_ptr(entry).cast_mut()) };
        match contents.last.replace(entry) {
            // SAFETY: with the mailbox open, what is in it is a member, so alive, and not in line.
            Some(last) => unsafe { last.as_ref().post.with_mut(|post| (*post).next = Some(entry)) },
            None => contents.first = Some(entry),
        }
        let waker = contents.waker.take();
        drop(contents);
        if let Some(waker) = waker {
            waker.wake();
        }
    }

    /// Takes what was posted. If that is nothing, `waker` is woken by the next post.
    fn open_or_wait(&self, waker: &Waker) -> EntryRef<V> {
        let mut contents = self.contents.lock();
        let waits = contents.waker.as_ref().is_some_and(|set| set.will_wake(waker));
        if waits || contents.first.is_some() {
            return contents.take();
        }
        // Cloning and dropping a waker is somebody else's code, and not to be run under the lock.
        drop(contents);
        let new = waker.clone();
        let mut contents = self.contents.lock();
        let old = contents.waker.replace(new);
        let first = contents.take();
        drop(contents);
        drop(old);
        first
    }

    /// Makes posts go nowhere. Returns the waker of who waits.
    fn close(&self) -> Option<Waker> {
        let mut contents = self.contents.lock();
        contents.closed = true;
        contents.waker.take()
    }
}

#[cfg(all(test, not(wakeful_loom)))]
mod tests;

#[cfg(all(test, wakeful_loom))]
#[path = "notified_set/tests/loom.rs"]
mod loom;
