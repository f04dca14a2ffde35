use super::{gid_t, pid_t, uid_t};

/// The credentials of the process at the other end of a Unix stream.
///
/// Returned by [`UnixStream::peer_cred`](crate::net::UnixStream::peer_cred).
///
/// ```
/// # wakeful::runtime::Runtime::new().unwrap().block_on(async {
/// use wakeful::net::UnixStream;
///
/// let (one, _other) = UnixStream::pair()?;
/// let peer = one.peer_cred()?; // this process created it
/// assert_eq!(peer.pid(), Some(std::process::id() as i32));
/// println!("user {}, group {}", peer.uid(), peer.gid());
/// # std::io::Result::Ok(()) }).unwrap();
/// ```
#[derive(Copy, Clone, Eq, PartialEq, Hash, Debug)]
pub struct UCred {
    pid: Option<pid_t>,
    uid: uid_t,
    gid: gid_t,
}

impl UCred {
    /// Returns the user id, as of the creation of the stream.
    pub fn uid(&self) -> uid_t {
        self.uid
    }

    /// Returns the group id, as of the creation of the stream.
    pub fn gid(&self) -> gid_t {
        self.gid
    }

    /// Returns the id of the process that created the stream, if the operating system reports it.
    pub fn pid(&self) -> Option<pid_t> {
        self.pid
    }
}

pub(super) use sys::peer_credentials;

#[cfg(any(target_os = "linux", target_os = "android"))]
mod sys {
    use super::UCred;
    use std::io;
    use std::mem::size_of;
    use std::os::fd::{AsRawFd, BorrowedFd};

    pub(crate) fn peer_credentials(socket: BorrowedFd<'_>) -> io::Result<UCred> {
        let mut credentials = libc::ucred { pid: 0, uid: 0, gid: 0 };
        let mut len = size_of::<libc::ucred>() as libc::socklen_t;
        // SAFETY: `credentials` has room for `len` bytes and lives through the call, and all bit
        // patterns are valid for its integers.
        let result = unsafe {
            libc::getsockopt(
                socket.as_raw_fd(),
                libc::SOL_SOCKET,
                libc::SO_PEERCRED,
                (&raw mut credentials).cast(),
                &mut len,
            )
        };
        if result < 0 {
            return Err(io::Error::last_os_error());
        }
        let libc::ucred { pid, uid, gid } = credentials;
        Ok(UCred { pid: Some(pid), uid, gid })
    }
}

#[cfg(not(any(target_os = "linux", target_os = "android")))]
mod sys {
    use super::UCred;
    use std::io;
    use std::os::fd::{AsRawFd, BorrowedFd};

    pub(crate) fn peer_credentials(socket: BorrowedFd<'_>) -> io::Result<UCred> {
        let (mut uid, mut gid) = (0, 0);
        // SAFETY: `uid` and `gid` live through the call, which writes one integer to each.
        if unsafe { libc::getpeereid(socket.as_raw_fd(), &mut uid, &mut gid) } < 0 {
            return Err(io::Error::last_os_error());
        }
        Ok(UCred { pid: None, uid, gid })
    }
}
