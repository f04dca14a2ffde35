use socket2::SockAddr;
use std::fmt;
use std::io;
use std::os::unix::net;
use std::path::Path;

/// The address of a Unix socket: a path, an abstract name, or none.
///
/// ```
/// # wakeful::runtime::Runtime::new().unwrap().block_on(async {
/// use wakeful::net::{UnixDatagram, UnixStream};
///
/// # let path = std::env::temp_dir().join(format!("wakeful-doc-address-{}", std::process::id()));
/// let named = UnixDatagram::bind(&path)?;
/// assert_eq!(named.local_addr()?.as_pathname(), Some(path.as_path()));
/// assert!(UnixStream::pair()?.0.local_addr()?.is_unnamed());
/// # std::fs::remove_file(path)?;
/// # std::io::Result::Ok(()) }).unwrap();
/// ```
#[derive(Clone)]
pub struct SocketAddr(net::SocketAddr);

impl SocketAddr {
    /// Returns whether the socket has no address.
    pub fn is_unnamed(&self) -> bool {
        self.0.is_unnamed()
    }

    /// Returns the path, if the address is one.
    pub fn as_pathname(&self) -> Option<&Path> {
        self.0.as_pathname()
    }

    /// Returns the abstract name without its leading zero byte, if the address is one.
    #[cfg(any(target_os = "linux", target_os = "android"))]
    pub fn as_abstract_name(&self) -> Option<&[u8]> {
        abstract_names::of(&self.0)
    }

    /// Creates the address of `path`, which is an abstract name if it starts with a zero byte.
    pub(super) fn of_path(path: &Path) -> io::Result<SocketAddr> {
        if let Some(address) = abstract_names::from_path(path) {
            return address.map(SocketAddr);
        }
        net::SocketAddr::from_pathname(path).map(SocketAddr)
    }

    /// Converts to the kernel's representation.
    pub(super) fn to_kernel(&self) -> io::Result<SockAddr> {
        match (self.as_pathname(), abstract_names::to_path(&self.0)) {
            (Some(path), _) => SockAddr::unix(path),
            (None, Some(name)) => SockAddr::unix(name),
            (None, None) => SockAddr::unix(""),
        }
    }

    pub(super) fn from_kernel(address: &SockAddr) -> io::Result<SocketAddr> {
        // The kernel returns no address at all for a sender without a name.
        if address.len() == 0 || address.is_unnamed() {
            // `std` has no constructor for an unnamed address; an empty path gives one.
            return net::SocketAddr::from_pathname("").map(SocketAddr);
        }
        let address = address.as_unix().map(SocketAddr);
        address.ok_or_else(|| {
            io::Error::new(io::ErrorKind::InvalidInput, "invalid address family (not Unix)")
        })
    }
}

impl fmt::Debug for SocketAddr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl From<net::SocketAddr> for SocketAddr {
    fn from(address: net::SocketAddr) -> SocketAddr {
        SocketAddr(address)
    }
}

impl From<SocketAddr> for net::SocketAddr {
    fn from(address: SocketAddr) -> net::SocketAddr {
        address.0
    }
}

/// Names outside the file system. As paths they start with a zero byte.
#[cfg(any(target_os = "linux", target_os = "android"))]
mod abstract_names {
    use std::ffi::OsString;
    use std::io;
    #[cfg(target_os = "android")]
    use std::os::android::net::SocketAddrExt;
    #[cfg(target_os = "linux")]
    use std::os::linux::net::SocketAddrExt;
    use std::os::unix::ffi::{OsStrExt, OsStringExt};
    use std::os::unix::net::SocketAddr;
    use std::path::{Path, PathBuf};

    pub(super) fn of(address: &SocketAddr) -> Option<&[u8]> {
        address.as_abstract_name()
    }

    pub(super) fn from_path(path: &Path) -> Option<io::Result<SocketAddr>> {
        let name = path.as_os_str().as_bytes().strip_prefix(b"\0")?;
        Some(SocketAddr::from_abstract_name(name))
    }

    pub(super) fn to_path(address: &SocketAddr) -> Option<PathBuf> {
        let path = [b"\0", address.as_abstract_name()?].concat();
        Some(OsString::from_vec(path).into())
    }
}

#[cfg(not(any(target_os = "linux", target_os = "android")))]
mod abstract_names {
    use std::io;
    use std::os::unix::net::SocketAddr;
    use std::path::{Path, PathBuf};

    pub(super) fn from_path(_path: &Path) -> Option<io::Result<SocketAddr>> {
        None
    }

    pub(super) fn to_path(_address: &SocketAddr) -> Option<PathBuf> {
        None
    }
}
