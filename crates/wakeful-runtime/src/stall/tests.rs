use super::*;

#[test]
fn a_stall_says_who_where_and_what_follows() {
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
            "task {id}, spawned at {at}, has held worker 3 for 2.3 ms (thread 17, in system call \
             202, `futex`); another thread goes on with the rest"
        )
    );
}

#[test]
fn a_future_without_a_task_is_called_what_it_is() {
    let stall = Stall {
        what: Stalled::Future,
        worker: Some(0),
        duration: Duration::from_secs(1),
        outcome: StallOutcome::Waits,
        thread: None,
    };
    let text = stall.to_string();
    assert_eq!(text, "the future of a `block_on` has held worker 0 for 1000.0 ms; the rest waits");
}
