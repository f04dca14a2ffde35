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
    /// The signal of that number, for those that have no function here.
    ///
    /// ```
    /// use wakeful::signal::unix::SignalKind;
    ///
    /// assert_eq!(SignalKind::from_raw(libc::SIGTERM), SignalKind::terminate());
    /// ```
    pub const fn from_raw(signum: c_int) -> Self {
        SignalKind(signum)
    }

    /// Its number.
    pub const fn as_raw_value(&self) -> c_int {
        self.0
    }

    /// `SIGALRM`: a timer of the system has run down.
    pub const fn alarm() -> Self {
        SignalKind(libc::SIGALRM)
    }

    /// `SIGCHLD`: a child process has ended or stopped.
    pub const fn child() -> Self {
        SignalKind(libc::SIGCHLD)
    }

    /// `SIGHUP`: the terminal is gone; of daemons it asks to read their configuration again.
    pub const fn hangup() -> Self {
        SignalKind(libc::SIGHUP)
    }

    /// `SIGINFO`: somebody wants to know how things are going.
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

    /// `SIGINT`: ctrl-c.
    pub const fn interrupt() -> Self {
        SignalKind(libc::SIGINT)
    }

    /// `SIGIO`: a descriptor is ready.
    pub const fn io() -> Self {
        SignalKind(libc::SIGIO)
    }

    /// `SIGPIPE`: written to a pipe that nobody reads.
    pub const fn pipe() -> Self {
        SignalKind(libc::SIGPIPE)
    }

    /// `SIGQUIT`: ctrl-\, which wants a core dump.
    pub const fn quit() -> Self {
        SignalKind(libc::SIGQUIT)
    }

    /// `SIGTERM`: the process is asked to end.
    pub const fn terminate() -> Self {
        SignalKind(libc::SIGTERM)
    }

    /// `SIGUSR1`: means what the program wants it to.
    pub const fn user_defined1() -> Self {
        SignalKind(libc::SIGUSR1)
    }

    /// `SIGUSR2`: means what the program wants it to.
    pub const fn user_defined2() -> Self {
        SignalKind(libc::SIGUSR2)
    }

    /// `SIGWINCH`: the terminal has another size.
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
