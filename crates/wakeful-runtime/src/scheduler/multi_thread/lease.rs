//! A thread's revocable right to run a worker, and why two threads never touch one core.
//!
//! A worker passes to another thread in two ways. Its holder **releases** the lease
//! (`block_in_place`), or another thread **revokes** the lease of a holder that is stuck in user
//! code. A stuck holder cannot take part in that, and a holder that is not stuck must not pay for
//! it: entering a core section is a store and a load, without a fence.
//!
//! ```text
//!   holder, in `begin_section`        revoking thread, in `suspend`, with the slot's lock held
//!   in_section = true                 state = SUSPENDED, of one lease or of several
//!   light fence                       heavy fence (every thread passes one)
//!   state is HELD? ──▶ proceed        in a section, or no user code? ──▶ state = HELD, give up
//!        no ──▶ in_section = false,   else the core is this thread's until it unlocks:
//!               wait for the lock,        inspect it, and set
//!               then look again           state = HELD      the holder keeps the lease, or
//!                                         state = REVOKED   the lease passes to another thread
//! ```
//!
//! After the heavy fence, either the revoking thread sees `in_section`, or the holder sees
//! `SUSPENDED`: they never both proceed. A holder that sees `SUSPENDED` waits for the lock, under
//! which the state is final. The revoking thread sees what the holder wrote in earlier sections, by
//! the release at the end of each section and the acquire load in `suspend`. The holder sees what
//! the revoking thread wrote by the lock, or by the release store and acquire load of the state.
//!
//! The heavy fence interrupts every CPU that runs a thread of the process. So the monitor marks all
//! leases that it wants to inspect as suspended, and one fence serves all ([`suspend_all`]). It
//! then holds several slot locks at once. That cannot deadlock: no other thread holds more than
//! one, and a thread that holds one waits for no section of another worker, and for no lock that is
//! held while a section begins.
//!
//! Only a holder **in user code** ([`UserCode`]) can be suspended. Such a thread reaches the worker
//! through new core sections only, and without one it proceeds as after `block_in_place`. It is
//! never in the driver or parked: those places do not pass on with the worker
//! ([`external_wakers`](super::external_wakers)).
//!
//! # Which thread may touch which field
//!
//! | field | access |
//! |---|---|
//! | `in_section`, `user_code` | written by the holder, read by the revoking thread |
//! | `state` | written under the slot's lock, read by the holder |
//! | the task being polled | read by the revoking thread while it has the lock |
//!
//! The last is sound because the holder needs a core section between the end of a poll and the end
//! of the task: while the lease is suspended, the task cannot be freed.
//!
//! Each acquisition by a new thread has a `Lease` of its own. A thread that returns late writes to
//! its own record, never to its successor's.

use crate::stall::OsThread;
use std::ptr;
use std::sync::{Arc, OnceLock};
use std::time::Instant;
use wakeful_base::CachePadded;
use wakeful_base::asymmetric_fence::{LightFence, heavy_fence};
use wakeful_base::sync::atomic::{AtomicBool, AtomicPtr, AtomicU8, Ordering::*};
use wakeful_base::sync::{Mutex, MutexGuard};
use wakeful_task::{Header, TaskRef};

const HELD: u8 = 0;
const SUSPENDED: u8 = 1;
const REVOKED: u8 = 2;

/// One thread's lease on one worker.
pub(super) struct Lease {
    flags: CachePadded<LeaseFlags>,
    light: LightFence,
    /// The holder's thread as the operating system knows it, if the monitor might ask about it.
    thread: Option<OsThread>,
    /// Since when the holder had been stuck when its lease was revoked.
    stuck_since: OnceLock<Instant>,
}

struct LeaseFlags {
    /// Whether the holder is in a core section.
    in_section: AtomicBool,
    state: AtomicU8,
    /// The user code that the holder is running, encoded by [`UserCode::to_word`].
    user_code: AtomicPtr<Header>,
}

