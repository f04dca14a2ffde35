use super::running::RunningChild;
use super::stdio::{ChildStderr, ChildStdin, ChildStdout};
use crate::io::AsyncRead;
use std::future::{Future, poll_fn};
use std::io;
use std::mem;
use std::pin::{Pin, pin};
use std::process::{self, ExitStatus, Output};
use std::sync::Arc;
use std::task::{Context, Poll};
use wakeful_io::AsyncReadExt;
use wakeful_reactor::io::IoDriver;

/// A child process. Returned by [`Command::spawn`](super::Command::spawn).
///
/// When a `Child` is dropped, its process keeps running, unless
/// [`kill_on_drop`](super::Command::kill_on_drop) is set. The runtime waits for the process in the
/// background, so no zombie is left.
///
/// ```
/// # wakeful::runtime::Runtime::new().unwrap().block_on(async {
/// use std::process::Stdio;
/// use wakeful::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
/// use wakeful::process::{Child, Command};
///
/// let mut child: Child =
///     Command::new("cat").stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
/// let mut stdin = child.stdin.take().unwrap();
/// let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
///
/// stdin.write_all(b"hello\n").await?;
/// assert_eq!(lines.next_line().await?.as_deref(), Some("hello"));
/// drop(stdin); // the end of its input
/// assert!(child.wait().await?.success());
/// # std::io::Result::Ok(()) }).unwrap();
/// ```
#[derive(Debug)]
pub struct Child {
    // Fields drop in order: this one is first, so that `kill_on_drop` kills the process before its
    // streams are closed.
    state: ChildState,

    /// The write end of the child's standard input, if that is a pipe.
    ///
    /// See [`Command::stdin`](super::Command::stdin). Take it out to use it: [`wait`](Self::wait)
    /// closes it if it is still here.
    pub stdin: Option<ChildStdin>,

    /// The read end of the child's standard output, if that is a pipe.
    ///
    /// See [`Command::stdout`](super::Command::stdout).
    pub stdout: Option<ChildStdout>,

    /// The read end of the child's standard error, if that is a pipe.
    ///
    /// See [`Command::stderr`](super::Command::stderr).
    pub stderr: Option<ChildStderr>,
}

#[derive(Debug)]
enum ChildState {
    Running(RunningChild),
    Ended(ExitStatus),
}

impl Child {
    /// Wraps a child that was just started. If the child or its streams cannot be watched, it is
    /// killed: the caller gets an error and could not reach it.
    pub(super) fn new(
        mut child: process::Child,
        driver: &Arc<IoDriver>,
        kill_on_drop: bool,
    ) -> io::Result<Child> {
        let (stdin, stdout, stderr) =
            (child.stdin.take(), child.stdout.take(), child.stderr.take());
        let mut running = RunningChild::new(child, driver)?;
        running.kill_on_drop = true;
        let stdin = stdin.map(|stdin| ChildStdin::watch(stdin, driver)).transpose()?;
        let stdout = stdout.map(|stdout| ChildStdout::watch(stdout, driver)).transpose()?;
        let stderr = stderr.map(|stderr| ChildStderr::watch(stderr, driver)).transpose()?;
        running.kill_on_drop = kill_on_drop;
        Ok(Child { state: ChildState::Running(running), stdin, stdout, stderr })
    }

    /// Returns the process id, or `None` once the exit was observed.
    ///
    /// The system may then assign the id to another process.
    ///
    /// ```
    /// # wakeful::runtime::Runtime::new().unwrap().block_on(async {
    /// use std::os::unix::process::ExitStatusExt;
    /// use wakeful::process::Command;
    ///
    /// let mut child = Command::new("sleep").arg("100").spawn()?;
    /// let pid = child.id().expect("not waited for yet") as i32;
    /// // SAFETY: the child has not been waited for, so the id still belongs to it.
    /// unsafe { libc::kill(pid, libc::SIGTERM) };
    /// assert_eq!(child.wait().await?.signal(), Some(libc::SIGTERM));
    /// assert_eq!(child.id(), None);
    /// # std::io::Result::Ok(()) }).unwrap();
    /// ```
    pub fn id(&self) -> Option<u32> {
        match &self.state {
            ChildState::Running(running) => Some(running.id()),
            ChildState::Ended(_) => None,
        }
    }

