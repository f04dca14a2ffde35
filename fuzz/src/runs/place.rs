use super::subject::runtime::{Builder, Runtime};
use super::subject::task::coop::{has_budget_remaining, poll_proceed};
use super::subject::task::{LocalSet, yield_now};
use crate::drive;
use crate::log::Log;
use crate::script::{Family, Place, Script};
use crate::wakers;
use std::future::poll_fn;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::pin;
use std::task::{Context, Poll, Waker};

/// Creates a current-thread runtime with a paused clock.
pub fn runtime() -> Runtime {
    let mut builder = Builder::new_current_thread();
    builder.enable_time().start_paused(true).build().expect("cannot build a runtime without I/O")
}

/// Uses up budget if the operation says so.
fn spend_budget<F: Family>(op: F) {
    let mut cx = Context::from_waker(Waker::noop());
    for _ in 0..op.spends().unwrap_or(0) {
        if let (true, Poll::Ready(unit)) = (has_budget_remaining(), poll_proceed(&mut cx)) {
            unit.made_progress();
        }
    }
}

/// Runs all steps of a script in the place that it names.
pub fn drive<F: Family>(script: &Script<F>, log: &mut Log, mut step: impl FnMut(F, &mut Log)) {
    let mut ops = script.ops.iter().copied();
    let mut is_over = false;
    let turns = |cx: &mut Context<'_>| {
        // These are the futures that ran out of budget. Tokio wakes them from last to first,
        // Wakeful from first to last. Neither promises an order (docs/08-differences.md).
        log.note("woken between polls", &wakers::called_by_turn());
        for op in ops.by_ref() {
            if op == F::TURN {
                log.begin_step();
                cx.waker().wake_by_ref();
                return Poll::Pending;
            }
            spend_budget(op);
            drive::step(script, op, has_budget_remaining(), log, &mut step);
            log.note("budget is left", &has_budget_remaining());
        }
        // A future that ran out of budget is woken when its task returns to the runtime; on Tokio
        // not if the task has ended. One more poll makes this the same.
        if std::mem::replace(&mut is_over, true) {
            return Poll::Ready(());
        }
        cx.waker().wake_by_ref();
        Poll::Pending
    };
    match script.place {
        Place::Bare => {
            script.ops.iter().for_each(|&op| drive::step(script, op, true, log, &mut step));
        }
        Place::BlockOn => runtime().block_on(poll_fn(turns)),
        Place::InLocalSet => LocalSet::new().block_on(&runtime(), poll_fn(turns)),
    }
}

/// Runs all steps of a script, as [`drive`] does, with steps that may wait.
pub async fn drive_async<F: Family>(
    script: &Script<F>,
    log: &mut Log,
    mut step: impl AsyncFnMut(F, &mut Log),
) {
    for &op in &script.ops {
        spend_budget(op);
        drive::begin_step(has_budget_remaining(), log);
        let panicked = {
            let mut stepping = pin!(step(op, log));
            let catching =
                poll_fn(|cx| match catch_unwind(AssertUnwindSafe(|| stepping.as_mut().poll(cx))) {
                    Ok(polled) => polled.map(|()| false),
                    Err(_) => Poll::Ready(true),
                });
            catching.await
        };
        drive::end_step(script, panicked, log);
        log.note("budget is left", &has_budget_remaining());
        if has_budget_remaining() {
            log.note("woken between polls", &wakers::called_by_turn());
        }
    }
    yield_now().await;
    log.note("woken between polls", &wakers::called_by_turn());
}
