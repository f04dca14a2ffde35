//! Measurements and settings of this process and machine, by system calls and `/proc`.

mod edge_poll;

pub use edge_poll::EdgePoll;

use serde::Serialize;
use std::net::{TcpListener, TcpStream};
use std::os::fd::AsRawFd;
use std::time::Duration;
use std::{io, mem};

/// Returns the CPU time of all threads of this process.
pub fn process_cpu_time() -> Duration {
    read_clock(libc::CLOCK_PROCESS_CPUTIME_ID)
}

/// Returns the CPU time of the calling thread.
pub fn thread_cpu_time() -> Duration {
    read_clock(libc::CLOCK_THREAD_CPUTIME_ID)
}

/// Returns the CPU time of all threads of another process.
pub fn process_cpu_time_of(pid: u32) -> Duration {
    let mut clock = 0;
    // SAFETY: `clock` is a live local, which the call writes to.
    let failed = unsafe { libc::clock_getcpuclockid(pid as libc::pid_t, &mut clock) };
    assert_eq!(failed, 0, "process {pid} has a CPU clock");
    read_clock(clock)
}

fn read_clock(clock: libc::clockid_t) -> Duration {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `time` is a live local, which the call writes to.
    let failed = unsafe { libc::clock_gettime(clock, &mut time) };
    assert_eq!(failed, 0, "CPU clock {clock} can be read");
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}

pub fn cpus() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

/// Pins the calling thread, and all threads that it starts later, to one CPU.
pub fn pin_to_cpu(cpu: usize) {
    // SAFETY: `cpu_set_t` consists of integers, so all zeroes are a valid value.
    let mut set: libc::cpu_set_t = unsafe { mem::zeroed() };
    // SAFETY: `CPU_SET` panics if the number exceeds the size of the set. The kernel only reads the
    // set, which lives through the call.
    let failed = unsafe {
        libc::CPU_SET(cpu, &mut set);
        libc::sched_setaffinity(0, mem::size_of_val(&set), &set)
    };
    assert_eq!(failed, 0, "cannot pin the thread to CPU {cpu}");
}

pub fn parent() -> u32 {
    // SAFETY: takes no pointers.
    unsafe { libc::getppid() as u32 }
}

/// Stops a process and continues it after `span`.
pub fn stop_for(pid: u32, span: Duration) -> io::Result<()> {
    signal(pid, libc::SIGSTOP)?;
    std::thread::sleep(span);
    signal(pid, libc::SIGCONT)
}

