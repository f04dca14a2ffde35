//! Another process that takes CPU time from the process of a sample, or stops it.
//!
//! The sample starts it and holds the other end of its standard input. The process ends when that
//! end is closed, which the kernel does if the sample is killed, and after [`LIFETIME`] in any
//! case.

use crate::child;
use crate::os;
use serde::{Deserialize, Serialize};
use std::io::{self, BufRead, BufReader, Read, Write};
use std::process::{Child, ExitCode, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// The first argument of a process that disturbs a sample. Internal.
pub const DISTURB_COMMAND: &str = "__disturb";

/// Longer than any sample.
const LIFETIME: Duration = Duration::from_secs(30);

/// How often the process of the sample is stopped, and for how long.
const STOPS_EVERY: Duration = Duration::from_millis(50);
const STOP_TAKES: Duration = Duration::from_millis(10);

#[derive(Clone, Copy, Serialize, Deserialize)]
pub enum Disturbance {
    /// This many threads that never sleep.
    BusyThreads(usize),
    /// Stops the process with this number and continues it, again and again. It must be the parent.
    Stops { pid: u32 },
}

/// A running process that disturbs this one. It ends when this is dropped.
pub struct Disturber {
    process: Child,
}

impl Disturber {
    /// Starts the process, and returns when it disturbs this one.
    pub fn start(disturbance: Disturbance) -> Result<Disturber, String> {
        let kind = serde_json::to_string(&disturbance).expect("a disturbance is plain data");
        let process = child::own_program()?
            .args([DISTURB_COMMAND, &kind])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .map_err(|e| format!("cannot start the process that disturbs this one: {e}"))?;
        // Created first, so that the process ends if it does not start as it should.
        let mut disturber = Disturber { process };
        let stdout = disturber.process.stdout.take().expect("stdout is piped");
        match BufReader::new(stdout).read_line(&mut String::new()) {
            Ok(1..) => Ok(disturber),
            _ => Err("the process that disturbs this one has not started".into()),
        }
    }
}

impl Drop for Disturber {
    fn drop(&mut self) {
        // Asks it to end. It is not killed, because it might just have stopped this process, which
        // nothing would continue then.
        drop(self.process.stdin.take());
        self.process.wait().expect("the process is a child that has not been waited for");
    }
}

/// Disturbs the parent until standard input ends. Called in the process of a [`Disturber`].
pub fn serve(disturbance: &str) -> Result<ExitCode, String> {
    let disturbance = serde_json::from_str(disturbance)
        .map_err(|e| format!("cannot parse the disturbance: {e}"))?;
    disturb(disturbance).map_err(|e| format!("cannot disturb the parent: {e}"))?;
    Ok(ExitCode::SUCCESS)
}

fn disturb(disturbance: Disturbance) -> io::Result<()> {
    let ended = until_stdin_ends();
    match disturbance {
        Disturbance::BusyThreads(threads) => {
            let busy: Vec<_> = (0..threads).map(|_| thread::spawn(keep_busy(&ended))).collect();
            announce()?;
            for thread in busy {
                thread.join().expect("a busy thread does not panic");
            }
            Ok(())
        }
        Disturbance::Stops { pid } => {
            announce()?;
            stop_parent(pid, &ended)
        }
    }
}

fn until_stdin_ends() -> Arc<AtomicBool> {
    let ended = Arc::new(AtomicBool::new(false));
    let flag = ended.clone();
    thread::spawn(move || {
        // A failed read is an end, too.
        let _ = io::stdin().lock().read_to_end(&mut Vec::new());
        flag.store(true, Ordering::Relaxed);
    });
    ended
}

fn announce() -> io::Result<()> {
    let mut stdout = io::stdout().lock();
    writeln!(stdout, "started")?;
    stdout.flush()
}

fn keep_busy(ended: &Arc<AtomicBool>) -> impl FnOnce() + Send + 'static {
    let (ended, begun) = (ended.clone(), Instant::now());
    move || {
        while !ended.load(Ordering::Relaxed) && begun.elapsed() < LIFETIME {
            std::hint::spin_loop();
        }
    }
}

fn stop_parent(pid: u32, ended: &AtomicBool) -> io::Result<()> {
    let begun = Instant::now();
    loop {
        thread::sleep(STOPS_EVERY - STOP_TAKES);
        // If the parent has ended, this process has another parent, and the number may be that of
        // another process.
        let is_over = ended.load(Ordering::Relaxed) || os::parent() != pid;
        if is_over || begun.elapsed() > LIFETIME {
            return Ok(());
        }
        os::stop_for(pid, STOP_TAKES)?;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_busy_thread_ends_when_told() {
        let ended = Arc::new(AtomicBool::new(false));
        let thread = thread::spawn(keep_busy(&ended));
        thread::sleep(Duration::from_millis(10));
        assert!(!thread.is_finished());
        ended.store(true, Ordering::Relaxed);
        thread.join().unwrap();
    }
}
