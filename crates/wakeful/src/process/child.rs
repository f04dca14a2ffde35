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

/// A child process. From [`Command::spawn`](super::Command::spawn).
///
/// It goes on when this is dropped, unless
/// [`kill_on_drop`](super::Command::kill_on_drop) was asked for, and is waited for by the runtime then.
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
    // First, so that it is killed before its streams are closed.
    state: ChildState,

    /// What the child reads from, if that is a pipe: see
    /// [`Command::stdin`](super::Command::stdin). Take it out to use it:
    /// [`wait`](Self::wait) closes what is left here.
    pub stdin: Option<ChildStdin>,

    /// What the child writes to, if that is a pipe: see
    /// [`Command::stdout`](super::Command::stdout).
    pub stdout: Option<ChildStdout>,

    /// What the child writes its errors to, if that is a pipe: see
    /// [`Command::stderr`](super::Command::stderr).
    pub stderr: Option<ChildStderr>,
}

#[derive(Debug)]
enum ChildState {
    Running(RunningChild),
    Ended(ExitStatus),
}

impl Child {
    /// Takes over what was just started. If it cannot be watched it is killed, since nobody would know
    /// of it.
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

    /// Its process id; none once its end is known, when the number may be another's.
    ///
    /// ```
    /// # wakeful::runtime::Runtime::new().unwrap().block_on(async {
    /// use std::os::unix::process::ExitStatusExt;
    /// use wakeful::process::Command;
    ///
    /// let mut child = Command::new("sleep").arg("100").spawn()?;
    /// let pid = child.id().expect("not waited for yet") as i32;
    /// // SAFETY: asks a child of ours to end; it has not been waited for, so the number is still its own.
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

    /// Kills it, without waiting for its end: `SIGKILL`.
    ///
    /// Does nothing if its end is known.
    ///
    /// # Errors
    /// If the kernel refuses it.
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

    /// Kills it, and waits for its end.
    ///
    /// # Cancel safety
    /// Once polled, it has killed the child. To wait for its end can be given up and begun again.
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
    /// If the kernel refuses it; those of [`wait`](Self::wait).
    pub async fn kill(&mut self) -> io::Result<()> {
        self.start_kill()?;
        self.wait().await?;
        Ok(())
    }

    /// Waits for its end. Returns the same ever after.
    ///
    /// Closes its input first, if that was not taken out: it may be waiting for the end of that. May be
    /// dropped at any time, and called again.
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
    /// If somebody else has waited for it, or the runtime has shut down and it is waited for in no other.
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

    /// Whether it has ended, and how, without waiting. The input stays as it is.
    ///
    /// # Errors
    /// If somebody else has waited for it.
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

    /// Waits for its end, and reads all that it writes meanwhile to those streams that are still here.
    ///
    /// # Errors
    /// Those of [`wait`](Self::wait), and of reading.
    ///
    /// # Cancel safety
    /// Dropped before it is done, it drops the [`Child`], and what was read is lost.
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
        // They outlive the reads, so that nothing the child still writes finds nobody to read it.
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

/// Polls `future` until it has put what it returns into `part`.
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
