//! What all socket types have in common, written once.

/// To and from the standard library's type, and to the descriptor.
macro_rules! like_std {
    ($type:ident, $std:ty) => {
        impl $type {
            #[doc = concat!("Takes a [`", stringify!($std), "`](", stringify!($std), ") over.")]
            ///
            /// It must be non-blocking already, which debug builds check.
            ///
            /// # Errors
            /// If the runtime has shut down, or the kernel cannot watch the socket.
            ///
            /// # Panics
            /// Outside of a runtime with I/O.
            ///
            /// ```
            /// # wakeful::runtime::Runtime::new().unwrap().block_on(async {
            /// use wakeful::net::UdpSocket;
            ///
            /// let socket = std::net::UdpSocket::bind("127.0.0.1:0")?;
            /// socket.set_nonblocking(true)?;
            /// let socket = UdpSocket::from_std(socket)?; // sockets of all types have this
            /// let _socket: std::net::UdpSocket = socket.into_std()?;
            /// # std::io::Result::Ok(()) }).unwrap();
            /// ```
            #[track_caller]
            pub fn from_std(socket: $std) -> io::Result<$type> {
                crate::net::sockets::check_nonblocking(&socket)?;
                let call = concat!(stringify!($type), "::from_std");
                Ok($type { io: Watched::new_duplex(socket, call)? })
            }

            #[doc = concat!("Turns it into a [`", stringify!($std), "`](", stringify!($std), ").")]
            ///
            /// That is non-blocking, until told otherwise with `set_nonblocking(false)`.
            ///
            /// # Errors
            /// If the kernel does not know the socket any more.
            pub fn into_std(self) -> io::Result<$std> {
                self.io.into_inner()
            }
        }

        impl TryFrom<$std> for $type {
            type Error = io::Error;

            #[doc = concat!("[`from_std`](", stringify!($type), "::from_std).")]
            fn try_from(socket: $std) -> io::Result<$type> {
                $type::from_std(socket)
            }
        }

        impl std::fmt::Debug for $type {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                self.io.fmt(f)
            }
        }

        impl std::os::fd::AsRawFd for $type {
            fn as_raw_fd(&self) -> std::os::fd::RawFd {
                self.io.as_raw_fd()
            }
        }

        impl std::os::fd::AsFd for $type {
            fn as_fd(&self) -> std::os::fd::BorrowedFd<'_> {
                self.io.as_fd()
            }
        }
    };
}

/// Waiting, and operations of the user's own.
macro_rules! awaits_readiness {
    ($type:ident) => {
        impl $type {
            /// Waits until the socket is ready for any of `interest`, and returns what it is ready for.
            ///
            /// Several tasks may wait at once. The result is a hint: an operation may still have to
            /// wait. A wait that is dropped loses nothing.
            ///
            /// # Errors
            /// If the runtime has shut down.
            pub async fn ready(&self, interest: Interest) -> io::Result<Ready> {
                self.io.ready(interest).await
            }

            /// Waits until there is something to read, or never will be. As [`ready`](Self::ready).
            ///
            /// # Errors
            /// If the runtime has shut down.
            pub async fn readable(&self) -> io::Result<()> {
                self.ready(Interest::READABLE).await?;
                Ok(())
            }

            /// Waits until there is room to write, or never will be. As [`ready`](Self::ready).
            ///
            /// # Errors
            /// If the runtime has shut down.
            pub async fn writable(&self) -> io::Result<()> {
                self.ready(Interest::WRITABLE).await?;
                Ok(())
            }

            /// Runs `f` if the socket is known to be ready for any of `interest`.
            ///
            /// For operations on the descriptor that this type lacks. If `f` returns `WouldBlock`, the
            /// socket counts as not ready until the kernel says otherwise; so it must return that if
            /// the operation did, and only then.
            ///
            /// # Errors
            /// `WouldBlock` if it is not ready; those of `f`.
            ///
            /// ```
            /// # wakeful::runtime::Runtime::new().unwrap().block_on(async {
            /// use std::os::fd::AsRawFd;
            /// use wakeful::io::Interest;
            /// use wakeful::net::UnixDatagram;
            ///
            /// let (one, other) = UnixDatagram::pair()?; // sockets of all types have this
            /// other.send(b"ping").await?;
            /// one.readable().await?;
            /// let waiting = one.try_io(Interest::READABLE, || {
            ///     let mut bytes = 0;
            ///     // SAFETY: `FIONREAD` writes an `int` to where it is told.
            ///     match unsafe { libc::ioctl(one.as_raw_fd(), libc::FIONREAD, &mut bytes) } {
            ///         0 => Ok(bytes),
            ///         _ => Err(std::io::Error::last_os_error()),
            ///     }
            /// })?;
            /// assert_eq!(waiting, 4);
            /// # std::io::Result::Ok(()) }).unwrap();
            /// ```
            pub fn try_io<R>(
                &self,
                interest: Interest,
                f: impl FnOnce() -> io::Result<R>,
            ) -> io::Result<R> {
                self.io.try_io(interest, f)
            }

            /// Runs `f` when the socket is ready for it, again and again until it does not return
            /// `WouldBlock`. See [`try_io`](Self::try_io).
            ///
            /// # Errors
            /// Those of `f`, or that the runtime has shut down.
            ///
            /// # Cancel safety
            /// It waits before `f` has run, or after that has returned `WouldBlock`; so a drop cuts nothing off.
            pub async fn async_io<R>(
                &self,
                interest: Interest,
                f: impl FnMut() -> io::Result<R>,
            ) -> io::Result<R> {
                self.io.async_io(interest, f).await
            }
        }
    };
}

