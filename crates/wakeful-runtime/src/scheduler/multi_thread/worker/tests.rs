use super::*;
use crate::driver::DriverParts;
use crate::scheduler::multi_thread::MultiThread;
use crate::scheduler::multi_thread::park_state::SharedDriver;
use crate::testing::{no_threads, plain_config, plain_info};
use std::future::poll_fn;
use std::sync::Arc;
use std::task::Poll;
use wakeful_task::Polled;

fn scheduler(workers: usize) -> Arc<MultiThread> {
    let parts = DriverParts::new(None).unwrap();
    let info = plain_info(&parts);
    let driver = SharedDriver::new(parts.driver, parts.waker);
    MultiThread::new(workers, plain_config(), no_threads(), info, driver)
}

/// Creates a task that has waited in the list of worker `index`, and has completed.
fn completed(scheduler: &Arc<MultiThread>, index: usize) -> CompletedTask {
    let mut polls = 0;
    let future = poll_fn(move |cx| {
        polls += 1;
        cx.waker().wake_by_ref();
        if polls == 2 { Poll::Ready(()) } else { Poll::Pending }
    });
    drop(scheduler.spawn(future, Id::next(), Location::caller()));
    let runnable = scheduler.inject.pop().expect("just spawned");
    let Polled::Pending(running) = runnable.run() else { panic!("the first poll is pending") };
    let worker = &scheduler.workers[index];
    let task = running.task();
    worker.with_vacant_core(|core| {
        // SAFETY: both homes are parts of the scheduler. The task is unlisted, so it is in no list,
        // and the scheduler's reference keeps it alive while it is in this one.
        unsafe {
            running.set_home(worker.task_list.as_ptr());
            core.owned.push_front(task);
        }
    });
    let runnable = running.idle().expect("it has woken itself");
    let Polled::Ended(ended) = runnable.run() else { panic!("the second poll ends it") };
    ended.complete_keeping_ref()
}

/// With the tasks of 16 workers that all end elsewhere, one task in 64 unparks a worker: its own.
#[test]
fn a_worker_is_unparked_for_a_batch_of_its_own_tasks() {
    const WORKERS: usize = 16;
    let scheduler = scheduler(WORKERS);
    let mut unparks = [0; WORKERS];
    let batches = 3;
    for ended in 1..=batches * ENDED_BATCH {
        for (index, unparks) in unparks.iter_mut().enumerate() {
            let done = completed(&scheduler, index);
            *unparks += u32::from(scheduler.workers[index].push_ended(done));
            assert_eq!(*unparks, ended / ENDED_BATCH, "unparks for {ended} tasks of {index}");
        }
    }
    for worker in &scheduler.workers {
        drop(worker.with_vacant_core(|core| worker.take_ended(core)));
        assert!(worker.with_vacant_core(|core| core.owned.is_empty()).unwrap());
    }
    let done = completed(&scheduler, 0);
    assert!(!scheduler.workers[0].push_ended(done), "the count begins again");
    drop(scheduler.workers[0].with_vacant_core(|core| scheduler.workers[0].take_ended(core)));
}
