//! Runs a case in a child process and records the outcome.

use crate::cases::Case;
use crate::report::{Event, Phase};
use crate::workload::Outcome;
use std::fmt::Write;
use std::fs;
use std::io::{self, BufRead, BufReader, Read};
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::thread;
use std::time::Duration;
use wakeful_torture::rng::Rng;

/// The child hangs if it reports nothing for this long.
const SILENCE: Duration = Duration::from_secs(12);

/// How a child ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum End {
    /// It exited with success after its last report.
    Done,
    /// It exited earlier, with this status.
    Code(i32),
    Signal(i32),
    /// It hung in this operation and was killed. Contains the state of its threads.
    Hang(String, String),
}

/// The outcome of a case.
pub struct Run {
    pub outcomes: Vec<(Phase, String, Outcome)>,
    /// The operation that began last.
    pub last: String,
    pub end: End,
    pub stderr: String,
    pub hand_offs: u64,
    /// How often the parent stopped the child.
    pub stops: u64,
}

/// Runs a case.
///
/// # Errors
/// Returns an error if the child process cannot be started or waited for.
pub fn run(case: &Case) -> io::Result<Run> {
    let mut child = Command::new(std::env::current_exe()?)
        .args(["--child", &case.name])
        .env("RUST_BACKTRACE", "0")
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()?;
    let lines = lines_of(child.stdout.take().expect("it is piped"));
    let mut stderr = child.stderr.take().expect("it is piped");
    let errors = thread::spawn(move || {
        let mut bytes = Vec::new();
        // If the read fails, the text is incomplete, which the finding shows.
        let _ = stderr.read_to_end(&mut bytes);
        String::from_utf8_lossy(&bytes).into_owned()
    });
    let mut run = Run {
        outcomes: Vec::new(),
        last: "start".to_owned(),
        end: End::Done,
        stderr: String::new(),
        hand_offs: 0,
        stops: 0,
    };
    let mut folder = None;
    run.follow(&mut child, &lines, &mut folder)?;
    run.stderr = errors.join().unwrap_or_default();
    if let Some(folder) = folder {
        // The folder does not exist if the child could not create it.
        let _ = fs::remove_dir_all(folder);
    }
    Ok(run)
}

fn lines_of(stdout: ChildStdout) -> Receiver<Event> {
    let (sender, receiver) = mpsc::channel();
    thread::spawn(move || {
        for line in BufReader::new(stdout).lines().map_while(Result::ok) {
            let Some(event) = Event::parse(&line) else { continue };
            if sender.send(event).is_err() {
                return;
            }
        }
    });
    receiver
}

impl Run {
    fn follow(
        &mut self,
        child: &mut Child,
        lines: &Receiver<Event>,
        folder: &mut Option<String>,
    ) -> io::Result<()> {
        let mut stops: Option<Stops> = None;
        let mut is_done = false;
        loop {
            match lines.recv_timeout(SILENCE) {
                Ok(Event::Folder(name)) => *folder = Some(name),
                Ok(Event::Begun(name)) => self.last = name,
                Ok(Event::Outcome(phase, name, outcome)) => {
                    self.outcomes.push((phase, name, outcome));
                }
                Ok(Event::StopsWanted(true)) => stops = Some(Stops::start(child.id())),
                Ok(Event::StopsWanted(false)) => {
                    self.stops += stops.take().map_or(0, Stops::end);
                }
                Ok(Event::HandOffs(count)) => self.hand_offs = count,
                Ok(Event::Done) => {
                    // Does not wait for the end of the output: a process that the child could not
                    // kill may keep the pipe open.
                    is_done = true;
                    break;
                }
                Err(RecvTimeoutError::Timeout) => {
                    self.end = End::Hang(self.last.clone(), threads_of(child.id()));
                    child.kill()?;
                    child.wait()?;
                    return Ok(());
                }
                Err(RecvTimeoutError::Disconnected) => break,
            }
        }
        drop(stops);
        let status = child.wait()?;
        self.end = match (status.code(), status.signal()) {
            (Some(0), _) if is_done => End::Done,
            (Some(code), _) => End::Code(code),
            (None, signal) => End::Signal(signal.unwrap_or_default()),
        };
        Ok(())
    }
}

/// A thread that stops and continues a process every few milliseconds.
struct Stops {
    is_over: Arc<AtomicBool>,
    thread: thread::JoinHandle<u64>,
}

impl Stops {
    fn start(process: u32) -> Stops {
        let is_over = Arc::new(AtomicBool::new(false));
        let over = is_over.clone();
        let thread = thread::spawn(move || {
            let mut rng = Rng::new(process.into());
            let mut count = 0;
            while !over.load(Relaxed) {
                for signal in [libc::SIGSTOP, libc::SIGCONT] {
                    // SAFETY: takes numbers. The child has not been waited for, so the id has not
                    // been reused.
                    unsafe { libc::kill(process as i32, signal) };
                    thread::sleep(Duration::from_micros(200 + rng.below(4_000) as u64));
                }
                count += 1;
            }
            count
        });
        Stops { is_over, thread }
    }

    /// Ends the thread. Returns how often it stopped the process.
    fn end(self) -> u64 {
        self.is_over.store(true, Relaxed);
        self.thread.join().unwrap_or_default()
    }
}

/// Returns the name of each thread of a process and the system call it is in.
fn threads_of(process: u32) -> String {
    let mut text = String::new();
    for entry in fs::read_dir(format!("/proc/{process}/task")).into_iter().flatten().flatten() {
        let read = |name: &str| fs::read_to_string(entry.path().join(name)).unwrap_or_default();
        let (name, call) = (read("comm"), read("syscall"));
        let call = call.split(' ').next().unwrap_or_default();
        // Writing to a `String` does not fail.
        let _ = write!(text, "[{} in call {}] ", name.trim(), call.trim());
    }
    text
}
