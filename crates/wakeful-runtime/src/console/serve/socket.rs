//! The socket's place in the file system, and which peers may connect.
//!
//! The folder belongs to the user and has mode 0700, so that other users can neither reach the
//! socket nor replace it. What the kernel says of the peer is checked as well.

use std::ffi::{CString, OsString, c_int, c_ulong, c_void};
use std::fs::{self, DirBuilder, Permissions};
use std::io;
use std::os::fd::{AsRawFd, RawFd};
use std::os::unix::ffi::OsStringExt;
use std::os::unix::fs::{DirBuilderExt, FileTypeExt, MetadataExt, PermissionsExt};
use std::os::unix::net::{UnixDatagram, UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::process;
use std::sync::OnceLock;
use std::time::Duration;

// Constants of Linux on x86-64 and aarch64.
const SOL_SOCKET: c_int = 1;
const SO_PEERCRED: c_int = 17;
const MSG_NOSIGNAL: c_int = 0x4000;

/// Data to read, or the end of it.
pub(super) const POLLIN: i16 = 1;
/// Room to write.
pub(super) const POLLOUT: i16 = 4;

/// `struct pollfd`.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub(super) struct PollFd {
    pub(super) fd: c_int,
    pub(super) events: i16,
    pub(super) revents: i16,
}

/// `struct ucred`.
#[repr(C)]
#[derive(Default)]
struct Peer {
    process: c_int,
    user: u32,
    group: u32,
}

unsafe extern "C" {
    fn poll(fds: *mut PollFd, len: c_ulong, timeout_ms: c_int) -> c_int;
    fn send(fd: c_int, bytes: *const c_void, len: usize, flags: c_int) -> isize;
    fn getsockopt(fd: c_int, level: c_int, name: c_int, to: *mut c_void, len: *mut u32) -> c_int;
    safe fn geteuid() -> u32;
    safe fn atexit(call: extern "C" fn()) -> c_int;
}

/// Creates the listening socket of this process. Returns it and the process's start time.
pub(super) fn listen() -> io::Result<(UnixListener, String)> {
    let folder = folder()?;
    remove_dead(&folder);
    let start = start_time()?;
    let path = folder.join(format!("{}-{start}.sock", process::id()));
    let listener = UnixListener::bind(&path).map_err(|error| named(&path, &error))?;
    // Before anything can fail: the file exists.
    remove_at_exit(&path);
    let mode = Permissions::from_mode(0o600);
    fs::set_permissions(&path, mode).map_err(|error| named(&path, &error))?;
    listener.set_nonblocking(true)?;
    Ok((listener, start))
}

/// Returns the user's folder for sockets, which is created if it is missing.
fn folder() -> io::Result<PathBuf> {
    let base = std::env::var_os("XDG_RUNTIME_DIR").map(PathBuf::from);
    match base.filter(|base| base.is_absolute()) {
        Some(base) => {
            // A program of another user, such as root's, must not create a folder here.
            let metadata = fs::metadata(&base).map_err(|error| named(&base, &error))?;
            if metadata.uid() != geteuid() {
                return Err(refuse(&base, "belongs to another user"));
            }
            checked(base.join("wakeful"))
        }
        None => checked(PathBuf::from(format!("/tmp/wakeful-{}", geteuid()))),
    }
}

/// Returns `folder` if it exists or can be created, and other users have no access to it.
fn checked(folder: PathBuf) -> io::Result<PathBuf> {
    match DirBuilder::new().mode(0o700).create(&folder) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => {
            return Err(named(&folder, &error));
        }
        Ok(()) | Err(_) => {}
    }
    // Not of what a symbolic link points to.
    let metadata = fs::symlink_metadata(&folder).map_err(|error| named(&folder, &error))?;
    if !metadata.is_dir() {
        return Err(refuse(&folder, "is no folder, or a symbolic link"));
    }
    if metadata.uid() != geteuid() {
        return Err(refuse(&folder, "belongs to another user"));
    }
    if metadata.mode() & 0o077 != 0 {
        return Err(refuse(&folder, "has a mode that lets other users in"));
    }
    Ok(folder)
}

/// Adds the path to an error.
fn named(path: &Path, error: &io::Error) -> io::Error {
    io::Error::new(error.kind(), format!("{path:?}: {error}"))
}

fn refuse(folder: &Path, what_is_wrong: &str) -> io::Error {
    let text = format!(
        "{folder:?} {what_is_wrong}; it has to be a folder of the program's user with mode 0700. \
         Remove it, or set XDG_RUNTIME_DIR to another folder"
    );
    io::Error::new(io::ErrorKind::PermissionDenied, text)
}

