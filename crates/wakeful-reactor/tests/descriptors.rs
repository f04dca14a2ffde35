//! The size of the descriptor table. Without the usual test harness, because the process must have
//! a single thread.

#[cfg(not(target_os = "linux"))]
fn main() {}

#[cfg(target_os = "linux")]
fn main() {
    if linux::threads() > 1 {
        return println!("skipped: the process already has another thread");
    }
    linux::a_low_limit_is_kept();
    linux::there_is_room_for_thousands();
    println!("2 tests of the table of descriptors: ok");
}

#[cfg(target_os = "linux")]
mod linux {
    use std::fs;
    use wakeful_reactor::io::IoDriver;

    fn status(of: &str) -> u64 {
        let status = fs::read_to_string("/proc/self/status").unwrap();
        let value = status.lines().find_map(|line| line.strip_prefix(of)).unwrap();
        value.trim().parse().unwrap()
    }

    /// Returns the number of descriptors that the kernel's table has room for.
    fn room() -> u64 {
        status("FDSize:")
    }

    pub fn threads() -> u64 {
        status("Threads:")
    }

    fn limit() -> libc::rlimit {
        let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
        // SAFETY: the kernel writes to `limit`, which lives until the call returns.
        assert_eq!(unsafe { libc::getrlimit(libc::RLIMIT_NOFILE, &raw mut limit) }, 0);
        limit
    }

    fn set_limit(limit: libc::rlimit) {
        // SAFETY: the kernel reads `limit`, which lives until the call returns.
        assert_eq!(unsafe { libc::setrlimit(libc::RLIMIT_NOFILE, &raw const limit) }, 0);
    }

    pub fn a_low_limit_is_kept() {
        let (usual, before) = (limit(), room());
        let low = usual.rlim_cur.min(2 * before).min(4096);
        set_limit(libc::rlimit { rlim_cur: low, ..usual });
        let _driver = IoDriver::new().unwrap();
        assert!((low..=2 * low).contains(&room()), "{} for {low}, {before} before", room());
        set_limit(usual);
    }

    pub fn there_is_room_for_thousands() {
        let before = fs::read_dir("/proc/self/fd").unwrap().count();
        let driver = IoDriver::new().unwrap();
        assert!(room() >= limit().rlim_cur.min(4096), "{}", room());
        drop(driver);
        assert_eq!(fs::read_dir("/proc/self/fd").unwrap().count(), before, "none is left open");
    }
}
