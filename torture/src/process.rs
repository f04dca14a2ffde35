//! The memory, threads and descriptors that this process uses (Linux).

use std::fmt;
use std::fs;
use std::io;

/// Memory, threads and descriptors at one moment.
#[derive(Debug, Clone, Copy)]
pub struct Footprint {
    /// Resident memory, in KiB.
    pub resident_kib: u64,
    /// Threads, including the caller's.
    pub threads: u64,
    /// Open descriptors.
    pub descriptors: u64,
}

impl Footprint {
    /// Reads the current values from `/proc/self`.
    ///
    /// # Errors
    /// Returns an error if `/proc` is not mounted.
    pub fn now() -> io::Result<Footprint> {
        let status = fs::read_to_string("/proc/self/status")?;
        let field = |name: &str| {
            let line = status.lines().find_map(|line| line.strip_prefix(name))?;
            line.split_whitespace().next()?.parse().ok()
        };
        let missing =
            || io::Error::new(io::ErrorKind::Unsupported, "unexpected format of /proc/self/status");
        Ok(Footprint {
            resident_kib: field("VmRSS:").ok_or_else(missing)?,
            threads: field("Threads:").ok_or_else(missing)?,
            // Without the descriptor of the directory that is being read.
            descriptors: fs::read_dir("/proc/self/fd")?.count() as u64 - 1,
        })
    }
}

impl fmt::Display for Footprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Footprint { resident_kib, threads, descriptors } = self;
        write!(f, "{resident_kib} KiB resident, {threads} threads, {descriptors} descriptors")
    }
}
