//! The times that can be set on a file.

use std::time::SystemTime;

/// The times that [`File::set_times`](super::File::set_times) sets.
///
/// A time that is not given here stays unchanged.
///
/// ```
/// use std::time::SystemTime;
/// use wakeful::fs::FileTimes;
///
/// let times = FileTimes::new().set_modified(SystemTime::UNIX_EPOCH);
/// ```
#[derive(Clone, Debug, Default)]
#[must_use = "does nothing until it is passed to `File::set_times`"]
pub struct FileTimes {
    std: std::fs::FileTimes,
}

impl FileTimes {
    /// Creates a `FileTimes` that sets no time.
    pub fn new() -> FileTimes {
        FileTimes::default()
    }

    /// Sets the time of the last access.
    pub fn set_accessed(self, t: SystemTime) -> FileTimes {
        FileTimes { std: self.std.set_accessed(t) }
    }

    /// Sets the time of the last modification.
    pub fn set_modified(self, t: SystemTime) -> FileTimes {
        FileTimes { std: self.std.set_modified(t) }
    }

    pub(super) fn into_std(self) -> std::fs::FileTimes {
        self.std
    }
}
