//! The methods that both ends of a pipe share, as a macro.

/// Defines the type of an end, with its conversions from and to files and descriptors.
macro_rules! pipe_end {
    ($(#[$doc:meta])* $End:ident, $access:ident, $interest:ident, for $purpose:literal) => {
        $(#[$doc])*
        #[derive(Debug)]
        pub struct $End {
            io: Watched<File>,
        }

        impl $End {
            #[track_caller]
            pub(super) fn watch(file: File, call: &str) -> io::Result<$End> {
                Ok($End { io: Watched::new(file, Interest::$interest, call)? })
            }

            /// Converts a file that is a pipe, and makes it non-blocking.
            ///
            /// # Errors
            #[doc = concat!("If it is not a pipe, or was not opened for ", $purpose, ".")]
            ///
            /// # Panics
            /// Panics if there is no current runtime, or its I/O driver is disabled.
            #[track_caller]
            pub fn from_file(file: File) -> io::Result<$End> {
                check_is_pipe(&file)?;
                check_access(&file, End::$access)?;
                set_nonblocking(&file, true)?;
                $End::from_file_unchecked(file)
            }

            /// Converts a descriptor, like [`from_file`](Self::from_file).
            ///
            /// # Errors
            #[doc = concat!("If it is not a pipe, or was not opened for ", $purpose, ".")]
            ///
            /// # Panics
            /// Panics if there is no current runtime, or its I/O driver is disabled.
            #[track_caller]
            pub fn from_owned_fd(owned_fd: OwnedFd) -> io::Result<$End> {
                $End::from_file(owned_fd.into())
            }

            /// Converts a file without checking it.
            ///
            /// It must be a non-blocking pipe or behave like one.
            ///
            /// In particular, a transfer that is shorter than its buffer must mean that the pipe is
            /// now empty, or full.
            ///
            /// # Errors
            /// Returns an error if the kernel cannot watch the descriptor.
            ///
            /// # Panics
            /// Panics if there is no current runtime, or its I/O driver is disabled.
            #[track_caller]
            pub fn from_file_unchecked(file: File) -> io::Result<$End> {
                $End::watch(file, concat!(stringify!($End), "::from_file"))
            }

            /// Converts a descriptor, like [`from_file_unchecked`](Self::from_file_unchecked).
            ///
            /// # Errors
            /// Returns an error if the kernel cannot watch the descriptor.
            ///
            /// # Panics
            /// Panics if there is no current runtime, or its I/O driver is disabled.
            #[track_caller]
            pub fn from_owned_fd_unchecked(owned_fd: OwnedFd) -> io::Result<$End> {
                $End::from_file_unchecked(owned_fd.into())
            }

            /// Waits until the pipe is ready for any of `interest`; returns what it is ready for.
            ///
            /// Several tasks may wait at once.
            ///
            /// # Errors
            /// Returns an error if the runtime has shut down.
            ///
            /// # Cancel safety
            /// This method is cancel safe: if the future is dropped, no event is lost.
            pub async fn ready(&self, interest: Interest) -> io::Result<Ready> {
                self.io.ready(interest).await
            }

            /// Runs `f`, an operation on the descriptor, if the pipe is known to be ready.
            ///
            /// `f` must return `WouldBlock` exactly if its operation did.
            /// # Errors
            /// Returns `WouldBlock` if the pipe is not known to be ready, or the errors of `f`.
            pub fn try_io<R>(&self, f: impl FnOnce() -> io::Result<R>) -> io::Result<R> {
                self.io.try_io(Interest::$interest, f)
            }

            /// Converts into a blocking descriptor, for example for a child process.
            ///
            /// # Errors
            /// Returns an error if the system call fails.
            pub fn into_blocking_fd(self) -> io::Result<OwnedFd> {
                let fd = self.into_nonblocking_fd()?;
                set_nonblocking(&fd, false)?;
                Ok(fd)
            }

            /// Converts into a descriptor, which stays non-blocking.
            ///
            /// # Errors
            /// Returns an error if the descriptor cannot be removed from the driver.
            pub fn into_nonblocking_fd(self) -> io::Result<OwnedFd> {
                Ok(self.io.into_inner()?.into())
            }
        }

        impl AsRawFd for $End {
            fn as_raw_fd(&self) -> RawFd {
                self.io.as_raw_fd()
            }
        }

        impl AsFd for $End {
            fn as_fd(&self) -> BorrowedFd<'_> {
                self.io.as_fd()
            }
        }
    };
}

pub(super) use pipe_end;