/// Reading and writing of streams, on `self.io`.
macro_rules! transfers_bytes {
    ($type:ident) => {
        impl $type {
            /// Waits until there is something to read, on behalf of the task of `cx`. Of several tasks,
            /// those in [`AsyncRead`] included, the last one is called only.
            ///
            /// # Errors
            /// If the runtime has shut down.
            pub fn poll_read_ready(&self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
                self.io.poll_read_ready(cx)
            }

            /// Waits until there is room to write, on behalf of the task of `cx`. Of several tasks,
            /// those in [`AsyncWrite`] included, the last one is called only.
            ///
            /// # Errors
            /// If the runtime has shut down.
            pub fn poll_write_ready(&self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
                self.io.poll_write_ready(cx)
            }

            /// Reads what there is, without waiting. None at all is the end of the stream, or an empty
            /// buffer.
            ///
            /// # Errors
            /// `WouldBlock` if there is nothing yet: [`readable`](Self::readable) waits for more.
            ///
            /// ```
            /// # wakeful::runtime::Runtime::new().unwrap().block_on(async {
            /// use std::io::ErrorKind;
            /// use wakeful::net::UnixStream;
            ///
            /// let (one, other) = UnixStream::pair()?; // streams of all types have this
            /// other.writable().await?;
            /// other.try_write(b"hello")?;
            ///
            /// let mut bytes = Vec::new();
            /// while bytes.len() < 5 {
            ///     one.readable().await?; // with no buffer in hand yet
            ///     let mut buf = [0; 4096];
            ///     match one.try_read(&mut buf) {
            ///         Ok(0) => break,
            ///         Ok(n) => bytes.extend_from_slice(&buf[..n]),
            ///         Err(error) if error.kind() == ErrorKind::WouldBlock => {} // it was only a hint
            ///         Err(error) => return Err(error),
            ///     }
            /// }
            /// assert_eq!(bytes, b"hello");
            /// # std::io::Result::Ok(()) }).unwrap();
            /// ```
            pub fn try_read(&self, buf: &mut [u8]) -> io::Result<usize> {
                self.io.try_io(Interest::READABLE, || (&*self.io).read(buf))
            }

            /// As [`try_read`](Self::try_read), into one buffer after the other.
            ///
            /// # Errors
            /// `WouldBlock` if there is nothing yet.
            pub fn try_read_vectored(&self, bufs: &mut [IoSliceMut<'_>]) -> io::Result<usize> {
                self.io.try_io(Interest::READABLE, || (&*self.io).read_vectored(bufs))
            }

            /// As [`try_read`](Self::try_read), to the end of a buffer that grows.
            ///
            /// # Errors
            /// `WouldBlock` if there is nothing yet.
            pub fn try_read_buf<B: BufMut>(&self, buf: &mut B) -> io::Result<usize> {
                self.io.try_io(Interest::READABLE, || receive::recv(&*self.io, buf))
            }

            /// Writes as much as there is room for, without waiting.
            ///
            /// # Errors
            /// `WouldBlock` if there is none: [`writable`](Self::writable) waits for some.
            pub fn try_write(&self, buf: &[u8]) -> io::Result<usize> {
                self.io.try_io(Interest::WRITABLE, || (&*self.io).write(buf))
            }

            /// As [`try_write`](Self::try_write), from one buffer after the other.
            ///
            /// # Errors
            /// `WouldBlock` if there is no room.
            pub fn try_write_vectored(&self, bufs: &[IoSlice<'_>]) -> io::Result<usize> {
                self.io.try_io(Interest::WRITABLE, || (&*self.io).write_vectored(bufs))
            }

            /// The address of this end.
            ///
            /// # Errors
            /// If the kernel does not know it.
            pub fn local_addr(&self) -> io::Result<SocketAddr> {
                self.io.local_addr().map(SocketAddr::from)
            }

            /// The address of the other end.
            ///
            /// # Errors
            /// If it is not connected any more.
            pub fn peer_addr(&self) -> io::Result<SocketAddr> {
                self.io.peer_addr().map(SocketAddr::from)
            }

            /// The error that is pending on the socket, which is none afterwards.
            ///
            /// # Errors
            /// If the kernel cannot tell.
            pub fn take_error(&self) -> io::Result<Option<io::Error>> {
                self.io.take_error()
            }

            pub(super) fn poll_read_shared(
                &self,
                cx: &mut Context<'_>,
                buf: &mut ReadBuf<'_>,
            ) -> Poll<io::Result<()>> {
                self.io.poll_read(cx, buf, |socket, buf| receive::recv(socket, buf))
            }

            pub(super) fn poll_write_shared(
                &self,
                cx: &mut Context<'_>,
                buf: &[u8],
            ) -> Poll<io::Result<usize>> {
                self.io.poll_write(cx, buf)
            }

            pub(super) fn poll_write_vectored_shared(
                &self,
                cx: &mut Context<'_>,
                bufs: &[IoSlice<'_>],
            ) -> Poll<io::Result<usize>> {
                self.io.poll_write_vectored(cx, bufs)
            }

            /// Says to the other end that nothing more comes. One that is gone needs no telling.
            pub(super) fn shut_down_write(&self) -> io::Result<()> {
                match self.io.shutdown(Shutdown::Write) {
                    Err(error) if error.kind() == io::ErrorKind::NotConnected => Ok(()),
                    result => result,
                }
            }
        }

        impl AsyncRead for $type {
            fn poll_read(
                self: Pin<&mut Self>,
                cx: &mut Context<'_>,
                buf: &mut ReadBuf<'_>,
            ) -> Poll<io::Result<()>> {
                self.poll_read_shared(cx, buf)
            }
        }

        impl AsyncWrite for $type {
            fn poll_write(
                self: Pin<&mut Self>,
                cx: &mut Context<'_>,
                buf: &[u8],
            ) -> Poll<io::Result<usize>> {
                self.poll_write_shared(cx, buf)
            }

            fn poll_write_vectored(
                self: Pin<&mut Self>,
                cx: &mut Context<'_>,
                bufs: &[IoSlice<'_>],
            ) -> Poll<io::Result<usize>> {
                self.poll_write_vectored_shared(cx, bufs)
            }

            fn is_write_vectored(&self) -> bool {
                true
            }

            #[inline]
            fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
                Poll::Ready(Ok(()))
            }

            fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
                Poll::Ready(self.shut_down_write())
            }
        }

        impl AsRef<$type> for $type {
            fn as_ref(&self) -> &$type {
                self
            }
        }
    };
}

pub(super) use {awaits_readiness, like_std, transfers_bytes};
