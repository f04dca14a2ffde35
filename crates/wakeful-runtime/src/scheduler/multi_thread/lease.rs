//! One thread's stay on one seat, and how it can lose it.
//!
//! A seat passes to another thread in two ways: its sitter gives it away (`block_in_place`), or it is
//! **taken** from a sitter that is stuck in code of the user's. The sitter cannot help with the latter,
//! being stuck, and must not pay for it while it is not: entering a core section is a store and a load,
//! without a fence.
//!
//! ```text
//!   the sitter, in `begin_section`            who takes, holding the seat's lock, in `suspend`
//!   inside = true                             verdict = SUSPENDED
//!   light fence                               heavy fence (all threads pass one)
//!   verdict is HELD?  ──▶ go on             inside, or in no user code?  ──▶ verdict = HELD, give up
//!        no ──▶ inside = false, ask:          else the core is ours until we release the lock:
//!               wait for the seat's lock,         look at it, and
//!               then look again                   verdict = HELD   it keeps the seat, or
//!                                                 verdict = REVOKED     the seat is somebody else's
//! ```
//!
//! After the heavy fence, either the sitter's `in_section` is seen, or the sitter will see the doubt: never do
//! both go on. A sitter that sees it waits for the lock, under which the verdict is final. What it wrote
//! in earlier sections is seen, by the release at the end of each and the acquire in `suspend`; and the
//! other way round by the lock, or by the release and acquire of the verdict.
//!
//! Only a sitter that is **in user code** ([`UserCode`]) is doubted. It has then no business with the seat
//! but through new sections, and what it does when it gets none is what it would do after a
//! `block_in_place`. None of it runs in the driver, or in a sleep, which do not pass on with the seat
//! ([`external_wakers`](super::foreign)).
//!
//! # Who may touch which field
//!
//! | field | who, when |
//! |---|---|
//! | `in_section`, `user_code` | written by the sitter's thread, read by who doubts |
//! | `state` | written under the lock of the seat, read by the sitter's thread |
//! | the task of a poll | who doubts, until he releases the lock: the sitter opens a section between the end of a poll and the end of the task |
//!
//! A record is of one stay: a thread that comes back late writes to its own, never to its successor's.

use crate::stall::OsThreadId;
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

/// One thread's stay on one seat.
pub(super) struct Lease {
    flags: CachePadded<LeaseFlags>,
    light: LightFence,
    /// How the operating system calls the sitter's thread, where the monitor might want to know.
    thread: Option<OsThreadId>,
    /// Since when it was stuck, if it lost its seat by that.
    stuck_since: OnceLock<Instant>,
}

struct LeaseFlags {
    /// In a core section.
    in_section: AtomicBool,
    state: AtomicU8,
    /// What of the user's is under way, as [`UserCode::to_word`] puts it.
    user_code: AtomicPtr<Header>,
}

/// What of the user's a sitter is running.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum UserCode {
    /// A task's poll.
    Poll(TaskRef),
    /// What comes after the last poll of a task: the drop of its output, the waker of who joins it, a hook.
    /// If the task is still in a list it is named, and kept alive until the sitter's next section.
    End(Option<TaskRef>),
    /// A callback of the runtime's, or a foreign waker that was put off.
    Callback,
}

/// In the word of an [`End`](UserCode::End), beside the address of the task if there is one.
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

    /// The task that has to be noted as away while its sitter has no seat.
    pub(super) fn task(self) -> Option<TaskRef> {
        match self {
            UserCode::Poll(task) => Some(task),
            UserCode::End(task) => task,
            UserCode::Callback => None,
        }
    }
}

impl Lease {
    /// A stay that is to begin, on the calling thread.
    pub(super) fn new(light: LightFence, thread: Option<OsThreadId>) -> Arc<Lease> {
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

    /// Begins a core section. If not, the sitter has to [`confirm`](LeaseSlot::ask).
    #[inline]
    #[must_use]
    pub(super) fn begin_section(&self) -> bool {
        let LeaseFlags { in_section, state, .. } = &*self.flags;
        debug_assert!(!in_section.load(Relaxed), "user code ran inside a core section");
        in_section.store(true, Relaxed);
        self.light.fence();
        state.load(Acquire) == HELD
    }

    /// Whether a core section is open. For the sitter's thread.
    #[inline]
    pub(super) fn is_in_section(&self) -> bool {
        self.flags.in_section.load(Relaxed)
    }

    #[inline]
    pub(super) fn end_section(&self) {
        self.flags.in_section.store(false, Release);
    }

    /// The sitter begins to run code of the user's. From a poll to the end of its task it goes by this in a
    /// core section.
    #[inline]
    pub(super) fn begin_user_code(&self, user_code: UserCode) {
        self.flags.user_code.store(user_code.to_word(), Release);
    }

    #[inline]
    pub(super) fn end_user_code(&self) {
        self.flags.user_code.store(ptr::null_mut(), Relaxed);
    }

    /// Calls `f`, a callback of the runtime's, by itself or in the middle of a poll.
    pub(super) fn run_callback(&self, f: impl FnOnce()) {
        if self.user_code().is_some() {
            return f();
        }
        self.begin_user_code(UserCode::Callback);
        f();
        self.end_user_code();
    }

    /// What of the user's is under way. Others than the sitter must not look behind the pointers.
    #[inline]
    pub(super) fn user_code(&self) -> Option<UserCode> {
        UserCode::from_word(self.flags.user_code.load(Acquire))
    }

    /// The task whose poll is under way.
    #[inline]
    pub(super) fn polling(&self) -> Option<TaskRef> {
        match self.user_code() {
            Some(UserCode::Poll(task)) => Some(task),
            _ => None,
        }
    }

    /// Whether the seat is lost for good. For the sitter.
    #[inline]
    pub(super) fn is_revoked(&self) -> bool {
        self.flags.state.load(Acquire) == REVOKED
    }

    /// Whether the sitter's thread runs, or could; false where that cannot be known.
    pub(super) fn is_computing(&self) -> bool {
        self.thread.as_ref().is_some_and(OsThreadId::is_computing)
    }

    /// What the sitter's thread does now, if that can be known.
    pub(super) fn describe_thread(&self) -> Option<String> {
        self.thread.as_ref().map(OsThreadId::describe)
    }

    /// Since when it was stuck, if it lost its seat by that.
    pub(super) fn stuck_since(&self) -> Option<Instant> {
        self.stuck_since.get().copied()
    }
}

/// Who sits on a seat, behind the lock that decides it.
pub(super) struct LeaseSlot(Mutex<Holder>);

enum Holder {
    /// Vacant yet, or the seat was given away and nobody took it yet.
    Vacant,
    Held(Arc<Lease>),
    /// Vacant any more.
    Retired,
}

impl LeaseSlot {
    pub(super) fn new() -> LeaseSlot {
        LeaseSlot(Mutex::new(Holder::Vacant))
    }