/// The user code that a worker thread is running.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum UserCode {
    /// The poll of a task.
    Poll(TaskRef),
    /// The end of a task after its last poll: the drop of its output, the waker of its
    /// `JoinHandle`, a hook. A task that is still in a list is named, and kept alive until the
    /// thread's next core section.
    End(Option<TaskRef>),
    /// A callback of the runtime, a deferred waker, or an external waker.
    Callback,
}

/// Marks the word of an [`End`](UserCode::End), beside the address of its task if there is one.
const END_TAG: usize = 1;
const CALLBACK_TAG: usize = 2;

impl UserCode {
    fn to_word(self) -> *mut Header {
        match self {
            UserCode::Poll(task) => task.as_ptr(),
            UserCode::End(Some(task)) => task.as_ptr().map_addr(|address| address | END_TAG),
            UserCode::End(None) => ptr::without_provenance_mut(END_TAG),
            UserCode::Callback => ptr::without_provenance_mut(CALLBACK_TAG),
        }
    }

    fn from_word(word: *mut Header) -> Option<UserCode> {
        const { assert!(align_of::<Header>() > (END_TAG | CALLBACK_TAG)) };
        if word.addr() == CALLBACK_TAG {
            Some(UserCode::Callback)
        } else if word.addr() & END_TAG != 0 {
            Some(UserCode::End(TaskRef::new(word.map_addr(|address| address & !END_TAG))))
        } else {
            TaskRef::new(word).map(UserCode::Poll)
        }
    }

    /// Returns the task to note as detached while the thread running it has no lease.
    pub(super) fn task(self) -> Option<TaskRef> {
        match self {
            UserCode::Poll(task) => Some(task),
            UserCode::End(task) => task,
            UserCode::Callback => None,
        }
    }
}

impl Lease {
    /// Creates a lease for the calling thread, which has yet to [`acquire`](LeaseSlot::acquire) it.
    pub(super) fn new(light: LightFence, thread: Option<OsThread>) -> Arc<Lease> {
        Arc::new(Lease {
            flags: CachePadded::new(LeaseFlags {
                in_section: AtomicBool::new(false),
                state: AtomicU8::new(HELD),
                user_code: AtomicPtr::new(ptr::null_mut()),
            }),
            light,
            thread,
            stuck_since: OnceLock::new(),
        })
    }

    /// Begins a core section. If this returns false, the caller has to
    /// [`confirm`](LeaseSlot::confirm).
    #[inline]
    #[must_use]
    pub(super) fn begin_section(&self) -> bool {
        let LeaseFlags { in_section, state, .. } = &*self.flags;
        debug_assert!(!in_section.load(Relaxed), "user code ran inside a core section");
        in_section.store(true, Relaxed);
        self.light.fence();
        state.load(Acquire) == HELD
    }

    /// Returns whether a core section is open. For the holder's own thread.
    #[inline]
    pub(super) fn is_in_section(&self) -> bool {
        self.flags.in_section.load(Relaxed)
    }

    #[inline]
    pub(super) fn end_section(&self) {
        self.flags.in_section.store(false, Release);
    }

    /// Notes that the holder begins to run user code. The change from a task's poll to its end must
    /// be made inside a core section.
    #[inline]
    pub(super) fn begin_user_code(&self, user_code: UserCode) {
        self.flags.user_code.store(user_code.to_word(), Release);
    }

    #[inline]
    pub(super) fn end_user_code(&self) {
        self.flags.user_code.store(ptr::null_mut(), Relaxed);
    }

    /// Runs `f`, a callback of the runtime, on its own or in the middle of a poll.
    pub(super) fn run_callback(&self, f: impl FnOnce()) {
        if self.user_code().is_some() {
            return f();
        }
        self.begin_user_code(UserCode::Callback);
        f();
        self.end_user_code();
    }

    /// Returns the user code being run. Threads other than the holder may dereference its task only
    /// while they have the lease suspended.
    #[inline]
    pub(super) fn user_code(&self) -> Option<UserCode> {
        UserCode::from_word(self.flags.user_code.load(Acquire))
    }

