//! Runs the programs of this package for its tests, asks them for dumps, and reads these.
//!
//! Linux only: it reads `/proc` to find out when a program has come to rest.

#![cfg(target_os = "linux")]

use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::thread;
use std::time::{Duration, Instant};

/// No program takes longer for anything, even on a busy machine. Only a failing test waits so long.
pub const LIMIT: Duration = Duration::from_secs(60);

/// How long output is waited for after the end of a program. It is there at once, unless a child of
/// the program keeps the stream open.
const FORKED_MAX: Duration = Duration::from_secs(2);

/// The first line of a dump begins with this.
pub const DUMP_BEGINS: &str = "== wakeful ";

/// The last line of a dump.
pub const DUMP_ENDS: &str = "== end ==";

/// The line before the verdicts.
const VERDICTS_BEGIN: &str = "What hangs:";

/// The line instead of verdicts.
const NO_VERDICTS: &str = "Nothing is known to hang.";

/// The line before the places of what the verdicts name.
const PLACES_BEGIN: &str = "Where that is:";

/// The variable that switches the console on.
pub const CONSOLE: &str = "WAKEFUL_CONSOLE";

/// The variable with the path of the file for dumps.
pub const DUMP_PATH: &str = "WAKEFUL_DUMP";

/// The name of the console's thread.
pub const CONSOLE_THREAD: &str = "wakeful-console";

/// A running program. It is killed when this is dropped.
pub struct Program {
    child: Child,
    input: Option<ChildStdin>,
    /// The program's standard output.
    pub output: Lines,
    /// The program's standard error.
    pub errors: Lines,
}

/// A dump as it was read.
pub struct Dump {
    /// The lines from [`DUMP_BEGINS`] to [`DUMP_ENDS`].
    pub lines: Vec<String>,
    /// The time from the signal to the verdicts, which are printed together.
    pub took: Duration,
    /// The time from the signal to the last line.
    pub took_in_all: Duration,
}

impl Dump {
    /// Returns the verdicts, and where their members wait, without what differs from run to run.
    /// `None` if the dump says that nothing is known to hang. Fails if the dump says neither.
    pub fn verdicts(&self) -> Option<String> {
        let verdicts = self.section(VERDICTS_BEGIN);
        if self.lines.iter().any(|line| line == NO_VERDICTS) {
            assert!(verdicts.is_none(), "it hangs, and does not:\n{}", self.lines.join("\n"));
            return None;
        }
        let (Some(verdicts), Some(places)) = (verdicts, self.section(PLACES_BEGIN)) else {
            panic!("nothing is said about what hangs:\n{}", self.lines.join("\n"));
        };
        assert!(verdicts[0].starts_with("  1. "), "no verdict:\n{}", self.lines.join("\n"));
        let parts = [(VERDICTS_BEGIN, verdicts), (PLACES_BEGIN, places)];
        let parts = parts.map(|(title, lines)| {
            let lines: Vec<String> = lines.iter().map(|line| normalise(line)).collect();
            format!("{title}\n{}\n", lines.join("\n"))
        });
        Some(parts.join("\n"))
    }

    /// Returns the part between the first line and the verdicts or the lack of them: how many tasks
    /// there are, and what is not known.
    pub fn head(&self) -> String {
        let lines = self.lines.iter().skip(1).take_while(|line| !line.is_empty());
        lines.map(|line| format!("{line}\n")).collect()
    }

    /// Returns the lines after a title, up to an empty line.
    fn section(&self, title: &str) -> Option<&[String]> {
        let start = self.lines.iter().position(|line| line == title)? + 1;
        let len = self.lines[start..].iter().position(String::is_empty)?;
        (len > 0).then_some(&self.lines[start..start + len])
    }
}

impl Program {
    /// Starts a program, and waits until it prints `ready`.
    ///
    /// `path` is the program `hung`, which only tests know. `variables` are those of Wakeful; the
    /// program has no others of them.
    pub fn start(path: &str, arguments: &[&str], variables: &[(&str, &str)]) -> Program {
        let program = Program::spawn(Command::new(path).args(arguments), variables);
        program.output.wait_until("ready", |lines| lines.iter().any(|line| line == "ready"));
        program
    }

