//! Child processes. Each sample runs in its own process, so that no contender inherits heap,
//! threads or timers of another, and so that a hung sample can be killed. The load generator is
//! another process, which the sample of a server starts.

use crate::cpu_group::{self, CpuGroup};
use crate::load::{self, Load};
use crate::measure::{Sample, Scale};
use crate::suite::Suite;
use std::io::{Read, Write};
use std::process::{Child, Command, ExitCode, Stdio};
use std::sync::mpsc::{self, Receiver};
use std::thread;
use std::time::Duration;

/// The first argument of a process that takes one sample. Internal.
pub const SAMPLE_COMMAND: &str = "__sample";

/// The first argument of a process that generates load. Internal.
pub const LOAD_COMMAND: &str = "__load";

/// A sample to take.
pub struct SampleRequest<'a> {
    pub contender: &'a str,
    pub case: &'a str,
    pub scale: Scale,
    pub workers: usize,
    pub has_quota: bool,
}

/// Takes one sample in a new process. Called in the parent.
pub fn sample(request: &SampleRequest, limit: Duration) -> Result<Sample, String> {
    let mut command = own_program()?;
    // Removed at the end of this function, when the process has ended.
    let group = if request.has_quota { Some(CpuGroup::make()?) } else { None };
    if let Some(group) = &group {
        group.admit(&mut command).map_err(|e| format!("cannot limit the CPU time: {e}"))?;
    }
    command.args([SAMPLE_COMMAND, request.contender, request.case]);
    command.args(["--workers", &request.workers.to_string()]);
    if request.scale == Scale::Quick {
        command.arg("--quick");
    }
    run_for_sample(command, limit)
}

/// Generates load on this process with a new process. Called in a server's process.
pub fn put_load(load: &Load, limit: Duration) -> Result<Sample, String> {
    let mut command = own_program()?;
    command.arg(LOAD_COMMAND).arg(serde_json::to_string(load).expect("a load is plain data"));
    run_for_sample(command, limit)
}

/// Returns a command that runs this program.
pub fn own_program() -> Result<Command, String> {
    match std::env::current_exe() {
        Ok(path) => Ok(Command::new(path)),
        Err(e) => Err(format!("cannot find the path of this program: {e}")),
    }
}

fn run_for_sample(command: Command, limit: Duration) -> Result<Sample, String> {
    let stdout = run_within(command, limit)?;
    serde_json::from_str(&stdout)
        .map_err(|e| format!("cannot parse the sample of the child process: {e}"))
}

/// Takes the sample and prints it to standard output. Called in the child.
pub fn serve_sample(suite: &Suite, contender: &str, case: &str, scale: Scale) -> ExitCode {
    let Some(case) = suite.contender(contender).and_then(|found| found.case(case)) else {
        eprintln!("{contender} has no case {case}");
        return ExitCode::from(2);
    };
    write_sample(&(case.run)(scale));
    // Exits at once: taking down threads and idle tasks that are still alive would only cost time.
    std::process::exit(0)
}

/// Generates load and prints the measurements. Called in the load generator's process.
pub fn serve_load(load: &str) -> Result<ExitCode, String> {
    cpu_group::leave().map_err(|e| format!("cannot leave the CPU quota of the server: {e}"))?;
    let load = serde_json::from_str(load).map_err(|e| format!("cannot parse the load: {e}"))?;
    write_sample(
        &load::run(&load).map_err(|e| format!("cannot generate load on the server: {e}"))?,
    );
    Ok(ExitCode::SUCCESS)
}

fn write_sample(sample: &Sample) {
    let mut stdout = std::io::stdout().lock();
    serde_json::to_writer(&mut stdout, sample).expect("a sample is plain data");
    stdout.flush().expect("the parent reads the sample");
}

/// Runs a program until it ends or reaches the time limit, and returns its output.
pub fn run_within(mut command: Command, limit: Duration) -> Result<String, String> {
    let mut child = command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(|e| format!("cannot start the child process: {e}"))?;
    let stdout = read_to_end(child.stdout.take().expect("stdout is piped"));
    let stderr = read_to_end(child.stderr.take().expect("stderr is piped"));
    // The end of the output is the end of the child. Blocking reads, because a parent that polled
    // would show in the measurements of a machine with few CPUs.
    let in_time = stdout.recv_timeout(limit);
    if in_time.is_err() {
        end(&mut child);
    }
    let status = child.wait().map_err(|e| format!("lost: {e}"))?;
    let last_words = first_lines(&stderr.recv().unwrap_or_default());
    match in_time {
        Err(_) => Err(format!("not finished within {} s {last_words}", limit.as_secs_f64())),
        Ok(_) if !status.success() => Err(format!("{status} {last_words}")),
        Ok(written) => Ok(written),
    }
}

fn end(child: &mut Child) {
    // Fails only if the child has ended already.
    let _ = child.kill();
}

fn read_to_end(mut pipe: impl Read + Send + 'static) -> Receiver<String> {
    let (whole, received) = mpsc::channel();
    thread::spawn(move || {
        let mut bytes = Vec::new();
        // The output up to a failed read is still useful.
        let _ = pipe.read_to_end(&mut bytes);
        let _ = whole.send(String::from_utf8_lossy(&bytes).into_owned());
    });
    received
}

/// Returns the start of an error output: enough to show the place of a panic and its message.
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
    fn returns_the_output_of_the_program() {
        let written = run_within(shell("echo figures; echo chatter >&2"), Duration::from_secs(60));
        assert_eq!(written.as_deref(), Ok("figures\n"));
    }

    #[test]
    fn reports_why_a_program_failed() {
        let why =
            run_within(shell("echo broken >&2; exit 3"), Duration::from_secs(60)).unwrap_err();
        assert!(why.contains('3') && why.contains("broken"), "{why}");
    }

    #[test]
    fn kills_a_program_that_hangs() {
        let begun = Instant::now();
        // `exec` makes the sleep the child itself. Otherwise it would keep the pipes open after the
        // shell is killed.
        let why = run_within(shell("echo stuck >&2; exec sleep 600"), Duration::from_millis(200));
        assert!(why.unwrap_err().contains("not finished within 0.2 s stuck"));
        assert!(begun.elapsed() < Duration::from_secs(300));
    }
}
