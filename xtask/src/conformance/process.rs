//! Runs each test in its own process, so that a test that hangs or aborts does not affect others.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use super::build::Built;
use super::outcome::{FileOutcome, Outcome, Outcomes};

/// The number of lines kept of a failed test's output.
const KEPT_LINES_MAX: usize = 20;

struct Job {
    file: String,
    binary: PathBuf,
    test: String,
}

/// Runs all tests of `built` in the folder `dir`, as many at a time as there are CPUs. Leaves out a file
/// if `skips(file, None)`, and a test if `skips(file, Some(test))`.
pub fn run_all(
    dir: &Path,
    built: Built,
    time_limit: Duration,
    skips: &dyn Fn(&str, Option<&str>) -> bool,
) -> Result<Outcomes, String> {
    let mut outcomes = Outcomes::default();
    let mut jobs = Vec::new();
    let built = built.into_iter().filter(|(file, _)| !skips(file, None));
    for (file, result) in built {
        let outcome = match result {
            Err(error) => FileOutcome::DoesNotCompile(error),
            Ok(binary) => {
                let tests = tests_in(&binary)?.into_iter();
                for test in tests.filter(|test| !skips(&file, Some(test))) {
                    jobs.push(Job { file: file.clone(), binary: binary.clone(), test });
                }
                FileOutcome::Ran(BTreeMap::new())
            }
        };
        outcomes.0.insert(file, outcome);
    }
    let runners = thread::available_parallelism().map_or(2, usize::from);
    let next = AtomicUsize::new(0);
    let finished = Mutex::new(Vec::new());
    thread::scope(|scope| {
        for runner in 0..runners {
            let (jobs, next, finished) = (&jobs, &next, &finished);
            scope.spawn(move || {
                let log = dir.join(format!("runner-{runner}.log"));
                while let Some(job) = jobs.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let outcome = run(job, dir, &log, time_limit);
                    finished.lock().expect("a runner panicked").push((job, outcome));
                }
            });
        }
    });
    for (job, outcome) in finished.into_inner().expect("a runner panicked") {
        if let Some(FileOutcome::Ran(tests)) = outcomes.0.get_mut(&job.file) {
            tests.insert(job.test.clone(), outcome?);
        }
    }
    Ok(outcomes)
}

/// Runs one test of `binary`.
pub fn run_one(
    file: &str,
    binary: &Path,
    test: &str,
    dir: &Path,
    time_limit: Duration,
) -> Result<Outcome, String> {
    let job = Job { file: file.to_owned(), binary: binary.to_owned(), test: test.to_owned() };
    run(&job, dir, &dir.join("runner-0.log"), time_limit)
}

fn tests_in(binary: &Path) -> Result<Vec<String>, String> {
    let output = Command::new(binary).args(["--list", "--format=terse"]).output();
    let output = output.map_err(|e| format!("cannot run {}: {e}", binary.display()))?;
    let listing = String::from_utf8_lossy(&output.stdout);
    Ok(listing.lines().filter_map(|line| line.strip_suffix(": test")).map(str::to_owned).collect())
}

fn run(job: &Job, dir: &Path, log: &Path, time_limit: Duration) -> Result<Outcome, String> {
    let child = start(job, dir, log)
        .map_err(|e| format!("cannot run {} of {}: {e}", job.test, job.binary.display()))?;
    let status = wait(child, time_limit);
    let said = fs::read(log).unwrap_or_default();
    let said = String::from_utf8_lossy(&said);
    Ok(match status {
        None => Outcome::Hung(end_of(&said)),
        Some(status) if !status.success() => {
            Outcome::Failed(format!("{}\n{status}", end_of(&said)))
        }
        Some(_) if said.contains("; 1 ignored;") => Outcome::Ignored,
        Some(_) if said.contains("test result: ok. 1 passed;") => Outcome::Passed,
        Some(_) => Outcome::Failed(format!("{}\nended without a result", end_of(&said))),
    })
}

fn start(job: &Job, dir: &Path, log: &Path) -> std::io::Result<Child> {
    let log = File::create(log)?;
    Command::new(&job.binary)
        .args(["--exact", &job.test, "--nocapture"])
        .current_dir(dir)
        // Not that of this program.
        .env("CARGO_MANIFEST_DIR", dir)
        .stdin(Stdio::null())
        .stdout(log.try_clone()?)
        .stderr(log)
        // Its own process group, so that child processes are killed with it.
        .process_group(0)
        .spawn()
}

/// Waits for the process. Returns `None` if it had to be killed at the time limit.
fn wait(mut child: Child, time_limit: Duration) -> Option<ExitStatus> {
    let deadline = Instant::now() + time_limit;
    let mut pause = Duration::from_millis(1);
    loop {
        if let Ok(Some(status)) = child.try_wait() {
            return Some(status);
        }
        if Instant::now() >= deadline {
            let group = format!("-{}", child.id());
            let _ = Command::new("kill").args(["-KILL", "--", &group]).status();
            let _ = child.kill();
            let _ = child.wait();
            return None;
        }
        thread::sleep(pause);
        pause = (pause * 2).min(Duration::from_millis(20));
    }
}

fn end_of(said: &str) -> String {
    let lines: Vec<&str> = said.trim().lines().collect();
    lines[lines.len().saturating_sub(KEPT_LINES_MAX)..].join("\n")
}
