//! Checks of the machine: system, Rust version, system calls, limits.
//!
//! The system calls are tried, since a sandbox may refuse what the kernel has. What a refusal means
//! for a program is in the guide, in the chapter on faults.

use std::env;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::thread;

use semver::Version;

use super::Finding;
use crate::drop_in::DropIn;
use crate::program::{host, rustc_says};

#[cfg(test)]
mod tests;

/// Below this limit a server with some thousand connections has no descriptors left.
const DESCRIPTORS_WANTED: u64 = 4096;

/// The worker threads, 512 blocking threads by default, and some for the rest of the program.
const THREADS_WANTED: u64 = 600;

pub fn check(drop_in: &DropIn) -> Vec<Finding> {
    let mut findings = vec![platform(), rust_version(drop_in)];
    findings.extend(system_calls());
    findings.extend(limits());
    findings.extend(cpus());
    findings
}

fn platform() -> Finding {
    let host = host().unwrap_or_else(|| env::consts::OS.to_owned());
    let release = fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    match env::consts::OS {
        "linux" => Finding::ok("system", format!("Linux {} ({host})", release.trim())),
        _ => Finding::note("system", format!("{host}: Wakeful is only tested on Linux"))
            .advice("Run your tests with `cargo wakeful test` before you rely on it."),
    }
}

fn rust_version(drop_in: &DropIn) -> Finding {
    let installed = rustc_says("release: ").and_then(|text| Version::parse(&text).ok());
    match (installed, &drop_in.rust_version) {
        (Some(rustc), Some(needed)) if is_older(&rustc, needed) => Finding::problem(
            "rust",
            format!("Rust {rustc} is too old: Wakeful needs {needed}"),
        )
        .advice(
            "Update it, as with `rustup update`, or select a newer one in rust-toolchain.toml.",
        ),
        (Some(rustc), _) => Finding::ok("rust", format!("Rust {rustc}")),
        (None, _) => Finding::problem("rust", "`rustc -vV` could not be run")
            .advice("Install Rust, or set RUSTC to the path of rustc."),
    }
}

/// Compares without the mark of a nightly or a beta version.
fn is_older(rustc: &Version, needed: &Version) -> bool {
    (rustc.major, rustc.minor, rustc.patch) < (needed.major, needed.minor, needed.patch)
}

/// A system call, how to try it, and what is missing without it.
struct Call {
    name: &'static str,
    try_it: fn() -> i64,
    is_needed: bool,
    without: &'static str,
    advice: &'static str,
}

const ALLOW: &str = "Allow it in the sandbox (seccomp profile), or update the kernel.";

const CALLS: &[Call] = &[
    Call {
        name: "epoll_create1",
        // SAFETY: the call takes no pointer.
        try_it: || close(unsafe { libc::syscall(libc::SYS_epoll_create1, libc::EPOLL_CLOEXEC) }),
        is_needed: true,
        without: "a runtime with I/O cannot be built",
        advice: ALLOW,
    },
    Call {
        name: "eventfd",
        // SAFETY: the call takes no pointer.
        try_it: || close(unsafe { libc::syscall(libc::SYS_eventfd2, 0, libc::EFD_CLOEXEC) }),
        is_needed: true,
        without: "a runtime with I/O cannot be built",
        advice: ALLOW,
    },
    Call {
        name: "membarrier",
        try_it: membarrier,
        is_needed: false,
        without: "workers use full memory fences instead, which take longer",
        advice: "Linux 4.14 has the command PRIVATE_EXPEDITED. In a sandbox, allow `membarrier`.",
    },
    Call {
        name: "timerfd_create",
        try_it: timerfd_create,
        is_needed: false,
        without: "the driver waits with timeouts instead",
        advice: ALLOW,
    },
    Call {
        name: "epoll_pwait2",
        try_it: epoll_pwait2,
        is_needed: false,
        without: "without a `timerfd` too, short sleeps end up to 1 ms late",
        advice: ALLOW,
    },
    Call {
        name: "pidfd_open",
        // SAFETY: the call takes no pointer.
        try_it: || close(unsafe { libc::syscall(libc::SYS_pidfd_open, libc::getpid(), 0) }),
        is_needed: false,
        without: "the end of child processes is noticed by SIGCHLD instead",
        advice: ALLOW,
    },
    Call {
        name: "openat2",
        try_it: openat2,
        is_needed: false,
        without: "files are opened and read by the blocking pool instead of on the spot",
        advice: ALLOW,
    },
];