    /// Returns the task being polled, if any.
    #[inline]
    pub(super) fn polling(&self) -> Option<TaskRef> {
        match self.user_code() {
            Some(UserCode::Poll(task)) => Some(task),
            _ => None,
        }
    }

    /// Returns whether the lease is revoked or released. For the holder's own thread.
    #[inline]
    pub(super) fn is_revoked(&self) -> bool {
        self.flags.state.load(Acquire) == REVOKED
    }

    /// Returns the holder's thread, if it is known.
    pub(super) fn thread(&self) -> Option<&OsThread> {
        self.thread.as_ref()
    }

    /// Returns since when the holder had been stuck, if its lease was revoked.
    pub(super) fn stuck_since(&self) -> Option<Instant> {
        self.stuck_since.get().copied()
    }
}

/// The holder of a worker's lease, behind the lock that decides on it.
pub(super) struct LeaseSlot(Mutex<Holder>);

enum Holder {
    /// No thread holds the lease: none has acquired it yet, or the last holder has released it.
    Vacant,
    Held(Arc<Lease>),
    /// No thread will hold the lease again: the worker has stopped.
    Retired,
}

impl LeaseSlot {
    pub(super) fn new() -> LeaseSlot {
        LeaseSlot(Mutex::new(Holder::Vacant))
    }

    /// Makes `lease` the one held, on a vacant worker.
    pub(super) fn acquire(&self, lease: &Arc<Lease>) {
        let mut holder = self.0.lock();
        debug_assert!(matches!(*holder, Holder::Vacant), "a worker has one lease at a time");
        lease.flags.state.store(HELD, Relaxed);
        *holder = Holder::Held(lease.clone());
    }

    /// Releases `lease` on behalf of its holder. Returns false if it was revoked already.
    pub(super) fn release(&self, lease: &Lease) -> bool {
        self.end(lease, Holder::Vacant)
    }

    /// Releases `lease` as [`release`](Self::release) does, but no thread can acquire the worker
    /// again.
    pub(super) fn retire(&self, lease: &Lease) -> bool {
        self.end(lease, Holder::Retired)
    }

    fn end(&self, lease: &Lease, after: Holder) -> bool {
        let mut holder = self.0.lock();
        if lease.is_revoked() {
            return false;
        }
        lease.flags.state.store(REVOKED, Relaxed);
        *holder = after;
        true
    }

    /// Waits for the decision about a suspended lease, whose holder could not begin a section.
    /// Returns true if the lease is kept and the section has begun.
    #[cold]
    pub(super) fn confirm(&self, lease: &Lease) -> bool {
        lease.end_section();
        if lease.is_revoked() {
            return false;
        }
        let _not_suspended_meanwhile = self.0.lock();
        !lease.is_revoked() && lease.begin_section()
    }

    /// Returns the lease held now, if there is one.
    pub(super) fn holder(&self) -> Option<Arc<Lease>> {
        match &*self.0.lock() {
            Holder::Held(lease) => Some(lease.clone()),
            Holder::Vacant | Holder::Retired => None,
        }
    }

    /// Suspends the lease if its holder is in user code: the holder cannot begin a core section
    /// until the returned guard is dropped.
    pub(super) fn suspend(&self) -> Result<SuspendedLease<'_>, SuspendError> {
        let begun = self.begin_suspend().ok_or(SuspendError::NotInUserCode)?;
        if !fence_all() {
            return Err(SuspendError::NoFence);
        }
        begun.after_fence().ok_or(SuspendError::NotInUserCode)
    }

    /// Marks the lease as suspended if its holder is in user code. The caller has to make the heavy
    /// fence.
    fn begin_suspend(&self) -> Option<BegunSuspension<'_>> {
        let holder = self.0.lock();
        let Holder::Held(lease) = &*holder else { return None };
        let user_code = lease.user_code()?;
        lease.flags.state.store(SUSPENDED, Relaxed);
        Some(BegunSuspension(SuspendedLease { holder, user_code }))
    }

    /// Runs `f` if no thread holds the lease. No thread can acquire it meanwhile.
    pub(super) fn while_vacant<R>(&self, f: impl FnOnce() -> R) -> Option<R> {
        let holder = self.0.lock();
        matches!(*holder, Holder::Vacant).then(f)
    }
}

