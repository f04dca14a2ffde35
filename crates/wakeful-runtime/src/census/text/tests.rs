use super::*;
use crate::census::frames::Resolved;
use crate::census::snapshot::*;
use crate::census::verdict::tests::builder::*;
use wakeful_base::waiting::{WaitKind, Waits};

const FRAMES: &str = "   0: wakeful_sync::mutex::Mutex<T>::lock::{{closure}}\n   1: \
                      app::transfer::{{closure}}\n             at /build/app/src/main.rs:12:30\n   2: \
                      app::serve::{{closure}}\n             at /build/app/src/main.rs:40:9\n   3: \
                      wakeful_task::cell::poll\n";

fn now() -> SystemTime {
    UNIX_EPOCH + Duration::from_secs(1_795_126_089)
}

fn dump(snapshot: &Snapshot, resolved: &Resolved) -> String {
    let dump = Dump::new(snapshot.clone());
    dump.head(1234, now()) + &dump.rest(resolved, &mut dump.names.clone())
}

/// Two tasks in a deadlock, a thread that waits for one of them, a crowd at one of the locks of
/// which only some were asked, and a worker that is blocked.
fn snapshot() -> (Snapshot, Resolved) {
    let typed = |actor: Actor| Actor { type_name: "app::transfer::{{closure}}", ..actor };
    let mut actors = vec![typed(task(2, [mutex(B, 1)])), typed(task(1, [mutex(A, 2)]))];
    let mut resolved = Resolved::default();
    for leaf in actors.iter().flat_map(|actor| &actor.leaves.as_ref().unwrap().leaves) {
        resolved.add(leaf.stack, FRAMES);
    }
    for id in 10..22 {
        let waits = Actor { type_name: "app::audit", ..task(id, [mutex(A, 2)]) };
        let last = Some(Waits { kind: WaitKind::Mutex, detail: A, is_seen: true });
        actors.push(if id < 14 { waits } else { Actor { leaves: None, last, ..waits } });
    }
    actors.push(main_waits([join(1)]));
    actors.push(Actor { unchanged_for: Duration::ZERO, ..running(30) });
    let mut snapshot = world(actors);
    snapshot.workers.push(WorkerState {
        runtime: RUNTIME,
        index: 1,
        task: Some(30),
        stuck_for: Some(Duration::from_millis(42)),
        thread: None,
    });
    (snapshot, resolved)
}

#[test]
fn a_whole_dump() {
    let (snapshot, resolved) = snapshot();
    let version = env!("CARGO_PKG_VERSION");
    let expected = format!(
        "\
== wakeful {version}: process 1234, 2026-11-19 22:08:09 UTC ==
tasks: 15, blocking jobs: 0, threads in `block_on`: 1; waiting: 15, queued: 0, running: 1
It is not recorded which tasks hold permits and read locks.

What hangs:
  1. deadlock (certain): task 1 waits for mutex 1, which is held by task 2, which waits for mutex 2, \
which is held by task 1; 13 more wait for this. Acquire in the same order everywhere, or release \
before waiting

Where that is:
  1. deadlock
     task 1 waits in app::transfer at /build/app/src/main.rs:12:30, unchanged for 5.0 s
     task 2 waits in app::transfer at /build/app/src/main.rs:12:30, unchanged for 5.0 s

Tasks and threads, by where they come from and what they wait for:
    12 × task, app::audit: waiting for mutex 1, for up to 5.0 s
         task 10, task 11, task 12, task 13, task 14, task 15, task 16, task 17 and 4 more
     1 × task, app::transfer: waiting for mutex 1, for 5.0 s
         task 1
     1 × task, app::transfer: waiting for mutex 2, for 5.0 s
         task 2
     1 × task: running
         task 30
     1 × thread: waiting for the end of task 1, for 5.0 s
         thread \"main\"

Where they wait, as far as they were asked:
     2 × a mutex: task 1, task 2
         app::transfer at /build/app/src/main.rs:12:30
         app::serve at /build/app/src/main.rs:40:9

Threads that do not return from user code:
  runtime 1, worker 1: task 30, for 42.0 ms

Runtimes:
  runtime 1: tasks: 15, in queues: 0; blocking pool: 0 of 512 threads busy, jobs in its queue: 0
Other threads that may run the program's own code: 0
== end ==
"
    );
    assert_eq!(dump(&snapshot, &resolved), expected);
}

#[test]
fn the_order_of_the_actors_does_not_matter() {
    let (mut snapshot, resolved) = snapshot();
    let before = dump(&snapshot, &resolved);
    snapshot.actors.reverse();
    assert_eq!(dump(&snapshot, &resolved), before);
}

#[test]
fn a_healthy_program() {
    let text = dump(&world(vec![main_waits([time()])]), &Resolved::default());
    assert!(text.contains("\nNothing is known to hang.\n"), "{text}");
    assert!(!text.contains("Where"), "{text}");
    assert!(text.contains("     1 × thread: waiting for a point in time, for 5.0 s\n"), "{text}");
}

#[test]
fn places_are_relative_to_where_the_program_was_built() {
    let (mut snapshot, mut resolved) = snapshot();
    let site = Location::caller();
    let text = format!("   0: app::waits\n             at /build/{}:1:2\n", site.file());
    let waits = leaf(WaitKind::Notify, C);
    resolved.add(waits.stack, &text);
    snapshot.actors.push(Actor { site: Some(site), ..task(40, [waits]) });
    let text = dump(&snapshot, &resolved);
    assert!(text.contains(&format!("         app::waits at {}:1:2\n", site.file())), "{text}");
    assert!(text.contains(&format!("× task spawned at {site}: ")), "{text}");
}

#[test]
fn tasks_that_wait_for_the_same_kind_of_event_are_one_group() {
    let io = |id, descriptor| task(id, [leaf(WaitKind::IoRead, descriptor)]);
    let select = |id| task(id, [time(), receive(A, 1)]);
    let actors = vec![io(1, 7), io(2, 8), select(3), select(4), task(5, [join(1)])];
    let text = dump(&world(actors), &Resolved::default());
    let rows: Vec<&str> = text.lines().filter(|line| line.contains(" × ")).collect();
    assert_eq!(
        rows,
        [
            "     2 × task: waiting for data from a descriptor, for up to 5.0 s",
            "     2 × task: waiting for a point in time, or a message from mpsc channel 1, for up to \
             5.0 s",
            "     1 × task: waiting for the end of task 1, for 5.0 s",
        ]
    );
}

#[test]
fn dates() {
    let date = |seconds| {
        let mut text = String::new();
        push_time(&mut text, UNIX_EPOCH + Duration::from_secs(seconds));
        text
    };
    assert_eq!(date(0), "1970-01-01 00:00:00 UTC");
    assert_eq!(date(951_782_400), "2000-02-29 00:00:00 UTC");
    assert_eq!(date(951_868_799), "2000-02-29 23:59:59 UTC");
    assert_eq!(date(951_868_800), "2000-03-01 00:00:00 UTC");
    assert_eq!(date(1_735_689_599), "2024-12-31 23:59:59 UTC");
    assert_eq!(date(4_107_542_400), "2100-03-01 00:00:00 UTC");
}