fn system_calls() -> Vec<Finding> {
    let mut works = Vec::new();
    let mut findings = Vec::new();
    for call in CALLS {
        if (call.try_it)() >= 0 {
            works.push(call.name);
            continue;
        }
        let error = io::Error::last_os_error();
        let message = format!("`{}` is refused ({error}): {}", call.name, call.without);
        findings.push(if call.is_needed {
            Finding::problem("system-call", message).advice(call.advice)
        } else {
            Finding::note("system-call", message).advice(call.advice)
        });
    }
    findings.insert(0, Finding::ok("system-call", format!("these work: {}", works.join(", "))));
    findings
}

/// Closes the descriptor that a call returned, and returns its result. Keeps `errno` of a failed
/// call.
fn close(descriptor: i64) -> i64 {
    if descriptor >= 0 {
        // SAFETY: the descriptor is new, and nothing else knows it.
        unsafe { libc::close(descriptor as i32) };
    }
    descriptor
}

fn timerfd_create() -> i64 {
    let (clock, flags) = (libc::CLOCK_MONOTONIC, libc::TFD_CLOEXEC);
    // SAFETY: the call takes no pointer.
    close(unsafe { libc::syscall(libc::SYS_timerfd_create, clock, flags) })
}

fn membarrier() -> i64 {
    // SAFETY: the call takes no pointer.
    let supported =
        unsafe { libc::syscall(libc::SYS_membarrier, libc::MEMBARRIER_CMD_QUERY, 0, 0) };
    let wanted = i64::from(libc::MEMBARRIER_CMD_PRIVATE_EXPEDITED);
    if supported >= 0 && supported & wanted == 0 {
        // SAFETY: `errno` of this thread is valid memory.
        unsafe { *libc::__errno_location() = libc::EINVAL };
        return -1;
    }
    supported
}

fn epoll_pwait2() -> i64 {
    // SAFETY: the descriptor is closed below. The kernel writes at most one event to `event`, and
    // reads `timeout`; both outlive the call.
    unsafe {
        let epoll = libc::epoll_create1(libc::EPOLL_CLOEXEC);
        let mut event: libc::epoll_event = std::mem::zeroed();
        let timeout = libc::timespec { tv_sec: 0, tv_nsec: 0 };
        let none = std::ptr::null::<libc::sigset_t>();
        let found = libc::syscall(libc::SYS_epoll_pwait2, epoll, &mut event, 1, &timeout, none, 0);
        let error = *libc::__errno_location();
        libc::close(epoll);
        *libc::__errno_location() = error;
        found
    }
}

fn openat2() -> i64 {
    // SAFETY: the path ends with a zero byte, `how` has the size that is passed, and both outlive
    // the call.
    unsafe {
        let mut how: libc::open_how = std::mem::zeroed();
        how.flags = libc::O_CLOEXEC as u64;
        let size = size_of::<libc::open_how>();
        close(libc::syscall(libc::SYS_openat2, libc::AT_FDCWD, c"/dev/null".as_ptr(), &how, size))
    }
}

fn limits() -> Vec<Finding> {
    let mut findings = Vec::new();
    let (soft, hard) = limit(libc::RLIMIT_NOFILE);
    let descriptors = format!("{} descriptors (ulimit -n)", shown(soft));
    findings.push(if soft < DESCRIPTORS_WANTED {
        Finding::note("descriptors", descriptors).advice(format!(
            "Few for a server: each connection takes one. Up to {} are allowed: `ulimit -n`, or LimitNOFILE= in systemd.",
            shown(hard)
        ))
    } else {
        Finding::ok("descriptors", descriptors)
    });
    let (threads, source) = thread_limit();
    let message = format!("{} threads ({source})", shown(threads));
    findings.push(if threads < THREADS_WANTED {
        Finding::note("threads", message).advice(
            "The blocking pool starts up to 512 threads. Raise the limit, or lower `Builder::max_blocking_threads`.",
        )
    } else {
        Finding::ok("threads", message)
    });
    let memory = cgroup_file("memory.max").and_then(|text| text.trim().parse::<u64>().ok());
    if let Some(bytes) = memory {
        findings
            .push(Finding::ok("memory", format!("{} MiB (memory.max of the cgroup)", bytes >> 20)));
    }
    findings
}

