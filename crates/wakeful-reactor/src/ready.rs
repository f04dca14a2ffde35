//! What a descriptor is ready for.

use std::fmt;
use std::ops::{BitAnd, BitOr, BitOrAssign, Sub};

/// The kinds of readiness of a descriptor. May be empty.
///
/// ```
/// use wakeful::io::{Interest, Ready};
/// use wakeful::net::UnixStream;
///
/// # wakeful::runtime::Runtime::new().unwrap().block_on(async {
/// let (one, other) = UnixStream::pair()?;
/// drop(other);
/// let ready: Ready = one.ready(Interest::READABLE).await?;
/// assert!(ready.is_readable() && ready.is_read_closed());
/// # std::io::Result::Ok(()) }).unwrap();
/// ```
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Ready(usize);

impl Ready {
    /// No readiness.
    pub const EMPTY: Ready = Ready(0);
    /// Readable.
    pub const READABLE: Ready = Ready(1 << 0);
    /// Writable.
    pub const WRITABLE: Ready = Ready(1 << 1);
    /// No more data will arrive.
    pub const READ_CLOSED: Ready = Ready(1 << 2);
    /// No more data can be written.
    pub const WRITE_CLOSED: Ready = Ready(1 << 3);
    /// There is out-of-band data.
    #[cfg(any(target_os = "linux", target_os = "android"))]
    pub const PRIORITY: Ready = Ready(1 << 4);
    /// An error has occurred.
    pub const ERROR: Ready = Ready(1 << 5);
    /// All kinds of readiness.
    pub const ALL: Ready = Ready(0b11_1111);

    /// Returns whether there is no readiness.
    pub fn is_empty(self) -> bool {
        self == Ready::EMPTY
    }

    /// Returns whether a read would not block: there is data, or none will arrive any more.
    pub fn is_readable(self) -> bool {
        self.contains(Ready::READABLE) || self.is_read_closed()
    }

    /// Returns whether a write would not block: there is room, or there never will be.
    pub fn is_writable(self) -> bool {
        self.contains(Ready::WRITABLE) || self.is_write_closed()
    }

    /// Returns whether no more data will arrive.
    pub fn is_read_closed(self) -> bool {
        self.contains(Ready::READ_CLOSED)
    }

    /// Returns whether no more data can be written.
    pub fn is_write_closed(self) -> bool {
        self.contains(Ready::WRITE_CLOSED)
    }

    /// Returns whether there is out-of-band data.
    #[cfg(any(target_os = "linux", target_os = "android"))]
    pub fn is_priority(self) -> bool {
        self.contains(Ready::PRIORITY)
    }

    /// Returns whether an error has occurred.
    pub fn is_error(self) -> bool {
        self.contains(Ready::ERROR)
    }

    fn contains(self, other: Ready) -> bool {
        self & other == other
    }

    pub(crate) fn bits(self) -> usize {
        self.0
    }

    pub(crate) fn from_bits(bits: usize) -> Ready {
        Ready(bits & Ready::ALL.0)
    }
}

impl BitOr for Ready {
    type Output = Ready;

    fn bitor(self, other: Ready) -> Ready {
        Ready(self.0 | other.0)
    }
}

impl BitOrAssign for Ready {
    fn bitor_assign(&mut self, other: Ready) {
        self.0 |= other.0;
    }
}

impl BitAnd for Ready {
    type Output = Ready;

    fn bitand(self, other: Ready) -> Ready {
        Ready(self.0 & other.0)
    }
}

impl Sub for Ready {
    type Output = Ready;

    fn sub(self, other: Ready) -> Ready {
        Ready(self.0 & !other.0)
    }
}

impl fmt::Debug for Ready {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Ready")
            .field("is_readable", &self.is_readable())
            .field("is_writable", &self.is_writable())
            .field("is_read_closed", &self.is_read_closed())
            .field("is_write_closed", &self.is_write_closed())
            .field("is_error", &self.is_error())
            .field("is_priority", &self.contains(Ready(1 << 4)))
            .finish()
    }
}
