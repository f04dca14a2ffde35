//! What the kernel said of a descriptor.

use std::fmt;
use std::ops::{BitAnd, BitOr, BitOrAssign, Sub};

/// What a descriptor is ready for. A set; may be empty.
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
    /// Nothing.
    pub const EMPTY: Ready = Ready(0);
    /// Can be read from.
    pub const READABLE: Ready = Ready(1 << 0);
    /// Can be written to.
    pub const WRITABLE: Ready = Ready(1 << 1);
    /// Nothing more will come to read.
    pub const READ_CLOSED: Ready = Ready(1 << 2);
    /// Nothing more can be written.
    pub const WRITE_CLOSED: Ready = Ready(1 << 3);
    /// Has data out of band.
    #[cfg(any(target_os = "linux", target_os = "android"))]
    pub const PRIORITY: Ready = Ready(1 << 4);
    /// Has failed.
    pub const ERROR: Ready = Ready(1 << 5);
    /// Everything.
    pub const ALL: Ready = Ready(0b11_1111);

    /// Whether it is ready for nothing.
    pub fn is_empty(self) -> bool {
        self == Ready::EMPTY
    }

    /// Whether a read would not have to wait: for data, or because none will come.
    pub fn is_readable(self) -> bool {
        self.contains(Ready::READABLE) || self.is_read_closed()
    }

    /// Whether a write would not have to wait: for room, or because there never will be any.
    pub fn is_writable(self) -> bool {
        self.contains(Ready::WRITABLE) || self.is_write_closed()
    }

    /// Whether nothing more will come to read.
    pub fn is_read_closed(self) -> bool {
        self.contains(Ready::READ_CLOSED)
    }

    /// Whether nothing more can be written.
    pub fn is_write_closed(self) -> bool {
        self.contains(Ready::WRITE_CLOSED)
    }

    /// Whether there is data out of band.
    #[cfg(any(target_os = "linux", target_os = "android"))]
    pub fn is_priority(self) -> bool {
        self.contains(Ready::PRIORITY)
    }

    /// Whether it has failed.
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
