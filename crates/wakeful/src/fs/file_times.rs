//! Times to set on a file.

use std::time::SystemTime;

/// The times that [`File::set_times`](super::File::set_times) is to set; those not said stay as they
/// are.
///
/// ```
/// use std::time::SystemTime;
/// use wakeful::fs::FileTimes;
///
/// let times = FileTimes::new().set_modified(SystemTime::UNIX_EPOCH);
/// ```
#[derive(Clone, Debug, Default)]
#[must_use = "does nothing until it is given to `File::set_times`"]
pub struct FileTimes {
    std: std::fs::FileTimes,
}

impl FileTimes {
    /// No time is to be set.
    pub fn new() -> FileTimes {
        FileTimes::default()
    }

    /// When the file was last read.
    pub fn set_accessed(self, t: SystemTime) -> FileTimes {
        FileTimes { std: self.std.set_accessed(t) }
    }

    /// When the file was last written to.
    pub fn set_modified(self, t: SystemTime) -> FileTimes {
        FileTimes { std: self.std.set_modified(t) }
    }

    pub(super) fn into_std(self) -> std::fs::FileTimes {
        self.std
    }
}
