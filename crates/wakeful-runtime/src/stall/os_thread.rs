//! What the operating system says about a stalled thread.
//!
//! Only what can be read from outside, without the thread's help. The stack is not walked: a signal
//! handler could interrupt the thread inside the allocator, or inside the unwinder.

use std::fs;
use std::time::Duration;
use wakeful_base::cpu_time::ThreadClock;
use wakeful_base::thread_number;

/// A thread as the operating system knows it.
#[derive(Debug)]
pub(crate) struct OsThread {
    number: u32,
    clock: Option<ThreadClock>,
}

impl OsThread {
    /// Returns the calling thread, if its id can be read.
    pub(crate) fn current() -> Option<OsThread> {
        let number = thread_number::of_this_thread()?;
        Some(OsThread { number, clock: ThreadClock::of_this_thread() })
    }

    /// Returns the thread with this id, without its CPU clock.
    pub(crate) fn with_number(number: u32) -> OsThread {
        OsThread { number, clock: None }
    }

    /// Returns the CPU time that the thread has used so far, or `None` if the platform does not
    /// report it or the thread has ended.
    pub(crate) fn cpu_time(&self) -> Option<Duration> {
        self.clock?.now()
    }

    /// Describes what the thread is doing now.
    pub(crate) fn describe(&self) -> String {
        let number = self.number;
        match self.activity() {
            Activity::Computing => format!("thread {number}, running or ready to run"),
            Activity::InSystemCall(call) => match call_name(call) {
                Some(name) => format!("thread {number}, in system call {call}, `{name}`"),
                None => format!("thread {number}, in system call {call}"),
            },
            Activity::Unknown => format!("thread {number}"),
        }
    }

    /// Returns whether the thread runs, or is ready to run and waits for a CPU. `None` if that is
    /// unknown.
    pub(crate) fn is_runnable(&self) -> Option<bool> {
        match self.read("syscall") {
            Some(text) => Some(Activity::parse(&text) == Activity::Computing),
            // Some kernels and sandboxes have only this file. It costs more to read.
            None => is_running_state(&self.read("stat")?),
        }
    }

    fn activity(&self) -> Activity {
        self.read("syscall").map_or(Activity::Unknown, |text| Activity::parse(&text))
    }

    fn read(&self, file: &str) -> Option<String> {
        fs::read_to_string(format!("/proc/self/task/{}/{file}", self.number)).ok()
    }
}

/// Parses `/proc/…/stat`: number, name in parentheses, state. The name may contain parentheses.
fn is_running_state(stat: &str) -> Option<bool> {
    let (_, behind_name) = stat.rsplit_once(')')?;
    Some(behind_name.trim_start().chars().next()? == 'R')
}

#[derive(Debug, PartialEq, Eq)]
enum Activity {
    Computing,
    InSystemCall(u32),
    Unknown,
}

impl Activity {
    /// Parses `/proc/…/syscall`: `running`, or numbers, the first of which is that of the system
    /// call.
    fn parse(text: &str) -> Activity {
        match text.split_whitespace().next() {
            Some("running") => Activity::Computing,
            Some(first) => first.parse().map_or(Activity::Unknown, Activity::InSystemCall),
            None => Activity::Unknown,
        }
    }
}

/// Returns the name of a system call that threads are often stuck in.
fn call_name(number: u32) -> Option<&'static str> {
    let names: &[(u32, &str)] = if cfg!(target_arch = "x86_64") {
        &[
            (0, "read"),
            (1, "write"),
            (7, "poll"),
            (23, "select"),
            (35, "nanosleep"),
            (42, "connect"),
            (43, "accept"),
            (44, "sendto"),
            (45, "recvfrom"),
            (61, "wait4"),
            (74, "fsync"),
            (75, "fdatasync"),
            (202, "futex"),
            (230, "clock_nanosleep"),
            (232, "epoll_wait"),
            (257, "openat"),
            (271, "ppoll"),
        ]
    } else if cfg!(any(target_arch = "aarch64", target_arch = "riscv64")) {
        &[
            (22, "epoll_pwait"),
            (56, "openat"),
            (63, "read"),
            (64, "write"),
            (73, "ppoll"),
            (82, "fsync"),
            (83, "fdatasync"),
            (98, "futex"),
            (101, "nanosleep"),
            (115, "clock_nanosleep"),
            (202, "accept"),
            (203, "connect"),
            (206, "sendto"),
            (207, "recvfrom"),
            (260, "wait4"),
        ]
    } else {
        &[]
    };
    names.iter().find(|&&(known, _)| known == number).map(|&(_, name)| name)
}

#[cfg(all(test, not(wakeful_loom)))]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
    use std::sync::{Arc, mpsc};
    use std::thread;

    #[test]
    fn parses_proc_syscall() {
        assert_eq!(Activity::parse("running\n"), Activity::Computing);
        assert_eq!(
            Activity::parse("202 0x7f 0x80 0x0 0x0 0x0 0x0 0x7ffe 0x7f44\n"),
            Activity::InSystemCall(202)
        );
        assert_eq!(Activity::parse("-1 0x7ffe 0x7f44\n"), Activity::Unknown);
        assert_eq!(Activity::parse(""), Activity::Unknown);
    }

    #[test]
    fn parses_proc_stat() {
        assert_eq!(is_running_state("17 (name) R 1 17"), Some(true));
        assert_eq!(is_running_state("17 (a) R (b)) S 1 17"), Some(false));
        assert_eq!(is_running_state("17 (name) D 1 17"), Some(false));
        assert_eq!(is_running_state("17 (name)"), None);
        assert_eq!(is_running_state(""), None);
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn describes_the_calling_thread() {
        let own = OsThread::current().expect("procfs is mounted");
        let text = own.describe();
        assert!(text.starts_with(&format!("thread {}", own.number)), "{text}");
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn threads_that_compute_are_runnable_and_those_that_block_are_not() {
        let (sends, receives) = mpsc::channel();
        let (release, released) = mpsc::channel::<()>();
        let should_block = Arc::new(AtomicBool::new(false));
        let blocks = should_block.clone();
        let thread = thread::spawn(move || {
            sends.send(OsThread::current().unwrap()).unwrap();
            while !blocks.load(Relaxed) {
                std::hint::spin_loop();
            }
            let _disconnected = released.recv();
        });
        let other = receives.recv().unwrap();
        let both = || {
            let stat = other.read("stat").expect("procfs is mounted");
            (other.is_runnable(), is_running_state(&stat))
        };
        while both() != (Some(true), Some(true)) {}
        should_block.store(true, Relaxed);
        while both() != (Some(false), Some(false)) {}
        drop(release);
        thread.join().unwrap();
    }
}