    /// Sends `SIGKILL` to the process, without waiting for its exit.
    ///
    /// Does nothing if the exit was observed already.
    ///
    /// # Errors
    /// Returns an error if the kernel refuses to send the signal.
    ///
    /// ```
    /// # wakeful::runtime::Runtime::new().unwrap().block_on(async {
    /// use std::os::unix::process::ExitStatusExt;
    /// use wakeful::process::Command;
    ///
    /// let mut child = Command::new("sleep").arg("100").spawn()?;
    /// child.start_kill()?;
    /// assert_eq!(child.wait().await?.signal(), Some(libc::SIGKILL));
    /// # std::io::Result::Ok(()) }).unwrap();
    /// ```
    pub fn start_kill(&mut self) -> io::Result<()> {
        match &mut self.state {
            ChildState::Running(running) => running.kill(),
            ChildState::Ended(_) => Ok(()),
        }
    }

    /// Kills the process and waits for its exit.
    ///
    /// # Cancel safety
    /// This method is cancel safe. The first poll kills the process; if the future is dropped after
    /// that, the exit can be waited for with another call.
    ///
    /// ```
    /// # wakeful::runtime::Runtime::new().unwrap().block_on(async {
    /// use std::time::Duration;
    /// use wakeful::process::Command;
    /// use wakeful::time::timeout;
    ///
    /// let mut child = Command::new("sleep").arg("100").spawn()?;
    /// if timeout(Duration::from_millis(10), child.wait()).await.is_err() {
    ///     child.kill().await?;
    /// }
    /// # std::io::Result::Ok(()) }).unwrap();
    /// ```
    ///
    /// # Errors
    /// Returns an error if the kernel refuses to send the signal, or the errors of
    /// [`wait`](Self::wait).
    pub async fn kill(&mut self) -> io::Result<()> {
        self.start_kill()?;
        self.wait().await?;
        Ok(())
    }

    /// Waits for the exit of the process. Later calls return the same status again.
    ///
    /// First closes the standard input of the process, if it was not taken out of this `Child`: the
    /// process may not exit before it has read the end of its input.
    ///
    /// # Cancel safety
    /// This method is cancel safe: if the future is dropped, the exit can be waited for with
    /// another call.
    ///
    /// ```
    /// # wakeful::runtime::Runtime::new().unwrap().block_on(async {
    /// use wakeful::process::Command;
    ///
    /// let mut child = Command::new("sh").args(["-c", "exit 3"]).spawn()?;
    /// assert_eq!(child.wait().await?.code(), Some(3));
    /// assert_eq!(child.wait().await?.code(), Some(3));
    /// # std::io::Result::Ok(()) }).unwrap();
    /// ```
    ///
    /// # Errors
    /// Returns an error if other code has already waited for the process, or if the runtime that
    /// started it has shut down and the future is not polled in another one.
    pub async fn wait(&mut self) -> io::Result<ExitStatus> {
        drop(self.stdin.take());
        poll_fn(|cx| self.poll_wait(cx)).await
    }

