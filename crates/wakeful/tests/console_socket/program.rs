//! A child process with a console, and clients of it.

use crate::json::Json;
use std::fs::{self, DirBuilder};
use std::io::{BufRead, BufReader, Read, Write, stdin};
use std::os::unix::fs::DirBuilderExt;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use std::time::{Duration, Instant};

/// Tells a child process which part of a test it is.
const PART: &str = "WAKEFUL_TEST_PART";

/// The line that a program prints once it does what is tested.
const READY: &str = "the program is ready";

/// A folder of its own for each test, removed at the end.
pub struct Folder(PathBuf);

impl Folder {
    pub fn new() -> Folder {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let name = format!("wakeful-socket-{}-{}", std::process::id(), NEXT.fetch_add(1, Relaxed));
        let path = std::env::temp_dir().join(name);
        DirBuilder::new().mode(0o700).create(&path).unwrap();
        Folder(path)
    }

    pub fn path(&self) -> &Path {
        &self.0
    }

    /// Returns the folder that programs create here for their sockets.
    pub fn sockets_folder(&self) -> PathBuf {
        self.0.join("wakeful")
    }

    /// Returns the sockets in it.
    pub fn sockets(&self) -> Vec<PathBuf> {
        let Ok(entries) = fs::read_dir(self.sockets_folder()) else { return Vec::new() };
        let mut all: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
        all.sort();
        all
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        _ = fs::remove_dir_all(&self.0);
    }
}

/// A child process that runs `test` of this test program.
pub struct Program {
    pub child: Child,
    lines: BufReader<std::process::ChildStdout>,
}

impl Program {
    /// Starts the program, with a console, and waits until it is ready.
    pub fn start(test: &str, folder: &Folder) -> Program {
        Program::start_with(test, folder, |command| _ = command.env("WAKEFUL_CONSOLE", "1"))
    }

    pub fn start_with(
        test: &str,
        folder: &Folder,
        configure: impl FnOnce(&mut Command),
    ) -> Program {
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.args(["--exact", test, "--nocapture", "--test-threads", "1"]);
        command.env(PART, test).env("XDG_RUNTIME_DIR", folder.path());
        command.env_remove("WAKEFUL_CONSOLE").env_remove("WAKEFUL_DEADLOCK_REPORT");
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        configure(&mut command);
        let mut child = command.spawn().unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap());
        let mut program = Program { child, lines };
        loop {
            let mut line = String::new();
            let len = program.lines.read_line(&mut line).unwrap();
            if line.contains(READY) {
                return program;
            }
            if len == 0 {
                let mut errors = String::new();
                program.child.stderr.take().unwrap().read_to_string(&mut errors).unwrap();
                panic!("{test} ended before it was ready: {:?}\n{errors}", program.child.wait());
            }
        }
    }

    /// Makes a command run `other` instead, with the same arguments and variables.
    pub fn replace(command: &mut Command, mut other: Command) {
        other.args(command.get_args());
        for (name, value) in command.get_envs() {
            match value {
                Some(value) => other.env(name, value),
                None => other.env_remove(name),
            };
        }
        other.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        *command = other;
    }

    /// Waits until `is_done`, for `limit` at most. Returns whether it is.
    pub fn wait_until(&self, limit: Duration, mut is_done: impl FnMut() -> bool) -> bool {
        let until = Instant::now() + limit;
        while !is_done() {
            if Instant::now() > until {
                return false;
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        true
    }

    /// Lets the program end. Returns what it printed to standard error.
    pub fn end(mut self) -> String {
        drop(self.child.stdin.take());
        let mut text = String::new();
        self.lines.read_to_string(&mut text).unwrap();
        let mut errors = String::new();
        self.child.stderr.take().unwrap().read_to_string(&mut errors).unwrap();
        let status = self.child.wait().unwrap();
        assert!(status.success(), "{status}\n{text}\n{errors}");
        errors
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        // After a panic of the test. Otherwise it has ended.
        _ = self.child.kill();
        _ = self.child.wait();
    }
}

/// Returns whether this process is the program of a test.
pub fn is_program() -> bool {
    std::env::var_os(PART).is_some()
}

/// Says that the program is ready, and waits until the test ends it.
pub fn ready() {
    println!("\n{READY}");
    _ = stdin().read_to_end(&mut Vec::new());
}

/// A connection to a program.
pub struct Client {
    pub stream: BufReader<UnixStream>,
    pub hello: Json,
}

impl Client {
    /// Connects to the only program of a folder.
    pub fn connect(folder: &Folder) -> Client {
        let sockets = folder.sockets();
        assert_eq!(sockets.len(), 1, "{sockets:?}");
        Client::connect_to(&sockets[0])
    }

    /// The same, once the program has noticed that other clients are gone.
    pub fn connect_once_free(folder: &Folder) -> Client {
        let until = Instant::now() + Duration::from_secs(20);
        loop {
            let client = Client::connect(folder);
            if client.hello.get("error").is_none() {
                return client;
            }
            assert!(Instant::now() < until, "the places of clients that are gone stay taken");
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    pub fn connect_to(socket: &Path) -> Client {
        let stream = UnixStream::connect(socket).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
        let mut client = Client { stream: BufReader::new(stream), hello: Json::Null };
        client.hello = client.read().expect("a first line");
        client
    }

    pub fn send(&mut self, text: &str) {
        self.stream.get_mut().write_all(text.as_bytes()).unwrap();
    }

    /// Reads a line. `None` if the connection has ended.
    pub fn read(&mut self) -> Option<Json> {
        let mut line = String::new();
        // A connection that the program closes with input unread is reset.
        let len = self.stream.read_line(&mut line).unwrap_or(0);
        (len > 0).then(|| Json::parse(line.strip_suffix('\n').expect("a whole line")))
    }

    /// Sends a request and returns the answer.
    pub fn ask(&mut self, request: &str) -> Json {
        self.send(&format!("{request}\n"));
        let answer = self.read().expect("an answer");
        assert_eq!(answer.get("error"), None, "{request}");
        answer
    }

    /// Sends a request and returns the text of the error that it is answered with.
    pub fn fail(&mut self, request: &str) -> String {
        self.send(&format!("{request}\n"));
        self.read().expect("an answer")["error"].text().into()
    }

    /// Asks until `is_it` accepts the answer.
    pub fn ask_until(&mut self, request: &str, is_it: impl Fn(&Json) -> bool) -> Json {
        let until = Instant::now() + Duration::from_secs(20);
        loop {
            let answer = self.ask(request);
            if is_it(&answer) {
                return answer;
            }
            assert!(Instant::now() < until, "still {answer:?}");
            std::thread::sleep(Duration::from_millis(20));
        }
    }
}