    /// Starts a command, without waiting for anything.
    pub fn spawn(command: &mut Command, variables: &[(&str, &str)]) -> Program {
        for (name, _) in std::env::vars().filter(|(name, _)| name.starts_with("WAKEFUL_")) {
            command.env_remove(name);
        }
        // Processes that a shell starts in the background inherit the signal as ignored.
        let reset_sigquit = || {
            // SAFETY: `signal` is async-signal-safe and accesses no memory of this process.
            unsafe { libc::signal(libc::SIGQUIT, libc::SIG_DFL) };
            Ok(())
        };
        // SAFETY: code between fork and exec may only do what is async-signal-safe: the closure
        // makes one such call, and neither allocates nor locks.
        unsafe { command.pre_exec(reset_sigquit) };
        let mut child = command
            .env_remove("RUST_BACKTRACE")
            // Stacks have paths that are relative to it, and so do the sites of spawns.
            .current_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))
            .envs(variables.iter().copied())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap_or_else(|error| panic!("cannot start {command:?}: {error}"));
        let input = child.stdin.take();
        let output = Lines::of(child.stdout.take().expect("it is piped"));
        let errors = Lines::of(child.stderr.take().expect("it is piped"));
        Program { child, input, output, errors }
    }

    /// The process id.
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// Sends a signal to the program.
    pub fn signal(&self, number: i32) {
        // SAFETY: `kill` accesses no memory of this process. The child has not been waited for
        // unless it has ended, so the id is still its own.
        let result = unsafe { libc::kill(self.child.id() as i32, number) };
        assert_eq!(result, 0, "cannot send a signal");
    }

    /// Sends a signal to the program's process group, as a terminal does. The program must have been
    /// started in a group of its own.
    pub fn signal_group(&self, number: i32) {
        // SAFETY: as in `signal`.
        let result = unsafe { libc::kill(-(self.child.id() as i32), number) };
        assert_eq!(result, 0, "cannot send a signal to the group");
    }

    /// Closes the program's standard input.
    pub fn close_input(&mut self) {
        self.input = None;
    }

    /// Returns how the program ended, if it has. Then all that it has printed is there.
    pub fn try_status(&mut self) -> Option<ExitStatus> {
        let status = self.child.try_wait().expect("the child is ours");
        if status.is_some() {
            self.output.wait_for_end();
            self.errors.wait_for_end();
        }
        status
    }

    /// Waits for the end of the program.
    pub fn status(&mut self) -> ExitStatus {
        let started = Instant::now();
        loop {
            if let Some(status) = self.try_status() {
                return status;
            }
            assert!(started.elapsed() < LIMIT, "no end after {LIMIT:?}\n{}", self.said());
            thread::sleep(Duration::from_millis(10));
        }
    }

    /// Fails if the program has ended.
    pub fn assert_alive(&mut self) {
        if let Some(status) = self.try_status() {
            panic!("ended with {status}\n{}", self.said());
        }
    }

    /// Waits until no thread of the program has run for 100 ms, or until the program has been busy
    /// for two seconds: then it spins, or is never done.
    pub fn wait_until_settled(&self) {
        let started = Instant::now();
        let mut last = (self.activity(), Instant::now());
        while last.1.elapsed() < Duration::from_millis(100)
            && started.elapsed() < Duration::from_secs(2)
        {
            thread::sleep(Duration::from_millis(10));
            let activity = self.activity();
            if activity != last.0 || activity.is_running {
                last = (activity, Instant::now());
            }
        }
    }

    /// Sends SIGQUIT and waits for the dump on standard error.
    pub fn dump(&self) -> Dump {
        let seen = self.errors.get().len();
        let started = Instant::now();
        self.signal(libc::SIGQUIT);
        let wait_for = |what: &[&str]| {
            self.errors.wait_until(what[0], |lines| {
                lines[seen..].iter().any(|line| what.contains(&line.as_str()))
            })
        };
        wait_for(&[VERDICTS_BEGIN, NO_VERDICTS]);
        let took = started.elapsed();
        let lines = wait_for(&[DUMP_ENDS]);
        let took_in_all = started.elapsed();
        let lines = lines[seen..].iter().skip_while(|line| !line.starts_with(DUMP_BEGINS));
        Dump { lines: lines.cloned().collect(), took, took_in_all }
    }

    /// What the program has printed so far, for messages.
    pub fn said(&self) -> String {
        format!(
            "--- output\n{}\n--- errors\n{}",
            self.output.get().join("\n"),
            self.errors.get().join("\n")
        )
    }

    /// Returns the names of the program's threads.
    pub fn threads(&self) -> Vec<String> {
        let name = |task: &Path| fs::read_to_string(task.join("comm")).unwrap_or_default();
        self.tasks().map(|task| name(&task).trim().to_owned()).collect()
    }

    fn tasks(&self) -> impl Iterator<Item = PathBuf> {
        let tasks = fs::read_dir(format!("/proc/{}/task", self.id())).expect("the child is ours");
        tasks.flatten().map(|task| task.path())
    }

    fn activity(&self) -> Activity {
        let mut activity = Activity { turns: 0, is_running: false };
        for task in self.tasks() {
            let read = |file| fs::read_to_string(task.join(file)).unwrap_or_default();
            let turns = read("schedstat").split(' ').nth(2).and_then(|n| n.trim().parse().ok());
            activity.turns += turns.unwrap_or(0);
            // The state is the letter behind the name, which is in parentheses.
            activity.is_running |= read("stat")
                .rsplit(") ")
                .next()
                .is_some_and(|rest| rest.starts_with('R') || rest.starts_with('D'));
        }
        activity
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        // Fails if the program has ended.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// What the threads of a program have done.
#[derive(PartialEq, Eq)]
struct Activity {
    /// How often they have been given a CPU.
    turns: u64,
    /// One of them has a CPU, or waits for one.
    is_running: bool,
}

/// The lines that a program has printed. A thread reads them, so that the program never waits.
pub struct Lines {
    printed: Arc<Printed>,
}

#[derive(Default)]
struct Printed {
    lines: Mutex<Vec<String>>,
    has_more: Condvar,
    /// The stream has ended. Written and read with the lock of `lines`.
    has_ended: AtomicBool,
}

impl Printed {
    fn lines(&self) -> MutexGuard<'_, Vec<String>> {
        self.lines.lock().expect("no thread panics with the lock")
    }
}

