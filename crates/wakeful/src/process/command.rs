use super::child::Child;
use std::ffi::OsStr;
use std::future::Future;
use std::io;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{self, ExitStatus, Output, Stdio};
use wakeful_runtime::runtime::current_io;

/// A builder for child processes.
///
/// It has the methods of [`std::process::Command`]; the processes it starts are awaited. A command
/// can be used more than once.
///
/// ```
/// # wakeful::runtime::Runtime::new().unwrap().block_on(async {
/// use wakeful::process::Command;
///
/// let status = Command::new("test").args(["-d", "/"]).status().await?;
/// assert!(status.success());
/// # std::io::Result::Ok(()) }).unwrap();
/// ```
#[derive(Debug)]
pub struct Command {
    std: process::Command,
    kill_on_drop: bool,
}

impl Command {
    /// Creates a command for `program`, which is a path or a name that is searched for in `PATH`.
    ///
    /// By default it has no arguments, and inherits the environment, the working directory and the
    /// standard streams of this process.
    pub fn new<S: AsRef<OsStr>>(program: S) -> Command {
        Command::from(process::Command::new(program))
    }

    /// Returns the underlying [`std::process::Command`].
    pub fn as_std(&self) -> &process::Command {
        &self.std
    }

    /// Returns the underlying [`std::process::Command`] mutably.
    ///
    /// For methods that `Command` does not have itself:
    ///
    /// ```
    /// # wakeful::runtime::Runtime::new().unwrap().block_on(async {
    /// use wakeful::process::Command;
    ///
    /// let mut command = Command::new("echo");
    /// command.as_std_mut().arg("hello");
    /// let arguments: Vec<_> = command.as_std().get_args().collect();
    /// assert_eq!(arguments, ["hello"]);
    /// # std::io::Result::Ok(()) }).unwrap();
    /// ```
    pub fn as_std_mut(&mut self) -> &mut process::Command {
        &mut self.std
    }

    /// Converts the command into the underlying [`std::process::Command`].
    ///
    /// The setting of [`kill_on_drop`](Self::kill_on_drop) is lost.
    pub fn into_std(self) -> process::Command {
        self.std
    }

    /// Adds an argument. It is not passed through a shell, so it needs no quoting.
    pub fn arg<S: AsRef<OsStr>>(&mut self, arg: S) -> &mut Command {
        self.std.arg(arg);
        self
    }

    /// Adds several arguments.
    pub fn args<I, S>(&mut self, args: I) -> &mut Command
    where
        I: IntoIterator<Item = S>,
        S: AsRef<OsStr>,
    {
        self.std.args(args);
        self
    }

    /// Sets an environment variable of the child.
    pub fn env<K, V>(&mut self, key: K, val: V) -> &mut Command
    where
        K: AsRef<OsStr>,
        V: AsRef<OsStr>,
    {
        self.std.env(key, val);
        self
    }

    /// Sets several environment variables of the child.
    pub fn envs<I, K, V>(&mut self, vars: I) -> &mut Command
    where
        I: IntoIterator<Item = (K, V)>,
        K: AsRef<OsStr>,
        V: AsRef<OsStr>,
    {
        self.std.envs(vars);
        self
    }

    /// Removes an environment variable from the child's environment.
    pub fn env_remove<K: AsRef<OsStr>>(&mut self, key: K) -> &mut Command {
        self.std.env_remove(key);
        self
    }

    /// Clears the child's environment. Only variables that are set afterwards are passed on.
    ///
    /// ```
    /// # wakeful::runtime::Runtime::new().unwrap().block_on(async {
    /// use wakeful::process::Command;
    ///
    /// let env = Command::new("/usr/bin/env").env_clear().env("GREETING", "hello").output().await?;
    /// assert_eq!(env.stdout, b"GREETING=hello\n");
    /// # std::io::Result::Ok(()) }).unwrap();
    /// ```
    pub fn env_clear(&mut self) -> &mut Command {
        self.std.env_clear();
        self
    }

