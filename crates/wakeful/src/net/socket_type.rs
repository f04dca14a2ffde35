//! Methods and impls that several socket types share, as macros.

/// Converts from and to the type of the standard library, and to the descriptor.
macro_rules! std_conversions {
    ($type:ident, $std:ty) => {
        impl $type {
            #[doc = concat!("Converts a [`", stringify!($std), "`](", stringify!($std), ").")]
            ///
            /// The socket must already be non-blocking; debug builds check this.
            ///
            /// # Errors
            /// Returns an error if the runtime has shut down, or the kernel cannot watch the
            /// socket.
            ///
            /// # Panics
            /// Panics if there is no current runtime, or its I/O driver is disabled.
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

            #[doc = concat!("Converts into a [`", stringify!($std), "`](", stringify!($std), ").")]
            ///
            /// The socket stays non-blocking until `set_nonblocking(false)` is called on it.
            ///
            /// # Errors
            /// Returns an error if the descriptor cannot be removed from the driver.
            pub fn into_std(self) -> io::Result<$std> {
                self.io.into_inner()
            }
        }

        impl TryFrom<$std> for $type {
            type Error = io::Error;

            #[doc = concat!("Same as [`from_std`](", stringify!($type), "::from_std).")]
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

/// Methods that wait for readiness, and methods that run the caller's own operations.
macro_rules! readiness_methods {
    ($type:ident) => {
        impl $type {
            /// Waits until the socket is ready for any of `interest`; returns what it is ready for.
            ///
            /// Several tasks may wait at once. The result is a hint: the operation may still return
            /// `WouldBlock`.
            ///
            /// # Errors
            /// Returns an error if the runtime has shut down.
            ///
            /// # Cancel safety
            /// This method is cancel safe: if the future is dropped, no event is lost.
            pub async fn ready(&self, interest: Interest) -> io::Result<Ready> {
                self.io.ready(interest).await
            }

            /// Waits until the socket is readable, or its read direction is closed.
            ///
            /// See [`ready`](Self::ready), also about hints and cancellation.
            ///
            /// # Errors
            /// Returns an error if the runtime has shut down.
            pub async fn readable(&self) -> io::Result<()> {
                self.ready(Interest::READABLE).await?;
                Ok(())
            }

            /// Waits until the socket is writable, or its write direction is closed.
            ///
            /// See [`ready`](Self::ready), also about hints and cancellation.
            ///
            /// # Errors
            /// Returns an error if the runtime has shut down.
            pub async fn writable(&self) -> io::Result<()> {
                self.ready(Interest::WRITABLE).await?;
                Ok(())
            }

            /// Runs `f` if the socket is known to be ready for any of `interest`.
            ///
            /// This is for operations on the descriptor that this type lacks. If `f` returns
            /// `WouldBlock`, the socket counts as not ready until the kernel reports an event. `f`
            /// must therefore return `WouldBlock` exactly if its operation did.
            ///
            /// # Errors
            /// Returns `WouldBlock` if the socket is not known to be ready, or the errors of `f`.
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
            ///     // SAFETY: `FIONREAD` writes an `int` through the pointer.
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

            /// Runs `f` each time the socket is ready, until it does not return `WouldBlock`.
            ///
            /// See [`try_io`](Self::try_io).
            ///
            /// # Errors
            /// Returns the errors of `f`, or an error if the runtime has shut down.
            ///
            /// # Cancel safety
            /// This method is cancel safe: it waits only before `f` runs or after `f` returned
            /// `WouldBlock`, so dropping the future never interrupts an operation.
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

/// The methods and traits of streams, on `self.io`.
macro_rules! stream_methods {
    ($type:ident) => {
        impl $type {
            /// Polls for readability, and registers the task of `cx`.
            ///
            /// If several tasks poll for reading, here or through [`AsyncRead`], only the last one
            /// is woken.
            ///
            /// # Errors
            /// Returns an error if the runtime has shut down.
            pub fn poll_read_ready(&self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
                self.io.poll_read_ready(cx)
            }

            /// Polls for writability, and registers the task of `cx`.
            ///
            /// If several tasks poll for writing, here or through [`AsyncWrite`], only the last one
            /// is woken.
            ///
            /// # Errors
            /// Returns an error if the runtime has shut down.
            pub fn poll_write_ready(&self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
                self.io.poll_write_ready(cx)
            }

            /// Tries to read, without waiting.
            ///
            /// `Ok(0)` is the end of the stream, or an empty buffer.
            ///
            /// # Errors
            /// Returns `WouldBlock` if there is nothing to read. To wait, use
            /// [`readable`](Self::readable).
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
            ///         Err(error) if error.kind() == ErrorKind::WouldBlock => {} // only a hint
            ///         Err(error) => return Err(error),
            ///     }
            /// }
            /// assert_eq!(bytes, b"hello");
            /// # std::io::Result::Ok(()) }).unwrap();
            /// ```
            pub fn try_read(&self, buf: &mut [u8]) -> io::Result<usize> {
                self.io.try_io(Interest::READABLE, || (&*self.io).read(buf))
            }

            /// Tries to read into several buffers, like [`try_read`](Self::try_read).
            ///
            /// # Errors
            /// Returns `WouldBlock` if there is nothing to read.
            pub fn try_read_vectored(&self, bufs: &mut [IoSliceMut<'_>]) -> io::Result<usize> {
                self.io.try_io(Interest::READABLE, || (&*self.io).read_vectored(bufs))
            }

            /// Tries to read and appends to `buf`, like [`try_read`](Self::try_read).
            ///
            /// # Errors
            /// Returns `WouldBlock` if there is nothing to read.
            pub fn try_read_buf<B: BufMut>(&self, buf: &mut B) -> io::Result<usize> {
                self.io.try_io(Interest::READABLE, || receive::recv(&*self.io, buf))
            }

            /// Tries to write, without waiting. The write may be partial.
            ///
            /// # Errors
            /// Returns `WouldBlock` if the send buffer is full. To wait, use
            /// [`writable`](Self::writable).
            pub fn try_write(&self, buf: &[u8]) -> io::Result<usize> {
                self.io.try_io(Interest::WRITABLE, || (&*self.io).write(buf))
            }

            /// Tries to write from several buffers, like [`try_write`](Self::try_write).
            ///
            /// # Errors
            /// Returns `WouldBlock` if the send buffer is full.
            pub fn try_write_vectored(&self, bufs: &[IoSlice<'_>]) -> io::Result<usize> {
                self.io.try_io(Interest::WRITABLE, || (&*self.io).write_vectored(bufs))
            }

            /// Returns the local address.
            ///
            /// # Errors
            /// Returns an error if the system call fails.
            pub fn local_addr(&self) -> io::Result<SocketAddr> {
                self.io.local_addr().map(SocketAddr::from)
            }

            /// Returns the address of the peer.
            ///
            /// # Errors
            /// Returns an error if the socket is no longer connected.
            pub fn peer_addr(&self) -> io::Result<SocketAddr> {
                self.io.peer_addr().map(SocketAddr::from)
            }

            /// Returns the pending error of the socket (`SO_ERROR`), and clears it.
            ///
            /// # Errors
            /// Returns an error if the system call fails.
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

            /// Shuts down the write direction: the peer reads the end of the stream. A peer that
            /// has already disconnected is not an error.
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

pub(super) use {readiness_methods, std_conversions, stream_methods};
