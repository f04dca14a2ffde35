//! Every sample is a process of its own, so that no contender inherits another's heap, threads or timers, and one that
//! hangs can be ended. So is the load generator, which a sample of a server starts.

use crate::load::{self, Load};
use crate::measure::{Sample, Scale};
use crate::suite::Suite;
use std::io::{Read, Write};
use std::process::{Child, Command, ExitCode, Stdio};
use std::sync::mpsc::{self, Receiver};
use std::thread;
use std::time::Duration;

/// First argument of a process that is to take one sample. Not for people.
pub const SAMPLE_COMMAND: &str = "__sample";

/// First argument of a process that is to generate load. Not for people.
pub const LOAD_COMMAND: &str = "__load";

/// The parent's side: takes one sample in a new process.
pub fn sample(
    contender: &str,
    case: &str,
    scale: Scale,
    limit: Duration,
) -> Result<Sample, String> {
    let mut command = own_program()?;
    command.args([SAMPLE_COMMAND, contender, case]);
    if scale == Scale::Quick {
        command.arg("--quick");
    }
    run_for_sample(command, limit)
}

/// The side of a server's process: has a load put on it by a new process.
pub fn put_load(load: &Load, limit: Duration) -> Result<Sample, String> {
    let mut command = own_program()?;
    command.arg(LOAD_COMMAND).arg(serde_json::to_string(load).expect("a load is plain data"));
    run_for_sample(command, limit)
}

fn own_program() -> Result<Command, String> {
    match std::env::current_exe() {
        Ok(path) => Ok(Command::new(path)),
        Err(e) => Err(format!("own program not found: {e}")),
    }
}

fn run_for_sample(command: Command, limit: Duration) -> Result<Sample, String> {
    let stdout = run_within(command, limit)?;
    serde_json::from_str(&stdout).map_err(|e| format!("sample not understood: {e}"))
}

/// The child's side: takes the sample and writes it to standard output.
pub fn serve_sample(suite: &Suite, contender: &str, case: &str, scale: Scale) -> ExitCode {
    let Some(case) = suite.contender(contender).and_then(|found| found.case(case)) else {
        eprintln!("{contender} has no case {case}");
        return ExitCode::from(2);
    };
    write_sample(&(case.run)(scale));
    // At once: what is left alive (threads, idle tasks) is not worth the time to take it down.
    std::process::exit(0)
}

/// The load generator's side.
pub fn serve_load(load: &str) -> Result<ExitCode, String> {
    let load = serde_json::from_str(load).map_err(|e| format!("load not understood: {e}"))?;
    write_sample(&load::run(&load).map_err(|e| format!("load not put on the server: {e}"))?);
    Ok(ExitCode::SUCCESS)
}

fn write_sample(sample: &Sample) {
    let mut stdout = std::io::stdout().lock();
    serde_json::to_writer(&mut stdout, sample).expect("a sample is plain data");
    stdout.flush().expect("the parent reads the sample");
}

/// Runs a program to its end or to its time limit, whichever comes first, and gives what it wrote.
pub fn run_within(mut command: Command, limit: Duration) -> Result<String, String> {
    let mut child = command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(|e| format!("not started: {e}"))?;
    let stdout = read_to_end(child.stdout.take().expect("stdout is piped"));
    let stderr = read_to_end(child.stderr.take().expect("stderr is piped"));
    // The end of its output is the end of the child. Blocked reads rather than polling: with few CPUs, a parent that
    // wakes up now and then would show in the figures.
    let in_time = stdout.recv_timeout(limit);
    if in_time.is_err() {
        end(&mut child);
    }
    let status = child.wait().map_err(|e| format!("lost: {e}"))?;
    let last_words = first_lines(&stderr.recv().unwrap_or_default());
    match in_time {
        Err(_) => Err(format!("not done within {} s {last_words}", limit.as_secs_f64())),
        Ok(_) if !status.success() => Err(format!("{status} {last_words}")),
        Ok(written) => Ok(written),
    }
}

fn end(child: &mut Child) {
    // Fails only when the child has ended by itself meanwhile.
    let _ = child.kill();
}

fn read_to_end(mut pipe: impl Read + Send + 'static) -> Receiver<String> {
    let (whole, received) = mpsc::channel();
    thread::spawn(move || {
        let mut bytes = Vec::new();
        // What came before a failed read is still worth showing.
        let _ = pipe.read_to_end(&mut bytes);
        let _ = whole.send(String::from_utf8_lossy(&bytes).into_owned());
    });
    received
}

/// Enough of an error output for a note: where a panic was, and its message.
fn first_lines(stderr: &str) -> String {
    let lines: Vec<&str> = stderr.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    lines[..lines.len().min(2)].join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Instant;

    fn shell(script: &str) -> Command {
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        command
    }

    #[test]
    fn gives_what_the_program_wrote() {
        let written = run_within(shell("echo figures; echo chatter >&2"), Duration::from_secs(60));
        assert_eq!(written.as_deref(), Ok("figures\n"));
    }

    #[test]
    fn tells_why_a_program_failed() {
        let why =
            run_within(shell("echo broken >&2; exit 3"), Duration::from_secs(60)).unwrap_err();
        assert!(why.contains('3') && why.contains("broken"), "{why}");
    }

    #[test]
    fn ends_a_program_that_hangs() {
        let begun = Instant::now();
        // exec: the sleep itself must be the child, or it would keep the pipes open after the shell has gone.
        let why = run_within(shell("echo stuck >&2; exec sleep 600"), Duration::from_millis(200));
        assert!(why.unwrap_err().contains("not done within 0.2 s stuck"));
        assert!(begun.elapsed() < Duration::from_secs(300));
    }
}
