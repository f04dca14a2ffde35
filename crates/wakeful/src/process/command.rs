use super::child::Child;
use std::ffi::OsStr;
use std::future::Future;
use std::io;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{self, ExitStatus, Output, Stdio};
use wakeful_runtime::runtime::current_io;

/// Says how a process is to be started, and starts it.
///
/// As [`std::process::Command`], whose methods have the same names here; what it starts is awaited. It can
/// be used more than once.
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
    /// For `program`: a path, or a name that is looked for in `PATH`. It has no arguments, the environment
    /// and the folder of this process, and its standard streams, unless said otherwise.
    pub fn new<S: AsRef<OsStr>>(program: S) -> Command {
        Command::from(process::Command::new(program))
    }

    /// The command of the standard library that it is made of.
    pub fn as_std(&self) -> &process::Command {
        &self.std
    }

    /// The command of the standard library that it is made of, to change it.
    ///
    /// For what is there and not here:
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

    /// The command of the standard library that it is made of. What that does not know is lost, which is
    /// [`kill_on_drop`](Self::kill_on_drop).
    pub fn into_std(self) -> process::Command {
        self.std
    }

    /// Adds an argument. No shell sees it: what is in it needs no quoting.
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

    /// Sets a variable of its environment.
    pub fn env<K, V>(&mut self, key: K, val: V) -> &mut Command
    where
        K: AsRef<OsStr>,
        V: AsRef<OsStr>,
    {
        self.std.env(key, val);
        self
    }

    /// Sets several variables of its environment.
    pub fn envs<I, K, V>(&mut self, vars: I) -> &mut Command
    where
        I: IntoIterator<Item = (K, V)>,
        K: AsRef<OsStr>,
        V: AsRef<OsStr>,
    {
        self.std.envs(vars);
        self
    }

    /// Takes a variable out of its environment.
    pub fn env_remove<K: AsRef<OsStr>>(&mut self, key: K) -> &mut Command {
        self.std.env_remove(key);
        self
    }

    /// Lets its environment be empty, but for what is set later.
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

    /// Sets the folder it begins in.
    pub fn current_dir<P: AsRef<Path>>(&mut self, dir: P) -> &mut Command {
        self.std.current_dir(dir);
        self
    }

    /// Sets what its standard input is; with [`Stdio::piped`] that is [`Child::stdin`].
    pub fn stdin<T: Into<Stdio>>(&mut self, cfg: T) -> &mut Command {
        self.std.stdin(cfg);
        self
    }

    /// Sets what its standard output is; with [`Stdio::piped`] that is [`Child::stdout`].
    pub fn stdout<T: Into<Stdio>>(&mut self, cfg: T) -> &mut Command {
        self.std.stdout(cfg);
        self
    }

    /// Sets what its standard error is; with [`Stdio::piped`] that is [`Child::stderr`].
    pub fn stderr<T: Into<Stdio>>(&mut self, cfg: T) -> &mut Command {
        self.std.stderr(cfg);
        self
    }

    /// Whether the child is killed when its [`Child`] is dropped before its end is known, be it by the
    /// drop of a future that waits for it; false by default. It is waited for afterwards, in the
    /// background.
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

    /// Whether [`kill_on_drop`](Self::kill_on_drop) is set.
    pub fn get_kill_on_drop(&self) -> bool {
        self.kill_on_drop
    }

    /// Sets the user it runs as. That it cannot is an error of [`spawn`](Self::spawn).
    pub fn uid(&mut self, id: u32) -> &mut Command {
        self.std.uid(id);
        self
    }

    /// Sets the group it runs as. That it cannot is an error of [`spawn`](Self::spawn).
    pub fn gid(&mut self, id: u32) -> &mut Command {
        self.std.gid(id);
        self
    }

    /// Sets the name it is told to have: its argument number zero, which is the program's by default.
    pub fn arg0<S>(&mut self, arg: S) -> &mut Command
    where
        S: AsRef<OsStr>,
    {
        self.std.arg0(arg);
        self
    }

    /// Has `f` called in the child, after the fork and before the program takes its place. Its error is
    /// that of [`spawn`](Self::spawn).
    ///
    /// # Safety
    /// The child is a copy of a process with several threads, of which it has one only: what the others
    /// held locked stays so. `f` must do what a signal handler may do, and no more: no allocation, no
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
        // SAFETY: as our caller promises.
        unsafe { self.std.pre_exec(f) };
        self
    }

    /// Sets the process group it is in; with zero it begins one of its own, which signals from the terminal
    /// do not reach.
    pub fn process_group(&mut self, pgroup: i32) -> &mut Command {
        self.std.process_group(pgroup);
        self
    }

    /// Starts it.
    ///
    /// It runs by itself, awaited or not; see [`Child`].
    ///
    /// # Errors
    /// If there is no such program, or it cannot be started: no descriptors left for the pipes, say. If
    /// the runtime has shut down.
    ///
    /// # Panics
    /// Outside of a runtime with I/O.
    #[track_caller]
    pub fn spawn(&mut self) -> io::Result<Child> {
        self.spawn_with(process::Command::spawn)
    }

    /// As [`spawn`](Self::spawn), by a function that starts it.
    ///
    /// # Errors
    /// Those of `with`, and of [`spawn`](Self::spawn).
    ///
    /// # Panics
    /// Outside of a runtime with I/O.
    #[track_caller]
    pub fn spawn_with(
        &mut self,
        with: impl FnOnce(&mut process::Command) -> io::Result<process::Child>,
    ) -> io::Result<Child> {
        // First of all: what is running already could be given to nobody.
        let driver = current_io("Command::spawn");
        driver.check_running()?;
        Child::new(with(&mut self.std)?, &driver, self.kill_on_drop)
    }

    /// Starts it now, and waits for its end when awaited.
    ///
    /// If it was given pipes they are closed: it cannot be written to or read from.
    ///
    /// # Errors
    /// When awaited; those of [`spawn`](Self::spawn) and [`Child::wait`].
    ///
    /// # Panics
    /// Outside of a runtime with I/O.
    ///
    /// # Cancel safety
    /// Dropped before it is done, it drops the [`Child`], which goes on unless
    /// [`kill_on_drop`](Self::kill_on_drop) is set.
    #[track_caller]
    pub fn status(&mut self) -> impl Future<Output = io::Result<ExitStatus>> + use<> {
        let child = self.spawn();
        async {
            let mut child = child?;
            // It may wait for one of these, and we for it.
            drop((child.stdin.take(), child.stdout.take(), child.stderr.take()));
            child.wait().await
        }
    }

    /// Starts it now, with pipes for what it writes, and reads all of that until its end when awaited.
    ///
    /// # Errors
    /// When awaited; those of [`spawn`](Self::spawn) and [`Child::wait_with_output`].
    ///
    /// # Panics
    /// Outside of a runtime with I/O.
    ///
    /// Ended by somebody else's signal it has no code:
    ///
    /// # Cancel safety
    /// Dropped before it is done, it drops the [`Child`], which goes on unless
    /// [`kill_on_drop`](Self::kill_on_drop) is set. What was read is lost.
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
