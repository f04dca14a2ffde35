use std::os::raw::c_int;

/// A kind of signal.
///
/// ```
/// use wakeful::signal::unix::SignalKind;
///
/// assert_eq!(SignalKind::interrupt().as_raw_value(), libc::SIGINT);
/// let realtime = SignalKind::from_raw(libc::SIGRTMIN());
/// assert_ne!(realtime, SignalKind::user_defined1());
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct SignalKind(c_int);

impl SignalKind {
    /// Returns the kind with the number `signum`, for signals that have no function here.
    ///
    /// ```
    /// use wakeful::signal::unix::SignalKind;
    ///
    /// assert_eq!(SignalKind::from_raw(libc::SIGTERM), SignalKind::terminate());
    /// ```
    pub const fn from_raw(signum: c_int) -> Self {
        SignalKind(signum)
    }

    /// Returns the number of the signal.
    pub const fn as_raw_value(&self) -> c_int {
        self.0
    }

    /// Returns `SIGALRM`: a timer of the system has expired.
    pub const fn alarm() -> Self {
        SignalKind(libc::SIGALRM)
    }

    /// Returns `SIGCHLD`: a child process has ended or stopped.
    pub const fn child() -> Self {
        SignalKind(libc::SIGCHLD)
    }

    /// Returns `SIGHUP`: the terminal was closed. By convention, asks a daemon to reload its
    /// configuration.
    pub const fn hangup() -> Self {
        SignalKind(libc::SIGHUP)
    }

    /// Returns `SIGINFO`: the user asks for a progress report.
    #[cfg(any(
        target_os = "dragonfly",
        target_os = "freebsd",
        target_os = "macos",
        target_os = "netbsd",
        target_os = "openbsd",
        target_os = "illumos"
    ))]
    pub const fn info() -> Self {
        SignalKind(libc::SIGINFO)
    }

    /// Returns `SIGINT`: Ctrl-C was pressed.
    pub const fn interrupt() -> Self {
        SignalKind(libc::SIGINT)
    }

    /// Returns `SIGIO`: a descriptor is ready.
    pub const fn io() -> Self {
        SignalKind(libc::SIGIO)
    }

    /// Returns `SIGPIPE`: the process wrote to a pipe that has no reader.
    pub const fn pipe() -> Self {
        SignalKind(libc::SIGPIPE)
    }

    /// Returns `SIGQUIT`: Ctrl-\ was pressed, which asks for a core dump.
    pub const fn quit() -> Self {
        SignalKind(libc::SIGQUIT)
    }

    /// Returns `SIGTERM`: the process is asked to end.
    pub const fn terminate() -> Self {
        SignalKind(libc::SIGTERM)
    }

    /// Returns `SIGUSR1`: the program defines its meaning.
    pub const fn user_defined1() -> Self {
        SignalKind(libc::SIGUSR1)
    }

    /// Returns `SIGUSR2`: the program defines its meaning.
    pub const fn user_defined2() -> Self {
        SignalKind(libc::SIGUSR2)
    }

    /// Returns `SIGWINCH`: the size of the terminal has changed.
    pub const fn window_change() -> Self {
        SignalKind(libc::SIGWINCH)
    }
}

impl From<c_int> for SignalKind {
    fn from(signum: c_int) -> Self {
        SignalKind(signum)
    }
}

impl From<SignalKind> for c_int {
    fn from(kind: SignalKind) -> Self {
        kind.0
    }
}
