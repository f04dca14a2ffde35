//! Who sits on a seat, and how he gets at what lies there.

use super::MultiThread;
use super::seat::{Seat, SeatCore};
use super::stay::Stay;
use crate::scheduler::context::allow_defer;
use crate::timers::PreciseThread;
use std::cell::Cell;
use std::io;
use std::ops::{Deref, DerefMut};
use std::ptr::{self, NonNull};
use std::sync::Arc;
use std::time::Instant;
use wakeful_base::Parker;
use wakeful_base::catch_panic::abort_on_unwind;
use wakeful_base::enter::{Entered, set_entered};

/// A thread on a seat, or one that was.
pub(super) struct Sitter {
    pub(super) shared: Arc<MultiThread>,
    pub(super) index: usize,
    /// The seat, which `shared` keeps: every poll needs it, and the way there is long.
    seat: NonNull<Seat>,
    pub(super) stay: Arc<Stay>,
    /// It wants to give way. Of the thread, not of the seat, which may be lost before the poll returns.
    pub(super) yielding: Cell<bool>,
    /// While it gathers: how many tasks were woken.
    pub(super) woken: Cell<Option<usize>>,
    /// It is on watch, and has not run anything yet.
    pub(super) watches: Cell<bool>,
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
        // SAFETY: only the sitter of a seat opens sections, one at a time, and `stay.rs` says why nobody
        // else gets at the core meanwhile.
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
        self.sitter.stay.end_section();
    }
}

/// Has a thread of the pool sit on seat `index`.
pub(super) fn start(shared: &Arc<MultiThread>, index: usize) -> io::Result<()> {
    let sit_on = shared.clone();
    shared.submit_seat(Box::new(move || sit_down(sit_on, index, Sitter::watch)))
}

/// Sits on a seat on which nobody sits, until it is lost or the runtime stops.
pub(super) fn sit(shared: Arc<MultiThread>, index: usize) {
    sit_down(shared, index, |_| ());
}

fn sit_down(shared: Arc<MultiThread>, index: usize, first: fn(&Sitter)) {
    let stay = shared.new_stay();
    shared.seats[index].sitting.sit_down(&stay);
    stay_seated(shared, index, stay, first);
}

/// As [`sit`], by a thread whose `stay` has begun.
pub(super) fn sit_as(shared: Arc<MultiThread>, index: usize, stay: Arc<Stay>) {
    stay_seated(shared, index, stay, |_| ());
}

fn stay_seated(shared: Arc<MultiThread>, index: usize, stay: Arc<Stay>, first: fn(&Sitter)) {
    let _driving = set_entered(Entered::MayBlockInPlace);
    let parker = Parker::new();
    shared.seats[index].sleep.sit(parker.unparker());
    shared.seats[index].metrics.sit();
    let sitter = Sitter {
        seat: NonNull::from(&shared.seats[index]),
        shared,
        index,
        stay,
        yielding: Cell::new(false),
        woken: Cell::new(None),
        watches: Cell::new(false),
        precise: PreciseThread::new(),
        parker,
    };
    let _on_seat = SetSitter(SITTER.with(|before| before.replace(&raw const sitter)));
    let _deferring = allow_defer();
    abort_on_unwind("a worker's loop", || {
        sitter.begin();
        first(&sitter);
        sitter.run();
    });
    if let Some(since) = sitter.stay.stuck_since() {
        let stalls = &sitter.shared.stalls;
        stalls.metrics.note_end(since.elapsed(), stalls.config.after);
    }
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

    /// Opens a core section; none if the seat is lost.
    #[inline]
    pub(super) fn enter(&self) -> Option<CoreSection<'_>> {
        let begun = self.stay.begin_section() || self.seat().sitting.ask(&self.stay);
        begun.then_some(CoreSection { sitter: self })
    }

    /// Opens a core section for a call that user code made; none if the seat is lost.
    ///
    /// None also if a section is open already: then the call comes from an allocator that uses the
    /// runtime, in the middle of a change to the core. The caller goes the way of other threads. The
    /// worker's own sections need no such check: the worker opens none while it has one open.
    #[inline]
    pub(super) fn enter_from_user_code(&self) -> Option<CoreSection<'_>> {
        if self.stay.is_inside() {
            return None;
        }
        self.enter()
    }

    /// What lies here may have waited for us: the driver, timers and the end of the runtime come first.
    fn begin(&self) {
        if let Some(mut core) = self.enter() {
            core.until_maintenance = 0;
            core.skip_look = false;
            core.just_woke = None;
            core.gathered.end();
            core.haul = None;
            self.measure_anew(&mut core, Instant::now());
        }
    }
}

/// Calls `f` with this thread's stay on a seat, if it has one.
#[inline]
pub(super) fn with_sitter<R>(f: impl FnOnce(Option<&Sitter>) -> R) -> R {
    let sitter = SITTER.with(Cell::get);
    // SAFETY: a pointer is only there while `sit` on this thread's stack vouches for it.
    f(unsafe { sitter.as_ref() })
}

/// Opens a core section if this thread sits on a seat of `shared` and has none open.
#[inline]
pub(super) fn with_core_of<R>(
    shared: *const MultiThread,
    f: impl FnOnce(Option<(&Sitter, CoreSection<'_>)>) -> R,
) -> R {
    with_sitter(|sitter| match sitter {
        Some(sitter) if ptr::eq(Arc::as_ptr(&sitter.shared), shared) => {
            f(sitter.enter_from_user_code().map(|core| (sitter, core)))
        }
        _ => f(None),
    })
}
