use super::*;
use console_api::field::Name;
use prost_types::Timestamp;
use serde_json::json;
use std::time::SystemTime;

fn look(time_us: u64) -> Look {
    let (tasks, objects) = (Vec::new(), Vec::new());
    Look { time_us, recorded_since_us: 1_000_000, tasks, is_of_one_moment: true, objects }
}

fn figures(row: &Value, time_us: u64, told: Option<&Stats>) -> Stats {
    stats(row, &look(time_us), Clock { epoch: SystemTime::UNIX_EPOCH }, told)
}

fn at(us: i64) -> Timestamp {
    Timestamp { seconds: us / 1_000_000, nanos: (us % 1_000_000 * 1_000) as i32 }
}

fn row(state: &str) -> Value {
    json!({ "id": 17, "kind": "task", "name": "db writer", "runtime": 1, "site": "src/db.rs:41:9",
        "type": "x".repeat(400), "state": state, "age_us": 5_000_000, "polls": 8, "busy_us": 33_122,
        "last_poll_us": 12, "last_poll_at_us": 6_000_000, "wakes": 9, "self_wakes": 4,
        "scheduled_us": 5_500, "wakers": 2 })
}

#[test]
fn a_task_has_its_name_its_place_and_the_start_of_its_type() {
    let task = describe(&row("waiting")).unwrap();
    assert_eq!(task.location.unwrap().to_string(), "src/db.rs:41:9");
    let of = |name: &str| {
        let name = Some(Name::StrName(name.to_owned()));
        let field = task.fields.iter().find(|field| field.name == name);
        field.unwrap().value.clone().unwrap().to_string()
    };
    assert_eq!(
        (of("task.name"), of("task.id"), of("kind")),
        ("db writer".into(), "17".into(), "task".into())
    );
    assert_eq!(of("future").chars().count(), TYPE_MAX + 1);
}

#[test]
fn the_state_can_be_told_from_the_times() {
    let waiting = figures(&row("waiting"), 7_000_000, None);
    let polls = waiting.poll_stats.unwrap();
    assert_eq!(waiting.created_at, Some(at(2_000_000)));
    assert_eq!(polls.last_poll_started, Some(at(6_000_000)));
    assert_eq!(polls.last_poll_ended, Some(at(6_000_012)));
    assert!(waiting.last_wake.map(key) <= polls.last_poll_started.map(key));

    let running = figures(&row("running"), 7_000_000, None).poll_stats.unwrap();
    assert_eq!((running.last_poll_started, running.last_poll_ended), (Some(at(6_000_000)), None));

    let queued = figures(&row("queued"), 7_000_000, None);
    assert!(queued.last_wake.map(key) > queued.poll_stats.unwrap().last_poll_started.map(key));
}

#[test]
fn a_task_that_has_done_nothing_looks_the_same() {
    for state in ["waiting", "queued", "running"] {
        let before = figures(&row(state), 7_000_000, None);
        let mut row = row(state);
        // The program computes it from the time that has passed.
        row["last_poll_at_us"] = json!(6_000_001);
        assert_eq!(figures(&row, 8_000_000, Some(&before)).last_wake, before.last_wake, "{state}");
        assert_eq!(
            figures(&row, 8_000_000, Some(&before)).poll_stats,
            before.poll_stats,
            "{state}"
        );
        row["polls"] = json!(9);
        assert_ne!(
            figures(&row, 8_000_000, Some(&before)).poll_stats,
            before.poll_stats,
            "{state}"
        );
    }
}

#[test]
fn only_a_task_that_waits_for_long_without_a_waker_has_none() {
    let wakers = |state: &str, unchanged_us: u64, wakers: Value| {
        let mut row = row(state);
        row["unchanged_us"] = json!(unchanged_us);
        row["wakers"] = wakers;
        figures(&row, 7_000_000, None).waker_clones
    };
    assert_eq!(wakers("waiting", 2_000_000, json!(0)), 0);
    assert_eq!(wakers("waiting", 20_000, json!(0)), 1);
    assert_eq!(wakers("running", 2_000_000, json!(0)), 1);
    assert_eq!(wakers("waiting", 2_000_000, Value::Null), 1);
    assert_eq!(wakers("waiting", 2_000_000, json!(3)), 3);
}

#[test]
fn a_running_closure_of_the_pool_is_busy() {
    let job = json!({ "id": 4, "kind": "blocking_job", "state": "running", "age_us": 5_000_000 });
    let stats = figures(&job, 7_000_000, None);
    let polls = stats.poll_stats.unwrap();
    assert_eq!((polls.polls, polls.last_poll_started), (1, Some(at(2_000_000))));
    assert_eq!(polls.last_poll_ended, None);
    assert_eq!(describe(&job).unwrap().kind, Kind::Blocking as i32);
}
