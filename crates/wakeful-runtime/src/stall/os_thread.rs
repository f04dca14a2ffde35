//! What the operating system says about a stalled thread.
//!
//! Only what can be read from outside, without the thread's help. The stack is not walked: a signal
//! handler could interrupt the thread inside the allocator, or inside the unwinder.

use std::fs;
use wakeful_base::thread_number;

/// The operating system's id of a thread.
#[derive(Debug)]
pub(crate) struct OsThreadId(u32);

impl OsThreadId {
    /// Returns the id of the calling thread, if it can be read.
    pub(crate) fn current() -> Option<OsThreadId> {
        thread_number::of_this_thread().map(OsThreadId)
    }

    /// Describes what the thread is doing now.
    pub(crate) fn describe(&self) -> String {
        let OsThreadId(number) = self;
        match self.activity() {
            Activity::Computing => format!("thread {number}, running or ready to run"),
            Activity::InSystemCall(call) => match call_name(call) {
                Some(name) => format!("thread {number}, in system call {call}, `{name}`"),
                None => format!("thread {number}, in system call {call}"),
            },
            Activity::Unknown => format!("thread {number}"),
        }
    }

    /// Returns whether the thread runs, or is ready to run and waits for a CPU.
    pub(crate) fn is_computing(&self) -> bool {
        self.activity() == Activity::Computing
    }

    fn activity(&self) -> Activity {
        let text = fs::read_to_string(format!("/proc/self/task/{}/syscall", self.0));
        text.map_or(Activity::Unknown, |text| Activity::parse(&text))
    }
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
    #[cfg(target_os = "linux")]
    fn describes_the_calling_thread() {
        let own = OsThreadId::current().expect("procfs is mounted");
        let text = own.describe();
        assert!(text.starts_with(&format!("thread {}", own.0)), "{text}");
    }
}