/// Returns the soft and the hard limit.
fn limit(resource: libc::__rlimit_resource_t) -> (u64, u64) {
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: the kernel writes to `limit`, which outlives the call.
    unsafe { libc::getrlimit(resource, &mut limit) };
    (limit.rlim_cur, limit.rlim_max)
}

/// Returns the lowest limit on threads, and where it comes from.
fn thread_limit() -> (u64, &'static str) {
    let number = |text: String| text.trim().parse::<u64>().ok();
    let system = fs::read_to_string("/proc/sys/kernel/threads-max").ok().and_then(number);
    let limits = [
        (limit(libc::RLIMIT_NPROC).0, "ulimit -u"),
        (cgroup_file("pids.max").and_then(number).unwrap_or(u64::MAX), "pids.max of the cgroup"),
        (system.unwrap_or(u64::MAX), "threads-max of the kernel"),
    ];
    limits.into_iter().min_by_key(|(value, _)| *value).unwrap_or((u64::MAX, "no limit"))
}

fn shown(limit: u64) -> String {
    if limit == u64::MAX { "unlimited".to_owned() } else { limit.to_string() }
}

fn cpus() -> Vec<Finding> {
    let usable = thread::available_parallelism().map_or(1, |cpus| cpus.get());
    let mut findings = Vec::new();
    let quota = cgroup_file("cpu.max").and_then(|text| quota_of(&text));
    let message = match quota {
        Some(quota) => format!(
            "{usable} workers by default; a CPU quota of {quota:.2} CPUs (cpu.max of the cgroup)"
        ),
        None => format!("{usable} workers by default, one for each CPU that the process may use"),
    };
    findings.push(match quota {
        // Throttled threads stop all at once, and look to the clients like long pauses.
        Some(quota) if quota < usable as f64 => Finding::note("cpus", message)
            .advice("The kernel stops all threads when the quota is used up. Set WAKEFUL_WORKER_THREADS to fewer workers."),
        _ if usable == 1 => Finding::note("cpus", message)
            .advice("When a task blocks the only worker, a second thread shares the CPU with it."),
        _ => Finding::ok("cpus", message),
    });
    let workers = ["WAKEFUL_WORKER_THREADS", "TOKIO_WORKER_THREADS"];
    let set = workers.into_iter().find_map(|name| Some((name, env::var(name).ok()?)));
    if let Some((name, value)) = set {
        findings.push(match value.parse::<usize>() {
            Ok(1..) => Finding::ok("workers", format!("{name} is {value}")),
            _ => Finding::problem(
                "workers",
                format!("{name} is {value:?}, and a runtime panics when it is built"),
            )
            .advice("Set it to a number above 0, or unset it."),
        });
    }
    findings
}

/// Parses `cpu.max`, as in `150000 100000`, to a number of CPUs.
fn quota_of(text: &str) -> Option<f64> {
    let (quota, period) = text.trim().split_once(' ')?;
    let (quota, period): (f64, f64) = (quota.parse().ok()?, period.parse().ok()?);
    (period > 0.0).then(|| quota / period)
}

/// Reads a file of the cgroup (version 2) that this process is in. In a container, the cgroup is
/// usually shown as the root.
fn cgroup_file(name: &str) -> Option<String> {
    let own = fs::read_to_string("/proc/self/cgroup").ok()?;
    let path = own.lines().find_map(|line| line.strip_prefix("0::"))?;
    let root = Path::new("/sys/fs/cgroup");
    let dir: PathBuf = root.join(path.trim_start_matches('/'));
    fs::read_to_string(dir.join(name)).or_else(|_| fs::read_to_string(root.join(name))).ok()
}