impl Lines {
    fn of(stream: impl Read + Send + 'static) -> Lines {
        let printed = Arc::new(Printed::default());
        let reader = printed.clone();
        // Ends with the stream.
        thread::spawn(move || {
            for line in BufReader::new(stream).split(b'\n') {
                let Ok(line) = line else { break };
                reader.lines().push(String::from_utf8_lossy(&line).into_owned());
                reader.has_more.notify_all();
            }
            let _lines = reader.lines();
            reader.has_ended.store(true, SeqCst);
            reader.has_more.notify_all();
        });
        Lines { printed }
    }

    /// Waits until the stream has ended. A child that the program has forked may keep it open, so
    /// this does not wait for long.
    fn wait_for_end(&self) {
        let has_ended = || self.printed.has_ended.load(SeqCst);
        let lines = self.printed.lines();
        let waited = self.printed.has_more.wait_timeout_while(lines, FORKED_MAX, |_| !has_ended());
        drop(waited.expect("no thread panics with the lock"));
    }

    /// Returns the lines so far.
    pub fn get(&self) -> Vec<String> {
        self.printed.lines().clone()
    }

    /// Returns how many lines are `line`.
    pub fn count(&self, line: &str) -> usize {
        self.printed.lines().iter().filter(|printed| *printed == line).count()
    }

    /// Waits until `is_there` finds in the lines what it looks for, and returns the lines. `what` is
    /// for the message if that takes too long.
    pub fn wait_until(&self, what: &str, is_there: impl Fn(&[String]) -> bool) -> Vec<String> {
        let lines = self.printed.lines();
        let (lines, waited) = self
            .printed
            .has_more
            .wait_timeout_while(lines, LIMIT, |lines| !is_there(lines))
            .expect("no thread panics with the lock");
        assert!(!waited.timed_out(), "no {what:?} after {LIMIT:?}\n{}", lines.join("\n"));
        lines.clone()
    }
}

/// Replaces what differs from run to run: times, and numbers that the operating system gives out.
///
/// - A number with a unit of time behind it (`1.5 ms`, `20 s`) becomes `TIME`.
/// - The number in `process 123`, `thread 123`, `descriptor 9` becomes `N`, and so does that of a
///   worker, as it depends on the scheduler.
/// - So do the counts of polls.
/// - A thread whose worker another one has taken over has "blocked its thread": as above.
pub fn normalise(line: &str) -> String {
    let mut words: Vec<String> = line.split(' ').map(str::to_owned).collect();
    for at in 0..words.len() {
        let is_inside = |c: char| c.is_ascii_alphanumeric() || c == '"';
        let bare = |word: Option<&String>| -> String {
            word.map_or("", |word| word.trim_matches(|c: char| !is_inside(c))).to_owned()
        };
        let before = at.checked_sub(1).map_or(String::new(), |before| bare(words.get(before)));
        let (word, after) = (bare(words.get(at)), bare(words.get(at + 1)));
        let is_number =
            |word: &str| !word.is_empty() && word.chars().all(|c| c.is_ascii_digit() || c == '.');
        if !is_number(&word) {
            continue;
        }
        if matches!(after.as_str(), "ns" | "us" | "µs" | "ms" | "s" | "min") {
            words[at] = words[at].replace(&word, "TIME");
            words[at + 1] = words[at + 1].replacen(&after, "", 1);
        } else if matches!(before.as_str(), "process" | "thread" | "descriptor" | "worker")
            || after == "polls"
        {
            words[at] = words[at].replace(&word, "N");
        }
    }
    // The place of a unit is left with what was behind it.
    let line = words.join(" ").replace("TIME ", "TIME");
    line.replace("has blocked its thread for", "has blocked worker N for")
}
