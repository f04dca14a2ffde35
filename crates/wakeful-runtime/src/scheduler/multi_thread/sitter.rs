//! Who sits on a seat, and how he gets at what lies there.

use super::MultiThread;
use super::seat::{Seat, SeatCore};
use crate::scheduler::SchedulerHandle;
use crate::scheduler::context::allow_defer;
use crate::timers::PreciseThread;
use std::cell::Cell;
use std::io;
use std::ops::{Deref, DerefMut};
use std::ptr::{self, NonNull};
use std::sync::Arc;
use wakeful_base::Parker;
use wakeful_base::enter::{Entered, set_entered};
use wakeful_task::TaskRef;

/// One thread's stay on one seat.
pub(super) struct Sitter {
    pub(super) shared: Arc<MultiThread>,
    pub(super) index: usize,
    /// The seat, which `shared` keeps: every poll needs it, and the way there is long.
    seat: NonNull<Seat>,
    /// False once the seat was given away.
    pub(super) seated: Cell<bool>,
    /// In a core section.
    inside: Cell<bool>,
    /// The task under way.
    pub(super) polling: Cell<Option<TaskRef>>,
    /// It wants to give way. Of the thread, not of the seat, which may be lost before the poll returns.
    pub(super) yielding: Cell<bool>,
    /// Timers are being fired: whether to call others for what they wake is decided after.
    pub(super) firing: Cell<bool>,
    pub(super) precise: PreciseThread,
    pub(super) parker: Parker,
}

wakeful_base::per_thread! {
    static SITTER: Cell<*const Sitter> = const { Cell::new(ptr::null()) };
}

/// A core section: access to what lies on the seat. No user code may run while one is open.
pub(super) struct CoreSection<'a> {
    sitter: &'a Sitter,
}

impl Deref for CoreSection<'_> {
    type Target = SeatCore;

    fn deref(&self) -> &SeatCore {
        // SAFETY: only the sitter of a seat opens sections, one at a time.
        self.sitter.seat().core.with(|core| unsafe { &*core })
    }
}

impl DerefMut for CoreSection<'_> {
    fn deref_mut(&mut self) -> &mut SeatCore {
        // SAFETY: as above.
        self.sitter.seat().core.with_mut(|core| unsafe { &mut *core })
    }
}

impl Drop for CoreSection<'_> {
    #[inline]
    fn drop(&mut self) {
        self.sitter.inside.set(false);
    }
}

/// Has a thread of the pool sit on seat `index`.
pub(super) fn start(shared: &Arc<MultiThread>, index: usize) -> io::Result<()> {
    let sit_on = shared.clone();
    let context = || SchedulerHandle::MultiThread(shared.clone());
    shared.pool.submit_seat(Box::new(move || sit(sit_on, index)), context)
}

pub(super) fn sit(shared: Arc<MultiThread>, index: usize) {
    let _driving = set_entered(Entered::MayBlockInPlace);
    let parker = Parker::new();
    shared.seats[index].sleep.sit(parker.unparker());
    shared.seats[index].metrics.sit();
    let sitter = Sitter {
        seat: NonNull::from(&shared.seats[index]),
        shared,
        index,
        seated: Cell::new(true),
        inside: Cell::new(false),
        polling: Cell::new(None),
        yielding: Cell::new(false),
        firing: Cell::new(false),
        precise: PreciseThread::new(),
        parker,
    };
    let _on_seat = SetSitter(SITTER.with(|before| before.replace(&raw const sitter)));
    let _deferring = allow_defer();
    sitter.run();
}

struct SetSitter(*const Sitter);

impl Drop for SetSitter {
    fn drop(&mut self) {
        SITTER.with(|sitter| sitter.set(self.0));
    }
}

impl Sitter {
    #[inline]
    pub(super) fn seat(&self) -> &Seat {
        // SAFETY: it lies in a box of `shared`'s, which we keep and which never changes.
        unsafe { self.seat.as_ref() }
    }

    /// Opens a core section; none if the seat was given away.
    #[inline]
    pub(super) fn enter(&self) -> Option<CoreSection<'_>> {
        if !self.seated.get() {
            return None;
        }
        debug_assert!(!self.inside.get(), "user code ran inside a core section");
        self.inside.set(true);
        Some(CoreSection { sitter: self })
    }
}

/// Calls `f` with this thread's stay on a seat, if it has one.
#[inline]
pub(super) fn with_sitter<R>(f: impl FnOnce(Option<&Sitter>) -> R) -> R {
    let sitter = SITTER.with(Cell::get);
    // SAFETY: a pointer is only there while `sit` on this thread's stack vouches for it.
    f(unsafe { sitter.as_ref() })
}

/// Opens a core section if this thread sits on a seat of `shared`.
#[inline]
pub(super) fn with_core_of<R>(
    shared: *const MultiThread,
    f: impl FnOnce(Option<(&Sitter, CoreSection<'_>)>) -> R,
) -> R {
    with_sitter(|sitter| match sitter {
        Some(sitter) if ptr::eq(Arc::as_ptr(&sitter.shared), shared) => {
            f(sitter.enter().map(|core| (sitter, core)))
        }
        _ => f(None),
    })
}
