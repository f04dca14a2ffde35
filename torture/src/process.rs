//! How much of the machine this process holds (Linux).

use std::fmt;
use std::fs;
use std::io;

/// Memory, threads and descriptors at one moment.
#[derive(Debug, Clone, Copy)]
pub struct Footprint {
    /// Memory that is resident, in KiB.
    pub resident_kib: u64,
    /// Threads, the caller's included.
    pub threads: u64,
    /// Open descriptors.
    pub descriptors: u64,
}

impl Footprint {
    /// Reads the current state from `/proc/self`.
    ///
    /// # Errors
    /// Where there is no `/proc`.
    pub fn now() -> io::Result<Footprint> {
        let status = fs::read_to_string("/proc/self/status")?;
        let field = |name: &str| {
            let line = status.lines().find_map(|line| line.strip_prefix(name))?;
            line.split_whitespace().next()?.parse().ok()
        };
        let missing =
            || io::Error::new(io::ErrorKind::Unsupported, "no such line in /proc/self/status");
        Ok(Footprint {
            resident_kib: field("VmRSS:").ok_or_else(missing)?,
            threads: field("Threads:").ok_or_else(missing)?,
            // One of them is the folder itself while it is read.
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
