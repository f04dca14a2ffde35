use super::*;

#[test]
fn display_names_the_task_its_thread_and_the_outcome() {
    let at = Location::caller();
    let stall = Stall {
        what: Stalled::Task(Id::next(), at),
        worker: Some(3),
        duration: Duration::from_micros(2345),
        outcome: StallOutcome::HandedOff,
        thread: Some("thread 17, in system call 202, `futex`".into()),
    };
    let id = stall.task_id().unwrap();
    assert_eq!(
        stall.to_string(),
        format!(
            "task {id}, spawned at {at}, has blocked worker 3 for 2.3 ms (thread 17, in system \
             call 202, `futex`); handed off to another thread"
        )
    );
}

#[test]
fn display_names_the_future_of_block_on() {
    let stall = Stall {
        what: Stalled::Future,
        worker: Some(0),
        duration: Duration::from_secs(1),
        outcome: StallOutcome::Waits,
        thread: None,
    };
    let text = stall.to_string();
    assert_eq!(
        text,
        "the future of a `block_on` has blocked worker 0 for 1000.0 ms; other tasks are blocked"
    );
}
