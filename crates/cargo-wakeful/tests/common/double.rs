//! A program that listens as the console protocol says, and answers as a test wants it to.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::process::{self, Command};
use std::sync::{Arc, Mutex};
use std::thread;

use serde_json::{Value, json};

use super::Folder;

/// Makes the answer to a request. `None` closes the connection.
type Answer = dyn Fn(&Value) -> Option<Value> + Send + Sync;

/// The double listens until the test process ends; its folder is removed when this is dropped.
pub struct Double {
    pub folder: Folder,
    requests: Arc<Mutex<Vec<Value>>>,
}

/// Returns the name of the socket of this process.
pub fn socket_name() -> String {
    let stat = fs::read_to_string("/proc/self/stat").unwrap();
    let (_, fields) = stat.rsplit_once(')').unwrap();
    format!("{}-{}.sock", process::id(), fields.split_whitespace().nth(19).unwrap())
}

/// Returns the first line of a program.
pub fn greeting(program: &str) -> Value {
    json!({
        "wakeful": "0.1.0", "protocol": 1, "pid": process::id(), "start": "1",
        "program": format!("/srv/bin/{program}"), "time_us": 5,
    })
}

/// Creates the folder of sockets below one that stands for `XDG_RUNTIME_DIR`.
pub fn socket_folder(folder: &Folder) -> PathBuf {
    let path = folder.path("wakeful");
    fs::create_dir(&path).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o700)).unwrap();
    path
}

impl Double {
    /// Starts a program of this name with so many tasks.
    pub fn with_tasks(test: &str, tasks: u64) -> Double {
        Double::start(test, greeting(test), move |request| Some(answer(request, tasks)))
    }

    pub fn start(
        test: &str,
        greeting: Value,
        answer: impl Fn(&Value) -> Option<Value> + Send + Sync + 'static,
    ) -> Double {
        let folder = Folder::new(test);
        let listener = UnixListener::bind(socket_folder(&folder).join(socket_name())).unwrap();
        let requests = Arc::new(Mutex::new(Vec::new()));
        let (noted, answer) = (requests.clone(), Arc::new(answer));
        thread::spawn(move || {
            for stream in listener.incoming() {
                let (greeting, noted, answer) = (greeting.clone(), noted.clone(), answer.clone());
                thread::spawn(move || serve(stream.unwrap(), &greeting, &noted, &*answer));
            }
        });
        Double { folder, requests }
    }

    /// Returns a call of `cargo wakeful` that finds this program.
    pub fn wakeful(&self, args: &[&str]) -> Command {
        finding(&self.folder, args)
    }

    /// Returns the requests that were made.
    pub fn requests(&self) -> Vec<Value> {
        self.requests.lock().unwrap().clone()
    }

    /// Returns the requests for this.
    pub fn requests_for(&self, what: &str) -> Vec<Value> {
        self.requests().into_iter().filter(|request| request["get"] == what).collect()
    }
}

/// Returns a call of `cargo wakeful` for which the folder is `XDG_RUNTIME_DIR`.
pub fn finding(folder: &Folder, args: &[&str]) -> Command {
    let mut command = folder.wakeful(args);
    command.env("XDG_RUNTIME_DIR", folder.path("")).env_remove("DISPLAY");
    command.env_remove("WAYLAND_DISPLAY");
    command
}

fn serve(stream: UnixStream, greeting: &Value, noted: &Mutex<Vec<Value>>, answer: &Answer) {
    let mut stream = BufReader::new(stream);
    // The tool may have gone away at any time, which ends the connection.
    let _ = writeln!(stream.get_mut(), "{greeting}");
    let mut line = String::new();
    while stream.read_line(&mut line).is_ok_and(|len| len > 0) {
        let request: Value = serde_json::from_str(&line).unwrap();
        line.clear();
        noted.lock().unwrap().push(request.clone());
        let Some(answer) = answer(&request) else { return };
        if writeln!(stream.get_mut(), "{answer}").is_err() {
            return;
        }
    }
}

/// Answers for a program with so many tasks, of which each tenth is named `db`.
fn answer(request: &Value, tasks: u64) -> Value {
    let get = request["get"].as_str().unwrap();
    let number = |name: &str, default| request[name].as_u64().unwrap_or(default);
    match get {
        "summary" => json!({
            "get": get, "time_us": 2_000_000, "threads": 3, "asks": true,
            "runtimes": [{
                "id": 1, "flavor": "multi_thread", "is_driven": true, "tasks": tasks, "stalls": 2,
                "workers": [{ "index": 0, "state": "parked" }, { "index": 1, "state": "running" }],
            }],
            "tasks": { "waiting": tasks, "queued": 0, "running": 0 }, "incomplete": false,
        }),
        "graph" => json!({
            "get": get, "nodes": [], "edges": [], "truncated": false,
            "verdicts": [{
                "name": "deadlock", "certain": true, "text": "task 1 waits for mutex 1",
                "actors": [1, 2],
            }],
        }),
        "tasks" => {
            let filter = request["filter"].as_str().unwrap_or_default();
            let rows: Vec<Value> =
                (1..=tasks).map(row).filter(|row| row.to_string().contains(filter)).collect();
            let (offset, limit) = (number("offset", 0) as usize, number("limit", 100) as usize);
            assert!(limit <= 500, "a page is at most 500 rows");
            let matching = rows.len();
            let rows: Vec<Value> = rows.into_iter().skip(offset).take(limit).collect();
            json!({ "get": get, "total": tasks, "matching": matching, "rows": rows })
        }
        "groups" => json!({
            "get": get,
            "rows": [
                { "site": "src/conn.rs:20:5", "state": "waiting", "waits_for": "data to read",
                  "tasks": tasks, "polls": 9, "unchanged_max_us": 1_500_000 },
                { "site": "src/db.rs:41:9", "state": "running", "tasks": 1, "polls": 90,
                  "unchanged_max_us": 4 },
            ],
        }),
        "dump" => json!({ "get": get, "text": format!("asked: {}\n", request["ask"]) }),
        other => json!({ "error": format!("get is {other:?}") }),
    }
}

fn row(id: u64) -> Value {
    let mut row = json!({
        "id": id, "kind": "task", "runtime": 1, "site": "src/conn.rs:20:5", "state": "waiting",
        "wait": "io_read", "waits_for": "data to read", "unchanged_us": 1_500, "polls": id,
        "busy_us": 10 * id,
    });
    if id % 10 == 0 {
        row["name"] = "db".into();
    }
    row
}

/// Returns whether a socket is there.
pub fn exists(folder: &Path, name: &str) -> bool {
    fs::symlink_metadata(folder.join(name)).is_ok()
}
