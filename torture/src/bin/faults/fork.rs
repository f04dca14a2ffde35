//! A process that forks while its runtime is running.

use crate::workload::Flavour;
use std::io;
use std::time::Duration;
use wakeful::io::{AsyncReadExt, AsyncWriteExt};
use wakeful::net::UnixStream;
use wakeful::time::sleep;

/// The number of forks.
const FORKS: usize = 20;

/// Forks several times. Each child builds a runtime, uses it and exits.
///
/// # Errors
/// Returns an error if a child does not exit with success.
pub fn with_a_runtime_in_the_child(flavour: Flavour) -> Result<(), String> {
    for _ in 0..FORKS {
        // SAFETY: after the fork the child has one thread. It must not take a lock that another
        // thread of the parent may have held: the C library makes its allocator usable after a
        // fork, and the child does not write through the standard library.
        let child = unsafe { libc::fork() };
        if child == 0 {
            let code = if use_a_runtime(flavour).is_ok() { 0 } else { 1 };
            // SAFETY: takes a number and does not return. The child runs none of the parent's
            // destructors.
            unsafe { libc::_exit(code) };
        }
        let mut status = 0;
        // SAFETY: `status` is a live local that the call writes to.
        if child < 0 || unsafe { libc::waitpid(child, &raw mut status, 0) } != child {
            return Err(io::Error::last_os_error().to_string());
        }
        if status != 0 {
            return Err(format!("a child process ended with status {status:#x}"));
        }
    }
    Ok(())
}

fn use_a_runtime(flavour: Flavour) -> io::Result<()> {
    let runtime = flavour.build()?;
    runtime.block_on(async {
        let (mut one, mut other) = UnixStream::pair()?;
        let writes = wakeful::spawn(async move { one.write_all(b"hello").await });
        sleep(Duration::from_millis(2)).await;
        let mut text = [0; 5];
        other.read_exact(&mut text).await?;
        writes.await??;
        let sum = wakeful::task::spawn_blocking(|| 3).await?;
        if sum == 3 && &text == b"hello" { Ok(()) } else { Err(io::Error::other("wrong")) }
    })
}
