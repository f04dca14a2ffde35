//! The console's socket, as `docs/design/console-protocol.md` defines it.

#![cfg(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64")))]

#[path = "support/json.rs"]
mod json;
#[path = "console_socket/program.rs"]
mod program;
#[path = "console_socket/refused.rs"]
mod refused;

use json::Json;
use program::{Client, Folder, Program, is_program, ready};
use std::future::pending;
use std::io::{ErrorKind, Read, Write};
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};
use wakeful::runtime::{Builder, Runtime};
use wakeful::sync::{Mutex, mpsc, oneshot};
use wakeful::task::LocalSet;
use wakeful::time::sleep;

const HOUR: Duration = Duration::from_secs(3600);

/// Creates a runtime of each flavor.
fn runtimes() -> [Runtime; 2] {
    let mut many = Builder::new_multi_thread();
    let many = many.worker_threads(2).enable_all().name("main").build().unwrap();
    [many, Builder::new_current_thread().enable_all().build().unwrap()]
}

fn watched(command: &mut std::process::Command) {
    command.env("WAKEFUL_CONSOLE", "watch");
}

/// Two tasks, each of which waits for the lock of the other one.
fn spawn_deadlock(runtime: &Runtime) {
    let locks = [Arc::new(Mutex::new(())), Arc::new(Mutex::new(()))];
    let (arrived, mut both) = mpsc::channel(2);
    let go = Arc::new(wakeful::sync::Barrier::new(2));
    for (first, second) in [(0, 1), (1, 0)] {
        let (first, second) = (locks[first].clone(), locks[second].clone());
        let (arrived, go) = (arrived.clone(), go.clone());
        runtime.spawn(async move {
            let _first = first.lock().await;
            go.wait().await;
            arrived.send(()).await.unwrap();
            drop(arrived);
            let _second = second.lock().await;
        });
    }
    drop(arrived);
    runtime.block_on(async { while both.recv().await.is_some() {} });
}

/// A runtime of each flavor: a deadlock, a timer, a channel; a `LocalSet`, and a blocking job.
fn hang() {
    let [many, one] = runtimes();
    for runtime in [&many, &one] {
        spawn_deadlock(runtime);
        runtime.spawn(async { sleep(HOUR).await });
        let (sender, receiver) = oneshot::channel::<()>();
        runtime.spawn(receiver);
        std::mem::forget(sender);
    }
    many.spawn_blocking(|| thread::sleep(HOUR));
    thread::spawn(move || {
        let local = LocalSet::new();
        local.spawn_local(pending::<()>());
        local.block_on(&one, pending::<()>());
    });
    ready();
    many.shutdown_background();
}