fn signal(pid: u32, signal: libc::c_int) -> io::Result<()> {
    // SAFETY: takes no pointers.
    match unsafe { libc::kill(pid as libc::pid_t, signal) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

/// Raises the limit of descriptors to its hard limit. Shells often start programs with 1,024.
pub fn raise_descriptor_limit() -> io::Result<()> {
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: `limit` is a live local, which the call writes to.
    if unsafe { libc::getrlimit(libc::RLIMIT_NOFILE, &mut limit) } != 0 {
        return Err(io::Error::last_os_error());
    }
    limit.rlim_cur = limit.rlim_max;
    // SAFETY: `limit` is a live local, which the call reads.
    match unsafe { libc::setrlimit(libc::RLIMIT_NOFILE, &limit) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

/// Creates a loopback listener with a backlog for many simultaneous connections. The backlog of std
/// is 128.
pub fn listen() -> io::Result<TcpListener> {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    // SAFETY: takes no pointers; the descriptor is open.
    match unsafe { libc::listen(listener.as_raw_fd(), 4096) } {
        0 => Ok(listener),
        _ => Err(io::Error::last_os_error()),
    }
}

/// Makes the connection end with a reset, so that its port is free at once for the next sample.
pub fn reset_on_close(stream: &TcpStream) -> io::Result<()> {
    let linger = libc::linger { l_onoff: 1, l_linger: 0 };
    // SAFETY: the call reads a `linger` of the given size, which lives through it.
    let failed = unsafe {
        libc::setsockopt(
            stream.as_raw_fd(),
            libc::SOL_SOCKET,
            libc::SO_LINGER,
            (&raw const linger).cast(),
            mem::size_of_val(&linger) as libc::socklen_t,
        )
    };
    if failed == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Returns the resident memory of this process.
pub fn resident_bytes() -> u64 {
    let resident = own_status("VmRSS:");
    let kib = resident.strip_suffix(" kB").and_then(|kib| kib.parse::<u64>().ok());
    kib.expect("/proc/self/status has a VmRSS line in kB") * 1024
}

/// Returns the number of threads of this process.
pub fn threads() -> usize {
    own_status("Threads:").parse().expect("the number of threads is a number")
}

/// Returns the value of a line of `/proc/self/status`.
fn own_status(name: &str) -> String {
    let status =
        std::fs::read_to_string("/proc/self/status").expect("these cases need Linux's /proc");
    let value = status.lines().find_map(|line| line.strip_prefix(name));
    value.unwrap_or_else(|| panic!("/proc/self/status has no line {name}")).trim().into()
}

/// How the CPUs of this machine have spent their time since boot, in clock ticks.
#[derive(Clone, Copy)]
pub struct CpuTicks {
    total: f64,
    stolen: f64,
    busy: f64,
    /// The part of `busy` that this process and its finished children used.
    own: f64,
}

/// CPU time that the contenders could not use, in percent of the total.
#[derive(Serialize)]
pub struct CpuLoss {
    /// Taken by the host of a virtual machine.
    pub host_percent: f64,
    /// Used by processes outside the benchmark.
    pub others_percent: f64,
}

impl CpuTicks {
    /// Returns the current values, or `None` without `/proc/stat`.
    pub fn now() -> Option<CpuTicks> {
        CpuTicks::parse(&std::fs::read_to_string("/proc/stat").ok()?, own_ticks())
    }

    fn parse(stat: &str, own: f64) -> Option<CpuTicks> {
        let all_cpus = stat.lines().next()?.strip_prefix("cpu ")?;
        let ticks: Vec<f64> = all_cpus.split_whitespace().flat_map(str::parse).collect();
        // The fields after the first eight are included in `user` and `nice`.
        let [user, nice, system, idle, io_wait, irq, soft_irq, stolen] = *ticks.first_chunk()?;
        let busy = user + nice + system + irq + soft_irq;
        let total = busy + idle + io_wait + stolen;
        Some(CpuTicks { total, stolen, busy, own })
    }

    pub fn loss_since(self, earlier: CpuTicks) -> CpuLoss {
        let total = (self.total - earlier.total).max(1.0);
        let others = (self.busy - earlier.busy) - (self.own - earlier.own);
        CpuLoss {
            host_percent: 100.0 * (self.stolen - earlier.stolen) / total,
            // The kernel counts the machine's time in whole ticks but ours exactly, so the
            // difference may be slightly negative.
            others_percent: 100.0 * others.max(0.0) / total,
        }
    }
}

/// Returns the CPU time of this process and its finished children, in clock ticks.
fn own_ticks() -> f64 {
    // SAFETY: `sysconf` takes no pointers.
    let ticks_per_second = unsafe { libc::sysconf(libc::_SC_CLK_TCK) };
    let own = used_cpu_time(libc::RUSAGE_SELF) + used_cpu_time(libc::RUSAGE_CHILDREN);
    own.as_secs_f64() * ticks_per_second as f64
}

fn used_cpu_time(who: libc::c_int) -> Duration {
    // SAFETY: `rusage` consists of integers, so all zeroes are a valid value.
    let mut usage: libc::rusage = unsafe { mem::zeroed() };
    // SAFETY: `usage` is a live local, which the call writes to.
    let failed = unsafe { libc::getrusage(who, &mut usage) };
    assert_eq!(failed, 0, "the own resource usage can be read");
    let duration =
        |time: libc::timeval| Duration::new(time.tv_sec as u64, time.tv_usec as u32 * 1000);
    duration(usage.ru_utime) + duration(usage.ru_stime)
}

/// Returns the load average of the last minute.
pub fn load_average() -> Option<f64> {
    let loads = std::fs::read_to_string("/proc/loadavg").ok()?;
    loads.split_whitespace().next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn loss_is_what_host_and_other_processes_used() {
        let earlier = CpuTicks::parse("cpu  100 0 0 100 0 0 0 0 0 0\ncpu0 1\n", 10.0).unwrap();
        let now = CpuTicks::parse("cpu  150 5 15 140 0 5 5 80 7 7\ncpu0 1\n", 50.0).unwrap();
        let loss = now.loss_since(earlier);
        assert_eq!((loss.host_percent, loss.others_percent), (40.0, 20.0));
        assert!(CpuTicks::parse("cpu  1 2 3\n", 0.0).is_none());
    }
}
