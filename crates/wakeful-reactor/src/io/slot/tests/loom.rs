//! Events, polls and the end of a registration, in every order.

use super::*;
use crate::io::Readiness;
use ::loom::future::block_on;
use ::loom::sync::Arc;
use ::loom::thread;
use std::future::Future;
use std::future::poll_fn;
use wakeful_base::call_now;

fn model(f: impl Fn(Arc<IoSlot>) + Send + Sync + 'static) {
    ::loom::model(move || f(Arc::new(IoSlot::new())));
}

#[test]
fn an_event_wakes_a_polling_task() {
    model(|slot| {
        let kernel = slot.clone();
        let kernel = thread::spawn(move || kernel.report(0, Ready::READABLE, &mut call_now));
        let state = block_on(poll_fn(|cx| slot.poll(cx.waker(), Direction::Read)));
        assert!(state.ready().is_readable());
        kernel.join().unwrap();
    });
}

#[test]
fn an_event_wakes_every_waiting_future() {
    model(|slot| {
        let (kernel, other) = (slot.clone(), slot.clone());
        let kernel = thread::spawn(move || kernel.report(0, Ready::READABLE, &mut call_now));
        let other = thread::spawn(move || {
            block_on(Readiness::new(&other, Interest::READABLE, 0)).unwrap();
        });
        block_on(Readiness::new(&slot, Interest::READABLE, 0)).unwrap();
        kernel.join().unwrap();
        other.join().unwrap();
    });
}

#[test]
fn a_future_dropped_while_it_is_woken_leaves_nothing() {
    model(|slot| {
        let kernel = slot.clone();
        let kernel = thread::spawn(move || kernel.report(0, Ready::READABLE, &mut call_now));
        {
            let mut waiting = Box::pin(Readiness::new(&slot, Interest::READABLE, 0));
            let waker = Waker::noop();
            let _either = waiting.as_mut().poll(&mut std::task::Context::from_waker(waker));
        }
        kernel.join().unwrap();
        assert!(slot.waiters.lock().list.is_empty());
    });
}

#[test]
fn shutdown_wakes_polling_tasks_and_waiting_futures() {
    model(|slot| {
        let (driver, other) = (slot.clone(), slot.clone());
        let driver = thread::spawn(move || driver.shut_down(Stopped::ShutDown, &mut call_now));
        let other =
            thread::spawn(move || block_on(Readiness::new(&other, Interest::WRITABLE, 0)).is_err());
        let state = block_on(poll_fn(|cx| slot.poll(cx.waker(), Direction::Read)));
        assert!(state.is_shutdown());
        assert!(other.join().unwrap());
        driver.join().unwrap();
    });
}

#[test]
fn clearing_never_wipes_out_a_newer_event() {
    model(|slot| {
        slot.report(0, Ready::READABLE, &mut call_now);
        let seen = slot.state();
        let kernel = slot.clone();
        let kernel = thread::spawn(move || kernel.report(0, Ready::READABLE, &mut call_now));
        // The read found nothing. The kernel may have reported more meanwhile.
        slot.clear(seen.tick(), seen.ready());
        kernel.join().unwrap();
        assert!(slot.state().ready().is_readable());
    });
}

#[test]
fn an_event_of_an_earlier_generation_sets_nothing() {
    model(|slot| {
        let kernel = slot.clone();
        let kernel = thread::spawn(move || kernel.report(0, Ready::READ_CLOSED, &mut call_now));
        drop(slot.retire());
        kernel.join().unwrap();
        assert_eq!(slot.generation(), 1);
        assert!(slot.state().ready().is_empty());
        slot.report(1, Ready::WRITABLE, &mut call_now);
        assert!(slot.state().ready() == Ready::WRITABLE);
    });
}