/// Returns when the process started, in clock ticks since the system did.
fn start_time() -> io::Result<String> {
    let stat = fs::read_to_string("/proc/self/stat")?;
    // The second field is the program's name in parentheses, which may contain anything.
    let start = stat.rsplit_once(')').and_then(|(_, rest)| rest.split_whitespace().nth(19));
    start.map(String::from).ok_or_else(|| io::Error::other("/proc/self/stat is not as expected"))
}

/// Removes sockets that no process has open: those of programs that crashed, or that this process
/// ran before it became another program by `exec`.
fn remove_dead(folder: &Path) {
    let Ok(entries) = fs::read_dir(folder) else { return };
    for entry in entries.flatten() {
        let path = entry.path();
        let is_socket = entry.file_type().is_ok_and(|kind| kind.is_socket());
        if is_socket
            && path.extension().is_some_and(|extension| extension == "sock")
            && is_dead(&path)
        {
            // Another process may have removed it already.
            _ = fs::remove_file(&path);
        }
    }
}

/// Returns whether no process has the socket at `path` open.
///
/// A stream socket refuses datagrams, but says so in another way if it is open. Unlike a
/// connection, this never waits, and is not noticed by the process that has it open.
fn is_dead(path: &Path) -> bool {
    let connected = UnixDatagram::unbound().and_then(|socket| socket.connect(path));
    connected.is_err_and(|error| error.kind() == io::ErrorKind::ConnectionRefused)
}

/// The socket's file, and the process that has made it.
static FILE: OnceLock<(u32, CString)> = OnceLock::new();

/// Has the file removed when the process calls `exit` or returns from `main`.
///
/// By `atexit`, because the console's thread is not joined and statics are not dropped.
fn remove_at_exit(path: &Path) {
    extern "C" fn remove() {
        unsafe extern "C" {
            fn unlink(path: *const std::ffi::c_char) -> c_int;
        }
        // A child after `fork` ends, and its parent goes on.
        if let Some((_, path)) = FILE.get().filter(|file| file.0 == process::id()) {
            // SAFETY: a string that ends with zero, in a static.
            unsafe { unlink(path.as_ptr()) };
        }
    }

    let path = CString::new(OsString::from(path).into_vec());
    let Ok(path) = path else { return };
    if FILE.set((process::id(), path)).is_ok() {
        // It fails if there is no memory. Then the file is removed by the next program.
        _ = atexit(remove);
    }
}

/// Returns whether the peer may read what the process does: its own user, or root.
pub(super) fn is_allowed(stream: &UnixStream) -> bool {
    let mut peer = Peer::default();
    let mut len = size_of::<Peer>() as u32;
    let to = (&raw mut peer).cast();
    // SAFETY: the kernel writes at most `len` bytes to `peer`, for which any value is valid, and
    // the length to `len`; both live until the call returns.
    let result =
        unsafe { getsockopt(stream.as_raw_fd(), SOL_SOCKET, SO_PEERCRED, to, &raw mut len) };
    result == 0 && len as usize == size_of::<Peer>() && [0, geteuid()].contains(&peer.user)
}

/// Waits until one of `fds` is ready, or until `timeout` is over.
pub(super) fn wait(fds: &mut [PollFd], timeout: Option<Duration>) {
    // Rounded up, so that a timeout is over after the call.
    let timeout_ms = timeout.map_or(-1, |timeout| {
        c_int::try_from(timeout.as_micros().div_ceil(1000)).unwrap_or(c_int::MAX)
    });
    // SAFETY: the slice is valid, and the kernel writes to `revents` of its elements only.
    let result = unsafe { poll(fds.as_mut_ptr(), fds.len() as c_ulong, timeout_ms) };
    let is_closed = |fd: &PollFd| fd.revents & POLLNVAL != 0;
    let is_signal = result < 0 && io::Error::last_os_error().kind() == io::ErrorKind::Interrupted;
    if result < 0 && !is_signal || fds.iter().any(is_closed) {
        // The process has closed a descriptor behind the console's back, or the kernel has no
        // memory. This keeps the thread from using up a CPU.
        std::thread::sleep(Duration::from_millis(100));
    }
}

/// The descriptor is not open.
const POLLNVAL: i16 = 0x20;

/// Writes to a socket. A peer that is gone is an error, and no signal, which might end the process.
pub(super) fn write(stream: &UnixStream, bytes: &[u8]) -> io::Result<usize> {
    let (fd, len): (RawFd, usize) = (stream.as_raw_fd(), bytes.len());
    // SAFETY: the kernel reads `len` bytes of the slice.
    let sent = unsafe { send(fd, bytes.as_ptr().cast(), len, MSG_NOSIGNAL) };
    if sent < 0 { Err(io::Error::last_os_error()) } else { Ok(sent as usize) }
}
