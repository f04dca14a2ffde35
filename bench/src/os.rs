//! What the operating system knows about this process and this machine.

use std::time::Duration;

/// CPU time this process has used, all its threads together.
pub fn process_cpu_time() -> Duration {
    let mut time = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: `time` is a valid timespec that lives through the call, and the kernel only writes to it.
    let failed = unsafe { libc::clock_gettime(libc::CLOCK_PROCESS_CPUTIME_ID, &mut time) };
    assert_eq!(failed, 0, "the process CPU clock can be read");
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}

/// Resident memory of this process.
pub fn resident_bytes() -> u64 {
    let status =
        std::fs::read_to_string("/proc/self/status").expect("memory cases need Linux's /proc");
    let resident_kib: u64 = status
        .lines()
        .find_map(|line| line.strip_prefix("VmRSS:"))
        .and_then(|rest| rest.trim().strip_suffix(" kB"))
        .and_then(|kib| kib.parse().ok())
        .expect("/proc/self/status has a VmRSS line in kB");
    resident_kib * 1024
}

/// How the CPUs of this machine have spent their time since it started, in clock ticks.
#[derive(Clone, Copy)]
pub struct CpuTicks {
    total: u64,
    stolen: u64,
}

impl CpuTicks {
    /// `None` where there is no `/proc/stat`.
    pub fn now() -> Option<CpuTicks> {
        let stat = std::fs::read_to_string("/proc/stat").ok()?;
        let all_cpus = stat.lines().next()?.strip_prefix("cpu ")?;
        // user nice system idle iowait irq softirq steal; what follows is contained in the first two.
        let ticks: Vec<u64> = all_cpus
            .split_whitespace()
            .take(8)
            .flat_map(str::parse)
            .collect();
        Some(CpuTicks {
            total: ticks.iter().sum(),
            stolen: *ticks.get(7)?,
        })
    }

    /// The share of CPU time, in percent, that a host took away from this virtual machine since `earlier`.
    pub fn stolen_percent_since(self, earlier: CpuTicks) -> f64 {
        let total = (self.total - earlier.total).max(1);
        100.0 * (self.stolen - earlier.stolen) as f64 / total as f64
    }
}

/// Runnable threads on this machine, averaged over the last minute.
pub fn load_average() -> Option<f64> {
    let loads = std::fs::read_to_string("/proc/loadavg").ok()?;
    loads.split_whitespace().next()?.parse().ok()
}
