use super::unix::{SignalKind, signal};
use std::io;

/// Waits for ctrl-c, from when it is first polled.
///
/// After that the process is not ended by ctrl-c any more, see [`signal`](super).
///
/// # Cancel safety
/// Each call listens from its own first poll: what comes between the drop of one future and the first poll of
/// the next is missed. In a loop, listen with [`unix::signal`](super::unix::signal), made once.
///
/// ```
/// # wakeful::runtime::Runtime::new().unwrap().block_on(async {
/// let requests = async {
/// #   // As somebody at the keyboard would.
/// #   wakeful::task::yield_now().await;
/// #   // SAFETY: sends a signal that is listened for.
/// #   unsafe { libc::raise(libc::SIGINT) };
///     std::future::pending::<()>().await // serves them
/// };
/// wakeful::select! {
///     biased;
///     pressed = wakeful::signal::ctrl_c() => pressed?,
///     () = requests => {}
/// }
/// println!("good bye");
/// # std::io::Result::Ok(()) }).unwrap();
/// ```
///
/// # Errors
/// If the kernel refuses the handler, or the runtime has shut down.
///
/// # Panics
/// Outside of a runtime with I/O.
pub async fn ctrl_c() -> io::Result<()> {
    signal(SignalKind::interrupt())?.recv().await;
    Ok(())
}