#[test]
fn what_tasks_do_is_told() {
    if is_program() {
        return hang();
    }
    let folder = Folder::new();
    let program = Program::start_with("what_tasks_do_is_told", &folder, watched);
    let mut client = Client::connect(&folder);
    let hello = &client.hello;
    assert_eq!(hello["protocol"].number(), 1);
    assert_eq!(hello["pid"].number(), u64::from(program.child.id()));
    assert_eq!(hello["program"].text(), std::env::current_exe().unwrap().to_str().unwrap());
    let name = format!("{}-{}.sock", program.child.id(), hello["start"].text());
    assert_eq!(folder.sockets(), [folder.sockets_folder().join(name)]);

    // All tasks wait, and the blocking job has begun.
    let is_whole = |answer: &Json| {
        answer["tasks"]["waiting"].number() == 10 && answer["tasks"]["running"].number() == 1
    };
    let summary = client.ask_until(r#"{"get":"summary"}"#, is_whole);
    let runtimes = summary["runtimes"].list();
    let flavors: Vec<&str> = runtimes.iter().map(|runtime| runtime["flavor"].text()).collect();
    assert_eq!(flavors, ["multi_thread", "current_thread", "local_set"]);
    let main = &runtimes[0];
    assert_eq!((main["name"].text(), main["tasks"].number()), ("main", 4));
    assert_eq!((main["blocking"]["busy"].number(), main["spawned"].number()), (1, 4));
    let workers = main["workers"].list();
    assert_eq!(workers.len(), 2);
    let polls: u64 = workers.iter().map(|worker| worker["polls"].number()).sum();
    assert!(polls >= 4, "{summary:?}");
    let parked = |worker: &Json| worker["state"].text() == "parked";
    assert!(workers.iter().all(parked), "{summary:?}");
    assert_eq!((runtimes[2]["tasks"].number(), runtimes[2]["is_driven"].bool()), (1, true));
    assert!(summary["asks"].bool() && !summary["incomplete"].bool());
    assert!(summary["threads"].number() > 3);

    let tasks = client.ask(r#"{"id":"x","get":"tasks","limit":500}"#);
    assert_eq!(tasks["id"].text(), "x");
    assert_eq!((tasks["total"].number(), tasks["matching"].number()), (11, 11));
    let rows = tasks["rows"].list();
    let with_wait = |wait: &str| -> Vec<&Json> {
        let has = |row: &&Json| row.get("wait").is_some_and(|known| known.text() == wait);
        rows.iter().filter(has).collect()
    };
    assert_eq!((with_wait("mutex").len(), with_wait("oneshot_recv").len()), (4, 2));
    let timer = with_wait("time")[0];
    let left_us = timer["deadline_us"].number() - tasks["time_us"].number();
    let hour_us = HOUR.as_micros() as u64;
    assert!((hour_us - 60_000_000..hour_us).contains(&left_us), "{timer:?}");
    assert_eq!((timer["kind"].text(), timer["state"].text()), ("task", "waiting"));
    assert!(timer["site"].text().starts_with("crates/wakeful/tests/console_socket.rs:"));
    assert!(timer["type"].text().contains("hang") && !timer["joinable"].bool());
    assert_eq!((timer["runtime"].number(), timer["wakers"].number()), (1, 1));
    let kinds = |kind: &str| rows.iter().filter(|row| row["kind"].text() == kind).count();
    assert_eq!((kinds("local_task"), kinds("blocking_job"), kinds("thread")), (1, 1, 1));

    let are_both = |graph: &Json| deadlocks(graph).count() == 2;
    let graph = client.ask_until(r#"{"get":"graph"}"#, are_both);
    check_graph(&graph, rows);
    let objects = client.ask(r#"{"get":"objects"}"#);
    let mutexes = objects["rows"].list().iter().filter(|row| row["kind"].text() == "mutex");
    assert_eq!(mutexes.clone().count(), 4);
    for mutex in mutexes {
        assert_eq!((mutex["waiting"].list().len(), mutex["holders"].list().len()), (1, 1));
        assert_eq!(mutex["waiting_total"].number(), 1);
        let key = mutex["object"].text();
        let node = graph["nodes"].list().iter().find(|node| node["key"].text() == key).unwrap();
        assert_eq!(node["label"], mutex["label"], "the same name in all answers");
    }
    let dump = client.ask(r#"{"get":"dump","ask":true}"#);
    assert!(dump["text"].text().contains("deadlock (likely): task"), "{dump:?}");
    assert!(dump["text"].text().ends_with("== end ==\n"));
    // An object has one name for a client, and no other object has it.
    let names = client.ask(r#"{"get":"objects"}"#);
    for object in names["rows"].list() {
        if object["waiting_total"].number() > 0 {
            let label = object["label"].text();
            assert!(dump["text"].text().contains(label), "{label} in {dump:?}");
        }
    }

    let locks = client.ask(&format!(
        r#"{{"get":"task","task":{},"ask":true}}"#,
        with_wait("mutex")[0]["id"].number()
    ));
    let leaf = &locks["leaves"].list()[0];
    assert_eq!((leaf["wait"].text(), &leaf["object"]), ("mutex", &with_wait("mutex")[0]["object"]));
    assert!(leaf["details"].text().contains("waiting 1"), "{leaf:?}");
    let frame = &leaf["stack"].list()[0];
    assert!(frame["function"].text().contains("spawn_deadlock"), "{frame:?}");
    assert!(frame["file"].text().ends_with("console_socket.rs") && frame["line"].number() > 1);
    assert!(locks["asked"].bool());

    let stacks = client.ask(r#"{"get":"stacks"}"#);
    let tasks = |row: &Json| row["tasks"].number();
    assert_eq!(stacks["rows"].list().iter().map(tasks).sum::<u64>(), stacks["asked"].number());
    assert!(stacks["asked"].number() >= 8 && stacks["waiting"].number() == 10, "{stacks:?}");
    assert_eq!(program.end(), "");
}

fn deadlocks(graph: &Json) -> impl Iterator<Item = &Json> {
    graph["verdicts"].list().iter().filter(|verdict| verdict["name"].text() == "deadlock")
}

/// Checks the graph of two deadlocks.
fn check_graph(graph: &Json, rows: &[Json]) {
    assert!(!graph["truncated"].bool());
    let (nodes, edges) = (graph["nodes"].list(), graph["edges"].list());
    for verdict in deadlocks(graph) {
        // A task that goes on might have been given the guard.
        assert!(!verdict["certain"].bool());
        assert!(verdict["text"].text().contains("(spawned at crates/wakeful/tests/"));
        for actor in verdict["actors"].list() {
            let key = format!("task {}", actor.number());
            let node = nodes.iter().find(|node| node["key"].text() == key).unwrap();
            let row = rows.iter().find(|row| row["id"] == *actor).unwrap();
            assert_eq!((&node["label"], &node["id"]), (&row["site"], actor));
            let waits = |edge: &&Json| edge["from"].text() == key;
            let waits = edges.iter().find(waits).unwrap();
            assert_eq!((&waits["to"], waits["why"].text()), (&row["object"], "waits_for"));
            let holds = |edge: &&Json| edge["to"].text() == key;
            assert_eq!(edges.iter().find(holds).unwrap()["why"].text(), "held_by");
        }
    }
    for edge in edges {
        for end in ["from", "to"] {
            assert!(nodes.iter().any(|node| node["key"] == edge[end]), "{edge:?} has no node");
        }
    }
}

#[test]
fn rows_are_sorted_filtered_and_counted() {
    if is_program() {
        let runtime = Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
        for _ in 0..600 {
            runtime.spawn(pending::<()>());
        }
        for n in 0..30 {
            runtime.spawn(async move { sleep(HOUR + Duration::from_secs(n % 10)).await });
        }
        return ready();
    }
    let folder = Folder::new();
    let program = Program::start("rows_are_sorted_filtered_and_counted", &folder);
    let mut client = Client::connect(&folder);
    let is_whole = |answer: &Json| answer["tasks"]["waiting"].number() == 630;
    client.ask_until(r#"{"get":"summary"}"#, is_whole);
    let ids = |answer: &Json| -> Vec<u64> {
        answer["rows"].list().iter().map(|row| row["id"].number()).collect()
    };
    let all = client.ask(r#"{"get":"tasks","limit":500}"#);
    let first = ids(&all);
    assert!(first.len() == 500 && first.is_sorted());
    let rest = client.ask(r#"{"get":"tasks","limit":500,"offset":500}"#);
    assert_eq!(ids(&rest).len(), 130);
    assert!(ids(&rest)[0] > first[499]);
    assert_eq!(client.ask(r#"{"get":"tasks"}"#)["rows"].list().len(), 100, "the default");
    let last = client.ask(r#"{"get":"tasks","descending":true,"limit":3}"#);
    let all_ids: Vec<u64> = first.iter().chain(&ids(&rest)).copied().collect();
    assert!(ids(&last).iter().eq(all_ids.iter().rev().take(3)));
    assert_eq!(last["matching"].number(), 630);
    let timers = client.ask(r#"{"get":"tasks","filter":"time","sort":"deadline_us"}"#);
    assert_eq!((timers["matching"].number(), timers["total"].number()), (30, 630));
    let at = |row: &Json| row["deadline_us"].number();
    assert!(timers["rows"].list().iter().map(at).is_sorted());
    for nothing in [r#""filter":"no such text""#, r#""state":"queued""#, r#""runtime":77"#] {
        let answer = client.ask(&format!(r#"{{"get":"tasks",{nothing}}}"#));
        assert_eq!(answer["matching"].number(), 0, "{nothing}");
    }
    assert_eq!(client.ask(r#"{"get":"tasks","limit":0}"#)["rows"].list(), []);
    let groups = client.ask(r#"{"get":"groups"}"#);
    let sizes: Vec<u64> = groups["rows"].list().iter().map(|row| row["tasks"].number()).collect();
    assert_eq!(sizes, [600, 30]);
    assert_eq!(groups["rows"].list()[1]["wait"].text(), "time");
    assert_eq!(groups["rows"].list()[1]["waits_for"].text(), "a point in time");
    program.end();
}

#[test]
fn tasks_are_recorded_while_a_client_is_connected() {
    if is_program() {
        let [many, one] = runtimes();
        for runtime in [&many, &one] {
            let ticker = async {
                loop {
                    sleep(Duration::from_millis(1)).await;
                    wakeful::task::yield_now().await;
                }
            };
            let builder = wakeful::task::Builder::new().name("ticker");
            builder.spawn_on(ticker, runtime.handle()).unwrap();
            runtime.spawn(async {
                loop {
                    wakeful::spawn(sleep(Duration::from_millis(50))).await.unwrap();
                }
            });
        }
        thread::spawn(move || one.block_on(pending::<()>()));
        ready();
        return many.shutdown_background();
    }
    let folder = Folder::new();
    let program = Program::start("tasks_are_recorded_while_a_client_is_connected", &folder);
    let mut client = Client::connect(&folder);
    for runtime in [1, 2] {
        let request = format!(r#"{{"get":"tasks","filter":"ticker","runtime":{runtime}}}"#);
        let is_long = |tasks: &Json| {
            let polls = tasks["rows"].list()[0].get("polls");
            polls.is_some_and(|polls| polls.number() > 20)
        };
        let tasks = client.ask_until(&request, is_long);
        let row = &tasks["rows"].list()[0];
        assert_eq!((row["name"].text(), tasks["matching"].number()), ("ticker", 1));
        assert!(row["wakes"].number() >= row["polls"].number() / 2, "{row:?}");
        assert!(row["self_wakes"].number() > 5, "{row:?}");
        assert!(row["busy_us"].number() >= row["last_poll_us"].number(), "{row:?}");
        assert!(row["scheduled_us"].number() >= row["scheduled_max_us"].number(), "{row:?}");
        let ago_us = tasks["time_us"].number().abs_diff(row["last_poll_at_us"].number());
        assert!(ago_us < 10_000_000, "{tasks:?}");
        assert_eq!(row.get("age_us"), None, "it was spawned before");
        let new =
            format!(r#"{{"get":"tasks","sort":"age_us","descending":true,"runtime":{runtime}}}"#);
        let is_there = |tasks: &Json| tasks["rows"].list()[0].get("age_us").is_some();
        client.ask_until(&new, is_there);
    }
    let summary = client.ask(r#"{"get":"summary"}"#);
    assert!(summary["wakes"].number() > 40);
    for name in ["poll_us", "scheduled_us"] {
        let buckets = summary[name].list().iter().map(|bucket| bucket.list());
        let counts: u64 = buckets.clone().map(|bucket| bucket[1].number()).sum();
        assert!(counts > 40 && buckets.map(|bucket| bucket[0].number()).is_sorted());
    }
    let watched_us = summary["watched_us"].number();
    assert!(watched_us <= summary["time_us"].number() && watched_us > 0);
    let groups = client.ask(r#"{"get":"groups"}"#);
    assert!(groups["rows"].list().iter().any(|row| row["polls"].number() > 20));
    // Without a client nothing is recorded, and the figures begin anew with the next one.
    drop(client);
    thread::sleep(Duration::from_millis(300));
    let mut client = Client::connect(&folder);
    let summary = client.ask(r#"{"get":"summary"}"#);
    assert!(summary["watched_us"].number() < watched_us + 200_000, "{summary:?}");
    program.end();
}

#[test]
fn wrong_requests_are_explained() {
    if is_program() {
        let _runtime = runtimes();
        return ready();
    }
    let folder = Folder::new();
    let program = Program::start("wrong_requests_are_explained", &folder);
    let mut client = Client::connect(&folder);
    for (request, parts) in [
        (r#"{}"#, ["get is \"\"", "summary, tasks"]),
        (r#"{"get":"everything"}"#, ["\"everything\"", "dump"]),
        (r#"{"get":7}"#, ["get", "string"]),
        (r#"{"get":"tasks","limit":501}"#, ["limit", "from 0 to 500"]),
        (r#"{"get":"tasks","limit":-1}"#, ["limit", "from 0 to 500"]),
        (r#"{"get":"tasks","limit":"5"}"#, ["limit", "from 0 to 500"]),
        (r#"{"get":"tasks","sort":"color"}"#, ["sort is \"color\"", "unchanged_us"]),
        (
            r#"{"get":"tasks","state":"asleep"}"#,
            ["state is \"asleep\"", "waiting, queued, running"],
        ),
        (r#"{"get":"tasks","descending":"yes"}"#, ["descending", "true nor false"]),
        (r#"{"get":"task"}"#, ["task is missing", "id"]),
        (r#"{"get":"task","task":123456}"#, ["no task 123456", "ended"]),
        (r#"{"get":"graph","all":1}"#, ["all", "true nor false"]),
    ] {
        let error = client.fail(request);
        assert!(parts.iter().all(|part| error.contains(part)), "{request}: {error}");
    }
    client.send("{\"id\":4.5,\"get\":\"nothing\"}\n");
    let answer = client.read().unwrap();
    assert_eq!(answer["id"], Json::Number(4.5));
    // Several requests at once, the last of them in two parts.
    client
        .send("{\"id\":1,\"get\":\"tasks\"}\n{\"id\":2,\"get\":\"tasks\",\"new\":1}\r\n{\"id\":3,");
    assert_eq!(client.read().unwrap()["id"].number(), 1);
    assert_eq!(client.read().unwrap()["id"].number(), 2);
    client.send("\"get\":\"tasks\"}\n");
    assert_eq!(client.read().unwrap()["id"].number(), 3);
    for garbage in ["\n", "hello\n", "{\"get\":{}}\n", "GET / HTTP/1.1\r\n\r\n", "\0\n"] {
        let mut client = Client::connect(&folder);
        client.send(garbage);
        let error = client.read().unwrap();
        assert!(error["error"].text().contains("no JSON object"), "{error:?}");
        assert_eq!(client.read(), None, "the connection ends after {garbage:?}");
    }
    assert_eq!(client.ask(r#"{"get":"tasks"}"#)["total"].number(), 0);
    program.end();
}

#[test]
fn clients_that_misbehave_do_not_disturb_others() {
    if is_program() {
        // As many tools do. A write to a client that is gone must not end the process.
        // SAFETY: sets the default action.
        unsafe { libc::signal(libc::SIGPIPE, libc::SIG_DFL) };
        let [many, _one] = runtimes();
        for _ in 0..1000 {
            many.spawn(pending::<()>());
        }
        return ready();
    }
    let folder = Folder::new();
    let program = Program::start("clients_that_misbehave_do_not_disturb_others", &folder);
    let mut client = Client::connect(&folder);
    let is_whole = |answer: &Json| answer["tasks"]["waiting"].number() == 1000;
    client.ask_until(r#"{"get":"summary"}"#, is_whole);
    let many_rows = "{\"get\":\"tasks\",\"limit\":500}\n".repeat(20);

    let mut long = Client::connect(&folder);
    // The connection is closed when 4096 bytes have come without an end of the line.
    let sent = long.stream.get_mut().write_all(&[b' '; 1_000_000]);
    assert!(sent.is_err_and(|error| error.kind() == ErrorKind::BrokenPipe));
    assert!(long.read().unwrap()["error"].text().contains("4096"));
    assert_eq!(long.read(), None);

    let mut half = Client::connect(&folder);
    half.send("{\"get\":\"summ");
    for _ in 0..20 {
        let mut gone = Client::connect_once_free(&folder);
        gone.send(&many_rows);
        drop(gone);
        let mut gone = Client::connect_once_free(&folder);
        gone.send("{\"get\":\"ta");
    }
    let mut deaf = Client::connect_once_free(&folder);
    deaf.send(&many_rows);
    let began = Instant::now();
    for _ in 0..20 {
        assert_eq!(client.ask(r#"{"get":"tasks"}"#)["total"].number(), 1000);
    }
    assert!(began.elapsed() < Duration::from_secs(5), "{:?}", began.elapsed());
    // It takes the place of another client only for a while.
    let closed = program
        .wait_until(Duration::from_secs(20), || deaf.stream.get_mut().write_all(b"\n").is_err());
    assert!(closed, "a client that does not read is not disconnected");
    half.send("ary\"}\n");
    assert_eq!(half.read().unwrap()["get"].text(), "summary");
    // All that was sent before the end of the connection is answered.
    half.send("{\"get\":\"summary\"}\n{\"get\":\"dump\"}\n{\"get\":\"tas");
    half.stream.get_mut().shutdown(std::net::Shutdown::Write).unwrap();
    assert_eq!(half.read().unwrap()["get"].text(), "summary");
    assert_eq!(half.read().unwrap()["get"].text(), "dump");
    assert_eq!(half.read(), None);
    program.end();
}

#[test]
fn four_clients_are_served_and_a_fifth_is_told() {
    if is_program() {
        let _runtimes = runtimes();
        return ready();
    }
    let folder = Folder::new();
    let program = Program::start("four_clients_are_served_and_a_fifth_is_told", &folder);
    let mut clients: Vec<Client> = (0..4).map(|_| Client::connect(&folder)).collect();
    let mut fifth = Client::connect(&folder);
    assert!(fifth.hello["error"].text().contains("4 clients"), "{:?}", fifth.hello);
    assert_eq!(fifth.read(), None);
    for client in &mut clients {
        client.ask(r#"{"get":"summary"}"#);
    }
    clients.pop();
    let admitted = program.wait_until(Duration::from_secs(10), || {
        Client::connect(&folder).hello.get("error").is_none()
    });
    assert!(admitted);
    program.end();
}

#[test]
fn a_program_that_is_stuck_answers() {
    if is_program() {
        let [many, one] = runtimes();
        for _ in 0..2 {
            many.spawn(async { thread::sleep(HOUR) });
        }
        many.spawn(pending::<()>());
        let stuck = thread::spawn(move || one.block_on(async { thread::sleep(HOUR) }));
        ready();
        drop(stuck);
        std::process::exit(0);
    }
    let folder = Folder::new();
    let program = Program::start("a_program_that_is_stuck_answers", &folder);
    let mut client = Client::connect(&folder);
    let summary = client.ask_until(r#"{"get":"summary"}"#, |summary| {
        summary["runtimes"].list()[0]["handoffs"].number() > 0
    });
    assert_eq!(summary["runtimes"].list().len(), 2);
    let blocked = |graph: &Json| {
        graph["verdicts"].list().iter().any(|verdict| verdict["name"].text() == "blocked worker")
    };
    client.ask_until(r#"{"get":"graph","ask":false}"#, blocked);
    program.end();
}

#[test]
fn stalls_are_kept_while_a_client_is_connected() {
    if is_program() {
        let [many, _one] = runtimes();
        many.spawn(async {
            loop {
                thread::sleep(Duration::from_millis(30));
                sleep(Duration::from_millis(10)).await;
            }
        });
        ready();
        return many.shutdown_background();
    }
    let folder = Folder::new();
    let program = Program::start("stalls_are_kept_while_a_client_is_connected", &folder);
    let mut client = Client::connect(&folder);
    let are_some = |stalls: &Json| stalls["rows"].list().len() > 2;
    let stalls = client.ask_until(r#"{"get":"stalls"}"#, are_some);
    let rows = stalls["rows"].list();
    assert!(stalls["total"].number() >= rows.len() as u64);
    for row in rows {
        assert!(row["us"].number() >= 1_000 && row["at_us"].number() > 0, "{row:?}");
        assert_eq!((row["runtime"].number(), row["task"].number()), (1, 1));
        assert!(row["site"].text().contains("console_socket.rs:"));
        assert!(row["text"].text().contains("has blocked worker"), "{row:?}");
    }
    assert!(rows.iter().rev().map(|row| row["at_us"].number()).is_sorted(), "the newest first");
    program.end();
}

#[test]
fn a_dump_is_still_made_on_a_signal() {
    if is_program() {
        let _runtimes = runtimes();
        return ready();
    }
    let folder = Folder::new();
    let dump = folder.path().join("dump");
    let program = Program::start_with("a_dump_is_still_made_on_a_signal", &folder, |command| {
        command.env("WAKEFUL_CONSOLE", "nopoll").env("WAKEFUL_DUMP", &dump);
    });
    let mut client = Client::connect(&folder);
    client.send("{\"get\":\"summary\"}\n{\"get\":");
    assert!(!client.read().unwrap()["asks"].bool());
    // SAFETY: sends a signal.
    assert_eq!(unsafe { libc::kill(program.child.id() as i32, libc::SIGQUIT) }, 0);
    let dumped = program.wait_until(Duration::from_secs(20), || {
        std::fs::read_to_string(&dump).is_ok_and(|text| text.contains("== end =="))
    });
    assert!(dumped);
    client.send("\"stacks\"}\n");
    assert!(client.read().unwrap()["error"].text().contains("nopoll"));
    client.ask(r#"{"get":"dump","ask":true}"#);
    program.end();
}

#[test]
fn a_child_after_fork_has_no_part_in_the_socket() {
    if is_program() {
        let _runtimes = runtimes();
        // SAFETY: the child calls `exit`, which runs the handlers that other code has registered,
        // as programs that fork do. No other thread of this process holds locks of the C library.
        let child = unsafe { libc::fork() };
        if child == 0 {
            // SAFETY: as above.
            unsafe { libc::exit(0) };
        }
        let mut status = 0;
        // SAFETY: waits for the child.
        assert_eq!(unsafe { libc::waitpid(child, &raw mut status, 0) }, child);
        return ready();
    }
    let folder = Folder::new();
    let program = Program::start("a_child_after_fork_has_no_part_in_the_socket", &folder);
    let mut client = Client::connect(&folder);
    assert_eq!(client.hello["pid"].number(), u64::from(program.child.id()));
    client.ask(r#"{"get":"summary"}"#);
    program.end();
    assert_eq!(folder.sockets().len(), 0);
}

/// Returns what is at the other end: nothing, if the connection is closed at once.
fn first_bytes(mut stream: UnixStream) -> Vec<u8> {
    let mut bytes = Vec::new();
    _ = stream.read_to_end(&mut bytes);
    bytes
}