    /// `lease` begins, or begins again, on a seat on which nobody sits.
    pub(super) fn acquire(&self, lease: &Arc<Lease>) {
        let mut holder = self.0.lock();
        debug_assert!(matches!(*holder, Holder::Vacant), "one sits on a seat at a time");
        lease.flags.state.store(HELD, Relaxed);
        *holder = Holder::Held(lease.clone());
    }

    /// `lease` ends by the sitter's own will. False if the seat was taken from it already.
    pub(super) fn release(&self, lease: &Lease) -> bool {
        self.end(lease, Holder::Vacant)
    }

    /// As [`release`](Self::release), and nobody will sit here again.
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

    /// The sitter's section did not begin: waits for the verdict. True if it has begun now.
    #[cold]
    pub(super) fn confirm(&self, lease: &Lease) -> bool {
        lease.end_section();
        if lease.is_revoked() {
            return false;
        }
        let _not_suspended_meanwhile = self.0.lock();
        !lease.is_revoked() && lease.begin_section()
    }

    /// Who sits here, if anybody does.
    pub(super) fn holder(&self) -> Option<Arc<Lease>> {
        match &*self.0.lock() {
            Holder::Held(lease) => Some(lease.clone()),
            Holder::Vacant | Holder::Retired => None,
        }
    }

    /// Keeps the sitter out of its seat if it is in user code.
    pub(super) fn suspend(&self) -> Result<SuspendedLease<'_>, SuspendError> {
        let holder = self.0.lock();
        let Holder::Held(lease) = &*holder else { return Err(SuspendError::NotInUserCode) };
        if lease.user_code().is_none() {
            return Err(SuspendError::NotInUserCode);
        }
        let LeaseFlags { in_section, state, .. } = &*lease.flags;
        state.store(SUSPENDED, Relaxed);
        let is_fenced = heavy_fence();
        let user_code =
            if is_fenced && !in_section.load(Acquire) { lease.user_code() } else { None };
        if let Some(user_code) = user_code {
            return Ok(SuspendedLease { holder, user_code });
        }
        state.store(HELD, Release);
        Err(if is_fenced { SuspendError::NotInUserCode } else { SuspendError::NoFence })
    }

    /// Runs `f` if nobody sits here, nor can sit down meanwhile.
    pub(super) fn while_vacant<R>(&self, f: impl FnOnce() -> R) -> Option<R> {
        let holder = self.0.lock();
        matches!(*holder, Holder::Vacant).then(f)
    }
}

/// Why a sitter is not kept out of its seat.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SuspendError {
    /// There is none, or it may be at its seat.
    NotInUserCode,
    /// The kernel refused the fence: it could not be known.
    NoFence,
}

/// A seat whose sitter is kept out. It gets it back when this is dropped.
pub(super) struct SuspendedLease<'a> {
    holder: MutexGuard<'a, Holder>,
    user_code: UserCode,
}

impl SuspendedLease<'_> {
    fn lease(&self) -> &Lease {
        let Holder::Held(lease) = &*self.holder else { unreachable!("there is one to doubt") };
        lease
    }

    /// What the sitter is running. The task of a poll is alive as long as the doubt lasts.
    pub(super) fn user_code(&self) -> UserCode {
        self.user_code
    }

    /// The seat passes to `successor`, whose sitter may begin sections once this has returned.
    pub(super) fn take_over(mut self, stuck_since: Instant, successor: &Arc<Lease>) {
        let lease = self.lease();
        lease.stuck_since.get_or_init(|| stuck_since);
        lease.flags.state.store(REVOKED, Release);
        *self.holder = Holder::Held(successor.clone());
    }
}

impl Drop for SuspendedLease<'_> {
    fn drop(&mut self) {
        let Holder::Held(lease) = &*self.holder else { unreachable!("somebody sits here") };
        // The successor's own flag was never anything else.
        lease.flags.state.store(HELD, Release);
    }
}

#[cfg(all(test, wakeful_loom))]
#[path = "lease/tests/loom.rs"]
mod loom;
