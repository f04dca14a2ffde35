//! The kinds of readiness that an operation can wait for.

use crate::Ready;
use std::fmt;
use std::ops::{BitOr, BitOrAssign};

const READABLE: u8 = 1 << 0;
const WRITABLE: u8 = 1 << 1;
const PRIORITY: u8 = 1 << 2;
const ERROR: u8 = 1 << 3;

/// The kinds of readiness to wait for. At least one.
///
/// ```
/// use wakeful::io::Interest;
/// use wakeful::net::UnixStream;
///
/// # wakeful::runtime::Runtime::new().unwrap().block_on(async {
/// let (one, _other) = UnixStream::pair()?;
/// let ready = one.ready(Interest::READABLE | Interest::WRITABLE).await?;
/// assert!(ready.is_writable()); // nothing to read yet
/// # std::io::Result::Ok(()) }).unwrap();
/// ```
#[derive(Clone, Copy, Eq, PartialEq)]
pub struct Interest(u8);

impl Interest {
    /// Readable: there is data, or the peer has closed its side.
    pub const READABLE: Interest = Interest(READABLE);
    /// Writable: there is room, or no write can ever succeed again.
    pub const WRITABLE: Interest = Interest(WRITABLE);
    /// An error has occurred.
    pub const ERROR: Interest = Interest(ERROR);
    /// There is out-of-band data.
    #[cfg(any(target_os = "linux", target_os = "android"))]
    pub const PRIORITY: Interest = Interest(PRIORITY);

    /// Returns whether the interest includes reading.
    pub const fn is_readable(self) -> bool {
        self.0 & READABLE != 0
    }

    /// Returns whether the interest includes writing.
    pub const fn is_writable(self) -> bool {
        self.0 & WRITABLE != 0
    }

    /// Returns whether the interest includes errors.
    pub const fn is_error(self) -> bool {
        self.0 & ERROR != 0
    }

    /// Returns whether the interest includes out-of-band data.
    #[cfg(any(target_os = "linux", target_os = "android"))]
    pub const fn is_priority(self) -> bool {
        self.0 & PRIORITY != 0
    }

    /// Combines two interests.
    #[must_use = "this returns the result of the operation, without modifying the original"]
    pub const fn add(self, other: Interest) -> Interest {
        Interest(self.0 | other.0)
    }

    /// Removes `other` from this interest. Returns `None` if nothing is left.
    #[must_use = "this returns the result of the operation, without modifying the original"]
    pub fn remove(self, other: Interest) -> Option<Interest> {
        let left = self.0 & !other.0;
        (left != 0).then_some(Interest(left))
    }

    /// Returns the kinds of readiness that end a wait with this interest.
    pub(crate) fn ready_mask(self) -> Ready {
        let mut mask = Ready::EMPTY;
        if self.is_readable() {
            mask |= Ready::READABLE | Ready::READ_CLOSED;
        }
        if self.is_writable() {
            mask |= Ready::WRITABLE | Ready::WRITE_CLOSED;
        }
        #[cfg(any(target_os = "linux", target_os = "android"))]
        if self.is_priority() {
            mask |= Ready::PRIORITY | Ready::READ_CLOSED;
        }
        if self.is_error() {
            mask |= Ready::ERROR;
        }
        mask
    }
}

impl BitOr for Interest {
    type Output = Interest;

    fn bitor(self, other: Interest) -> Interest {
        self.add(other)
    }
}

impl BitOrAssign for Interest {
    fn bitor_assign(&mut self, other: Interest) {
        *self = *self | other;
    }
}

impl fmt::Debug for Interest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let all = [
            (READABLE, "READABLE"),
            (WRITABLE, "WRITABLE"),
            (PRIORITY, "PRIORITY"),
            (ERROR, "ERROR"),
        ];
        let names: Vec<_> =
            all.iter().filter(|(bit, _)| self.0 & bit != 0).map(|&(_, name)| name).collect();
        f.write_str(&names.join(" | "))
    }
}