    /// Sets the child's working directory.
    pub fn current_dir<P: AsRef<Path>>(&mut self, dir: P) -> &mut Command {
        self.std.current_dir(dir);
        self
    }

    /// Sets the child's standard input. With [`Stdio::piped`], its other end is [`Child::stdin`].
    pub fn stdin<T: Into<Stdio>>(&mut self, cfg: T) -> &mut Command {
        self.std.stdin(cfg);
        self
    }

    /// Sets the child's standard output. With [`Stdio::piped`], its other end is [`Child::stdout`].
    pub fn stdout<T: Into<Stdio>>(&mut self, cfg: T) -> &mut Command {
        self.std.stdout(cfg);
        self
    }

    /// Sets the child's standard error. With [`Stdio::piped`], its other end is [`Child::stderr`].
    pub fn stderr<T: Into<Stdio>>(&mut self, cfg: T) -> &mut Command {
        self.std.stderr(cfg);
        self
    }

    /// Sets whether the process is killed when its [`Child`] is dropped before it has exited.
    ///
    /// The default is `false`. This includes a `Child` that is dropped with a future that waits for
    /// it. The runtime waits for the killed process in the background.
    ///
    /// ```
    /// # wakeful::runtime::Runtime::new().unwrap().block_on(async {
    /// use std::time::Duration;
    /// use wakeful::{process::Command, time::timeout};
    ///
    /// let endless = Command::new("sleep").arg("100").kill_on_drop(true).status();
    /// assert!(timeout(Duration::from_millis(5), endless).await.is_err()); // and it is gone
    /// # std::io::Result::Ok(()) }).unwrap();
    /// ```
    pub fn kill_on_drop(&mut self, kill_on_drop: bool) -> &mut Command {
        self.kill_on_drop = kill_on_drop;
        self
    }

    /// Returns whether [`kill_on_drop`](Self::kill_on_drop) is set.
    pub fn get_kill_on_drop(&self) -> bool {
        self.kill_on_drop
    }

    /// Sets the user id of the child. If it cannot be set, [`spawn`](Self::spawn) fails.
    pub fn uid(&mut self, id: u32) -> &mut Command {
        self.std.uid(id);
        self
    }

    /// Sets the group id of the child. If it cannot be set, [`spawn`](Self::spawn) fails.
    pub fn gid(&mut self, id: u32) -> &mut Command {
        self.std.gid(id);
        self
    }

    /// Sets argument zero of the child, its own name. The default is the program's name.
    pub fn arg0<S>(&mut self, arg: S) -> &mut Command
    where
        S: AsRef<OsStr>,
    {
        self.std.arg0(arg);
        self
    }

    /// Calls `f` in the child, between `fork` and `exec`.
    ///
    /// If `f` fails, [`spawn`](Self::spawn) returns its error.
    ///
    /// # Safety
    /// After the fork the child has only one of the process's threads, and locks that other threads
    /// held stay locked. `f` may only do what a signal handler may do: it must not allocate or
    /// lock.
    ///
    /// ```
    /// # wakeful::runtime::Runtime::new().unwrap().block_on(async {
    /// use wakeful::process::Command;
    ///
    /// let mut command = Command::new("sh");
    /// command.args(["-c", "umask"]);
    /// // SAFETY: `umask` may be called by a signal handler.
    /// unsafe {
    ///     command.pre_exec(|| {
    ///         libc::umask(0o027);
    ///         Ok(())
    ///     })
    /// };
    /// assert_eq!(command.output().await?.stdout, b"0027\n");
    /// # std::io::Result::Ok(()) }).unwrap();
    /// ```
    pub unsafe fn pre_exec<F>(&mut self, f: F) -> &mut Command
    where
        F: FnMut() -> io::Result<()> + Send + Sync + 'static,
    {
        // SAFETY: the caller guarantees that `f` is safe to call between `fork` and `exec`.
        unsafe { self.std.pre_exec(f) };
        self
    }