/// Suspends the leases of `slots` with a single fence. Returns one element for each slot: `None` if
/// no thread holds the lease, or its holder may be in a core section.
///
/// Holds the locks of all suspended leases until they are dropped. For the monitor's thread: no
/// other thread may hold two of these locks at once.
pub(super) fn suspend_all<'a>(
    slots: impl ExactSizeIterator<Item = &'a LeaseSlot>,
) -> Result<Vec<Option<SuspendedLease<'a>>>, SuspendError> {
    // Both vectors are allocated before the first lock is taken and never grow: the allocator may
    // be slow, and holders wait for the locks.
    let mut begun = Vec::with_capacity(slots.len());
    let mut suspended = Vec::with_capacity(slots.len());
    begun.extend(slots.map(LeaseSlot::begin_suspend));
    if begun.iter().any(Option::is_some) && !fence_all() {
        return Err(SuspendError::NoFence);
    }
    suspended.extend(begun.into_iter().map(|begun| begun?.after_fence()));
    Ok(suspended)
}

/// Makes the heavy fence. Returns false if the kernel refuses it.
fn fence_all() -> bool {
    #[cfg(all(test, not(wakeful_loom)))]
    FENCES.set(FENCES.get() + 1);
    heavy_fence()
}

#[cfg(all(test, not(wakeful_loom)))]
std::thread_local! {
    /// How many heavy fences this thread has made to suspend leases.
    pub(super) static FENCES: std::cell::Cell<u32> = const { std::cell::Cell::new(0) };
}

/// Why a lease was not suspended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SuspendError {
    /// No thread holds the lease, or the holder may be in a core section.
    NotInUserCode,
    /// The kernel refused the fence, so it is unknown whether the holder is in a core section.
    NoFence,
}

/// A lease that is marked as suspended, before the heavy fence: its holder may be in a core
/// section. The holder gets the lease back when this is dropped.
struct BegunSuspension<'a>(SuspendedLease<'a>);

impl<'a> BegunSuspension<'a> {
    /// Completes the suspension, if the holder is in user code and not in a core section. The
    /// caller has made the heavy fence since the lease was marked.
    fn after_fence(self) -> Option<SuspendedLease<'a>> {
        let BegunSuspension(mut suspended) = self;
        let lease = suspended.lease();
        if lease.flags.in_section.load(Acquire) {
            return None;
        }
        suspended.user_code = lease.user_code()?;
        Some(suspended)
    }
}

/// A suspended lease. The holder gets it back when this is dropped.
pub(super) struct SuspendedLease<'a> {
    holder: MutexGuard<'a, Holder>,
    user_code: UserCode,
}

impl SuspendedLease<'_> {
    pub(super) fn lease(&self) -> &Arc<Lease> {
        let Holder::Held(lease) = &*self.holder else {
            unreachable!("only a held lease is suspended")
        };
        lease
    }

    /// Returns the holder's user code. The task of a poll is alive while the lease is suspended.
    pub(super) fn user_code(&self) -> UserCode {
        self.user_code
    }

    /// Revokes the lease and passes the worker to `successor`, whose thread may begin sections when
    /// this has returned.
    pub(super) fn take_over(mut self, stuck_since: Instant, successor: &Arc<Lease>) {
        let lease = self.lease();
        lease.stuck_since.get_or_init(|| stuck_since);
        lease.flags.state.store(REVOKED, Release);
        *self.holder = Holder::Held(successor.clone());
    }
}

impl Drop for SuspendedLease<'_> {
    fn drop(&mut self) {
        let Holder::Held(lease) = &*self.holder else {
            unreachable!("only a held lease is suspended")
        };
        // After `take_over` this is the successor's lease, whose state is `HELD` already.
        lease.flags.state.store(HELD, Release);
    }
}

#[cfg(all(test, wakeful_loom))]
#[path = "lease/tests/loom.rs"]
mod loom;
