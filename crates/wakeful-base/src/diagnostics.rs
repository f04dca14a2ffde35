//! Messages of the runtime's own on standard error.

/// Writes `wakeful: ` and `message` as a line to standard error.
///
/// It does not take std's lock on standard error: a stuck task may hold that.
#[cfg(unix)]
pub fn print(message: std::fmt::Arguments<'_>) {
    use std::fs::File;
    use std::io::Write;
    use std::mem::ManuallyDrop;
    use std::os::fd::FromRawFd;

    // SAFETY: descriptor 2 is the process's for as long as the process lives, and is not closed here.
    let mut stderr = ManuallyDrop::new(unsafe { File::from_raw_fd(2) });
    // In one write, so that lines of other threads do not mix in. An error has no better place to go.
    let _ignored = stderr.write_all(format!("wakeful: {message}\n").as_bytes());
}

/// Writes `wakeful: ` and `message` as a line to standard error.
#[cfg(not(unix))]
pub fn print(message: std::fmt::Arguments<'_>) {
    eprintln!("wakeful: {message}");
}