    /// Sets the process group of the child.
    ///
    /// With zero the child starts a new group, which signals from the terminal do not reach.
    pub fn process_group(&mut self, pgroup: i32) -> &mut Command {
        self.std.process_group(pgroup);
        self
    }

    /// Starts the process.
    ///
    /// The process runs whether or not its [`Child`] is awaited.
    ///
    /// # Errors
    /// Returns an error if the program does not exist or cannot be started, for lack of descriptors
    /// for its pipes for example, or if the runtime has shut down.
    ///
    /// # Panics
    /// Panics if called outside a runtime with I/O enabled.
    #[track_caller]
    pub fn spawn(&mut self) -> io::Result<Child> {
        self.spawn_with(process::Command::spawn)
    }

    /// Starts the process with the function `with`. Otherwise the same as [`spawn`](Self::spawn).
    ///
    /// # Errors
    /// Returns the errors of `with`, and of [`spawn`](Self::spawn).
    ///
    /// # Panics
    /// Panics if called outside a runtime with I/O enabled.
    #[track_caller]
    pub fn spawn_with(
        &mut self,
        with: impl FnOnce(&mut process::Command) -> io::Result<process::Child>,
    ) -> io::Result<Child> {
        // Check the runtime before the process is started: the caller of a failed `spawn` could not
        // reach a process that runs already.
        let driver = current_io("Command::spawn");
        driver.check_running()?;
        Child::new(with(&mut self.std)?, &driver, self.kill_on_drop)
    }

    /// Starts the process immediately, and returns a future that waits for its exit.
    ///
    /// Closes the pipes to the process, if there are any.
    ///
    /// # Errors
    /// The future returns the errors of [`spawn`](Self::spawn) and [`Child::wait`].
    ///
    /// # Panics
    /// Panics if called outside a runtime with I/O enabled.
    ///
    /// # Cancel safety
    /// If the future is dropped, its [`Child`] is dropped with it. The process keeps running,
    /// unless [`kill_on_drop`](Self::kill_on_drop) is set.
    #[track_caller]
    pub fn status(&mut self) -> impl Future<Output = io::Result<ExitStatus>> + use<> {
        let child = self.spawn();
        async {
            let mut child = child?;
            // The process may block on one of its pipes, which would be a deadlock with the wait
            // below.
            drop((child.stdin.take(), child.stdout.take(), child.stderr.take()));
            child.wait().await
        }
    }

    /// Starts the process immediately, and returns a future that collects its output.
    ///
    /// Standard output and standard error are pipes. The future also waits for the exit.
    ///
    /// # Errors
    /// The future returns the errors of [`spawn`](Self::spawn) and [`Child::wait_with_output`].
    ///
    /// # Panics
    /// Panics if called outside a runtime with I/O enabled.
    ///
    /// # Cancel safety
    /// This method is not cancel safe: if the future is dropped, its [`Child`] is dropped with it,
    /// and the output read so far is lost. The process keeps running, unless
    /// [`kill_on_drop`](Self::kill_on_drop) is set.
    ///
    /// # Examples
    /// A process that was ended by a signal has no exit code:
    ///
    /// ```
    /// # wakeful::runtime::Runtime::new().unwrap().block_on(async {
    /// use std::os::unix::process::ExitStatusExt;
    /// use wakeful::process::Command;
    ///
    /// let output = Command::new("sh").args(["-c", "echo begun; kill -9 $$"]).output().await?;
    /// assert_eq!(output.stdout, b"begun\n");
    /// assert_eq!((output.status.code(), output.status.signal()), (None, Some(9)));
    /// # std::io::Result::Ok(()) }).unwrap();
    /// ```
    #[track_caller]
    pub fn output(&mut self) -> impl Future<Output = io::Result<Output>> + use<> {
        self.std.stdout(Stdio::piped());
        self.std.stderr(Stdio::piped());
        let child = self.spawn();
        async { child?.wait_with_output().await }
    }
}

impl From<process::Command> for Command {
    fn from(std: process::Command) -> Command {
        Command { std, kill_on_drop: false }
    }
}
