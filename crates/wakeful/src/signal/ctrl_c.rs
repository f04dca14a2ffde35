use super::unix::{SignalKind, signal};
use std::io;

/// Waits for Ctrl-C. Starts to listen when the future is first polled.
///
/// From the first poll on, Ctrl-C no longer ends the process, even if the future is dropped; see
/// [`signal`](super).
///
/// # Cancel safety
/// Each future listens from its own first poll. A Ctrl-C between the drop of one future and the
/// first poll of the next is missed. In a loop, create one listener with
/// [`unix::signal`](super::unix::signal) before the loop.
///
/// ```
/// # wakeful::runtime::Runtime::new().unwrap().block_on(async {
/// let requests = async {
/// #   // As the terminal does when the user presses Ctrl-C.
/// #   wakeful::task::yield_now().await;
/// #   // SAFETY: a handler for this signal is installed.
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
/// Returns an error if the kernel refuses to install the handler, or the runtime has shut down.
///
/// # Panics
/// Panics if the future is polled outside a runtime with I/O enabled.
pub async fn ctrl_c() -> io::Result<()> {
    signal(SignalKind::interrupt())?.recv().await;
    Ok(())
}
