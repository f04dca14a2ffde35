//! `block_in_place`: a worker gives its seat to another thread, and takes it back if that is still free.

use super::MultiThread;
use super::sitter::{sit, with_sitter};
use super::stay::UserCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::*};
use wakeful_base::budget::{self, Budget};
use wakeful_base::enter::{Entered, entered, set_entered};

/// Runs `f` on this thread while another takes over the seat.
#[track_caller]
pub(crate) fn block_in_place<R>(f: impl FnOnce() -> R) -> R {
    match give_seat_away() {
        Away::NotDriving => f(),
        Away::Driving(_back) => {
            let _may_block = set_entered(Entered::No);
            let _no_limit = budget::replace(Budget::UNCONSTRAINED);
            f()
        }
    }
}

enum Away {
    NotDriving,
    Driving(Option<TakeSeatBack>),
}

/// Sits down again when dropped, if nobody else did.
struct TakeSeatBack {
    ticket: Arc<SeatTicket>,
}

/// The right to sit on a seat that was given away: whoever takes it first has it.
struct SeatTicket {
    shared: Arc<MultiThread>,
    index: usize,
    taken: AtomicBool,
}

impl SeatTicket {
    fn take(&self) -> bool {
        let is_first = !self.taken.swap(true, AcqRel);
        if is_first {
            self.shared.vacant.fetch_sub(1, Relaxed);
        }
        is_first
    }
}

#[track_caller]
fn give_seat_away() -> Away {
    match entered() {
        Entered::No => return Away::NotDriving,
        Entered::MayBlockInPlace => {}
        Entered::Bound => panic!(
            "`block_in_place` called on a current-thread runtime or in a `LocalSet`, whose tasks \
             cannot move to another thread meanwhile: you can call blocking only when running on the \
             multi-threaded runtime. Use `spawn_blocking`, or a multi-thread runtime"
        ),
    }
    with_sitter(|sitter| {
        let Some(sitter) = sitter else { return Away::Driving(None) };
        if sitter.is_gathering() || sitter.stay.is_inside() {
            // A task that somebody wakes while its own runtime ends is dropped on the spot: this may be the driver. Our
            // place there would not pass on with the seat, and whoever sat here would sleep beside it. Nor does a
            // seat pass on in the middle of a core section, to which an allocator may have called us.
            return Away::Driving(None);
        }
        sitter.call_foreign();
        sitter.wake_deferred();
        let Some(mut core) = sitter.enter() else { return Away::Driving(None) };
        if let Some(runnable) = core.lifo.take() {
            core.queue.push(&sitter.seat().queue, runnable);
        }
        // Until a thread has taken the seat, others can at least reach what lies there.
        core.queue.share_batch(&sitter.seat().queue);
        sitter.seat().load.open();
        drop(core);
        if !sitter.seat().queue.is_empty() {
            sitter.shared.wake_worker();
        }
        let ticket = Arc::new(SeatTicket {
            shared: sitter.shared.clone(),
            index: sitter.index,
            taken: false.into(),
        });
        let successor = ticket.clone();
        let sit_down = Box::new(move || {
            if successor.take() {
                sit(successor.shared.clone(), successor.index);
            }
        });
        if !sitter.seat().sitting.stand_up(&sitter.stay) {
            return Away::Driving(None);
        }
        sitter.shared.vacant.fetch_add(1, Relaxed);
        if let Some(task) = sitter.stay.user_code().and_then(UserCode::task) {
            sitter.shared.begin_away(task);
        }
        // Without a thread for it the seat blocks with us, as it would anywhere else. It is given up
        // all the same: what is spawned or deferred meanwhile must not wait for our return.
        let _nobody_else_has_the_ticket_then = sitter.shared.submit_seat(sit_down);
        Away::Driving(Some(TakeSeatBack { ticket }))
    })
}

impl Drop for TakeSeatBack {
    fn drop(&mut self) {
        if self.ticket.take() {
            with_sitter(|sitter| {
                let sitter = sitter.expect("who gave a seat away still has its record");
                sitter.seat().sleep.sit(sitter.parker.unparker());
                sitter.seat().metrics.sit();
                sitter.seat().sitting.sit_down(&sitter.stay);
                if let Some(task) = sitter.stay.user_code().and_then(UserCode::task) {
                    sitter.shared.end_away(task);
                }
            });
        }
    }
}