    fn poll_wait(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<ExitStatus>> {
        match &mut self.state {
            ChildState::Ended(status) => Poll::Ready(Ok(*status)),
            ChildState::Running(running) => {
                running.poll_exit(cx).map_ok(|status| self.record_exit(status))
            }
        }
    }

    /// Returns the exit status if the process has exited, without waiting.
    ///
    /// Does not close its input.
    ///
    /// # Errors
    /// Returns an error if other code has already waited for the process.
    ///
    /// ```
    /// # wakeful::runtime::Runtime::new().unwrap().block_on(async {
    /// use wakeful::process::Command;
    ///
    /// let mut child = Command::new("sleep").arg("100").spawn()?;
    /// assert!(child.try_wait()?.is_none());
    /// child.kill().await?;
    /// assert!(child.try_wait()?.is_some());
    /// # std::io::Result::Ok(()) }).unwrap();
    /// ```
    pub fn try_wait(&mut self) -> io::Result<Option<ExitStatus>> {
        match &mut self.state {
            ChildState::Ended(status) => Ok(Some(*status)),
            ChildState::Running(running) => {
                let status = running.child().try_wait()?;
                Ok(status.map(|status| self.record_exit(status)))
            }
        }
    }

    fn record_exit(&mut self, status: ExitStatus) -> ExitStatus {
        if let ChildState::Running(running) = &mut self.state {
            running.kill_on_drop = false;
        }
        self.state = ChildState::Ended(status);
        status
    }

    /// Waits for the exit of the process and collects its output.
    ///
    /// Reads standard output and standard error to their ends, as far as they are pipes and were
    /// not taken out of this `Child`.
    ///
    /// # Errors
    /// Returns the errors of [`wait`](Self::wait), and of reading.
    ///
    /// # Cancel safety
    /// This method is not cancel safe: if the future is dropped, the [`Child`] is dropped with it,
    /// and the output read so far is lost.
    ///
    /// ```
    /// # wakeful::runtime::Runtime::new().unwrap().block_on(async {
    /// use std::process::Stdio;
    /// use wakeful::process::Command;
    ///
    /// let child = Command::new("sh")
    ///     .args(["-c", "echo fine; echo but >&2; exit 1"])
    ///     .stdout(Stdio::piped())
    ///     .stderr(Stdio::piped())
    ///     .spawn()?;
    /// let output = child.wait_with_output().await?;
    /// assert_eq!((output.stdout, output.stderr), (b"fine\n".to_vec(), b"but\n".to_vec()));
    /// assert_eq!(output.status.code(), Some(1));
    /// # std::io::Result::Ok(()) }).unwrap();
    /// ```
    pub async fn wait_with_output(mut self) -> io::Result<Output> {
        // The pipes outlive the reads, so that the child gets no `SIGPIPE` for what it writes after
        // an end of file.
        let (mut stdout_pipe, mut stderr_pipe) = (self.stdout.take(), self.stderr.take());
        let mut exit = pin!(self.wait());
        let mut read_stdout = pin!(read_all(stdout_pipe.as_mut()));
        let mut read_stderr = pin!(read_all(stderr_pipe.as_mut()));
        let (mut status, mut stdout, mut stderr) = (None, None, None);
        poll_fn(|cx| {
            poll_part(&mut status, exit.as_mut(), cx)?;
            poll_part(&mut stdout, read_stdout.as_mut(), cx)?;
            poll_part(&mut stderr, read_stderr.as_mut(), cx)?;
            let (Some(status), Some(stdout), Some(stderr)) = (status, &mut stdout, &mut stderr)
            else {
                return Poll::Pending;
            };
            Poll::Ready(Ok(Output { status, stdout: mem::take(stdout), stderr: mem::take(stderr) }))
        })
        .await
    }
}

async fn read_all(stream: Option<&mut (impl AsyncRead + Unpin)>) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    if let Some(stream) = stream {
        stream.read_to_end(&mut bytes).await?;
    }
    Ok(bytes)
}

/// Polls `future` and stores its output in `part`, unless it has done so already.
fn poll_part<T>(
    part: &mut Option<T>,
    future: Pin<&mut impl Future<Output = io::Result<T>>>,
    cx: &mut Context<'_>,
) -> io::Result<()> {
    if part.is_none() {
        if let Poll::Ready(result) = future.poll(cx) {
            *part = Some(result?);
        }
    }
    Ok(())
}
