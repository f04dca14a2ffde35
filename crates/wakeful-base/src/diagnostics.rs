//! Messages that the runtime itself prints to standard error.

/// Writes `wakeful: ` and `message` as one line to standard error.
///
/// Does not take std's lock on standard error, which a blocked task may hold.
pub fn print(message: std::fmt::Arguments<'_>) {
    print_raw(&format!("wakeful: {message}\n"));
}

/// Writes `text`, some whole lines, to standard error. Takes no lock, as [`print()`].
#[cfg(unix)]
pub fn print_raw(text: &str) {
    use std::fs::File;
    use std::io::Write;
    use std::mem::ManuallyDrop;
    use std::os::fd::FromRawFd;

    // SAFETY: descriptor 2 is standard error, which belongs to the process and to no Rust value.
    // `ManuallyDrop` keeps this `File` from closing it. If the process has closed it, the write
    // fails.
    let mut stderr = ManuallyDrop::new(unsafe { File::from_raw_fd(2) });
    // One write, so that lines of other threads do not mix in. There is nowhere to report an error.
    let _ignored = stderr.write_all(text.as_bytes());
}

/// Writes `text`, some whole lines, to standard error.
#[cfg(not(unix))]
pub fn print_raw(text: &str) {
    eprint!("{text}");
}
