//! What both ends of a pipe have in common, written once.

/// The type of an end: how it is made of a file, turned into one again, and watched.
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

            /// Takes a pipe over, and makes it non-blocking.
            ///
            /// # Errors
            #[doc = concat!("If it is no pipe, or was not opened for ", $purpose, ".")]
            ///
            /// # Panics
            /// Outside of a runtime with I/O.
            #[track_caller]
            pub fn from_file(file: File) -> io::Result<$End> {
                check_is_pipe(&file)?;
                check_access(&file, End::$access)?;
                set_nonblocking(&file, true)?;
                $End::from_file_unchecked(file)
            }

            /// As [`from_file`](Self::from_file), of a descriptor.
            ///
            /// # Errors
            #[doc = concat!("If it is no pipe, or was not opened for ", $purpose, ".")]
            ///
            /// # Panics
            /// Outside of a runtime with I/O.
            #[track_caller]
            pub fn from_owned_fd(owned_fd: OwnedFd) -> io::Result<$End> {
                $End::from_file(owned_fd.into())
            }

            /// Takes a file over that is known to be a non-blocking pipe, or as good as one: a transfer of
            /// less than was asked for has moved all there was, or filled all the room.
            ///
            /// # Errors
            /// If the kernel cannot watch it.
            ///
            /// # Panics
            /// Outside of a runtime with I/O.
            #[track_caller]
            pub fn from_file_unchecked(file: File) -> io::Result<$End> {
                $End::watch(file, concat!(stringify!($End), "::from_file"))
            }

            /// As [`from_file_unchecked`](Self::from_file_unchecked), of a descriptor.
            ///
            /// # Errors
            /// If the kernel cannot watch it.
            ///
            /// # Panics
            /// Outside of a runtime with I/O.
            #[track_caller]
            pub fn from_owned_fd_unchecked(owned_fd: OwnedFd) -> io::Result<$End> {
                $End::from_file_unchecked(owned_fd.into())
            }

            /// Waits until it is ready for any of `interest`, and returns what it is ready for. Several
            /// tasks may wait at once.
            ///
            /// # Errors
            /// If the runtime has shut down.
            ///
            /// # Cancel safety
            /// A wait that is dropped loses nothing.
            pub async fn ready(&self, interest: Interest) -> io::Result<Ready> {
                self.io.ready(interest).await
            }

            /// Runs `f`, an operation on the descriptor, if it is ready as far as is known. It must return
            /// `WouldBlock` if the operation did, and only then.
            ///
            /// # Errors
            /// `WouldBlock` if it is not ready; those of `f`.
            pub fn try_io<R>(&self, f: impl FnOnce() -> io::Result<R>) -> io::Result<R> {
                self.io.try_io(Interest::$interest, f)
            }

            /// The descriptor, which blocks from now on: for a child process, say.
            ///
            /// # Errors
            /// If the kernel refuses it.
            pub fn into_blocking_fd(self) -> io::Result<OwnedFd> {
                let fd = self.into_nonblocking_fd()?;
                set_nonblocking(&fd, false)?;
                Ok(fd)
            }

            /// The descriptor, which goes on not to block.
            ///
            /// # Errors
            /// If the kernel does not know it any more.
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
