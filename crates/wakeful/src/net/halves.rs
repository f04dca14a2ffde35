//! The two halves of a stream, as macros for all kinds of streams.
//!
//! Borrowed halves are references to the stream. Owned halves share the stream in an `Arc`, so they
//! can move to different tasks. Neither needs a lock: the two directions of a socket are
//! independent.

/// The contents of the module for a stream's halves. `$address` is the stream's address type, and
/// `$near_and_far` the hidden lines that give the examples two ends of a connection.
macro_rules! halves {
    ($stream:ident, $address:ty, $near_and_far:literal) => {
        use bytes::BufMut;
        use std::fmt;
        use std::io::{self, IoSlice, IoSliceMut};
        use std::pin::Pin;
        use std::sync::Arc;
        use std::task::{Context, Poll};
        use $crate::io::{AsyncRead, AsyncWrite, Interest, ReadBuf, Ready};

        #[doc = concat!("The reading half, borrowed. From [`", stringify!($stream), "::split`].")]
        ///
        /// ```
        /// # wakeful::runtime::Runtime::new().unwrap().block_on(async {
        /// use wakeful::io::{AsyncReadExt, AsyncWriteExt};
        ///
        #[doc = $near_and_far]
        #[doc = concat!("// The two ends of a connection, each a `", stringify!($stream), "`:")]
        /// let (mut near, mut far) = (near, far);
        /// far.write_all(b"hello").await?;
        /// let (mut reader, _writer) = near.split();
        /// let mut word = [0; 5];
        /// reader.read_exact(&mut word).await?;
        /// assert_eq!(&word, b"hello");
        /// # std::io::Result::Ok(()) }).unwrap();
        /// ```
        #[derive(Debug)]
        pub struct ReadHalf<'a>(pub(super) &'a $stream);

        #[doc = concat!("The writing half, borrowed. From [`", stringify!($stream), "::split`].")]
        ///
        /// Dropping it does not shut down the stream.
        ///
        /// ```
        /// # wakeful::runtime::Runtime::new().unwrap().block_on(async {
        /// use wakeful::io::{AsyncReadExt, AsyncWriteExt};
        ///
        #[doc = $near_and_far]
        #[doc = concat!("// The two ends of a connection, each a `", stringify!($stream), "`:")]
        /// let (mut near, mut far) = (near, far);
        /// let (_reader, mut writer) = near.split();
        /// writer.write_all(b"he").await?;
        /// near.write_all(b"llo").await?; // the stream is whole again
        /// let mut word = [0; 5];
        /// far.read_exact(&mut word).await?;
        /// assert_eq!(&word, b"hello");
        /// # std::io::Result::Ok(()) }).unwrap();
        /// ```
        #[derive(Debug)]
        pub struct WriteHalf<'a>(pub(super) &'a $stream);

        #[doc = concat!("The reading half, owned. From [`", stringify!($stream), "::into_split`].")]
        ///
        /// ```
        /// # wakeful::runtime::Runtime::new().unwrap().block_on(async {
        /// use wakeful::io::{AsyncReadExt, AsyncWriteExt};
        ///
        #[doc = $near_and_far]
        #[doc = concat!("// The two ends of a connection, each a `", stringify!($stream), "`:")]
        /// let (near, mut far) = (near, far);
        /// let (mut reader, writer) = near.into_split();
        /// let task = wakeful::spawn(async move { reader.read_u8().await });
        /// far.write_u8(42).await?;
        /// assert_eq!(task.await??, 42);
        /// drop(writer);
        /// # std::io::Result::Ok(()) }).unwrap();
        /// ```
        #[derive(Debug)]
        pub struct OwnedReadHalf {
            pub(super) stream: Arc<$stream>,
        }

        #[doc = concat!("The writing half, owned. From [`", stringify!($stream), "::into_split`].")]
        ///
        /// Dropping it shuts down that direction: the peer reads the end of the stream.
        /// [`forget`](Self::forget) drops it without the shutdown.
        ///
        /// ```
        /// # wakeful::runtime::Runtime::new().unwrap().block_on(async {
        /// use wakeful::io::{AsyncReadExt, AsyncWriteExt};
        ///
        #[doc = $near_and_far]
        #[doc = concat!("// The two ends of a connection, each a `", stringify!($stream), "`:")]
        /// let (near, mut far) = (near, far);
        /// let (reader, mut writer) = near.into_split();
        /// wakeful::spawn(async move { writer.write_all(b"that is all").await });
        /// let mut text = String::new();
        /// far.read_to_string(&mut text).await?;
        /// assert_eq!(text, "that is all");
        /// drop(reader);
        /// # std::io::Result::Ok(()) }).unwrap();
        /// ```
        #[derive(Debug)]
        pub struct OwnedWriteHalf {
            stream: Arc<$stream>,
            shuts_down_on_drop: bool,
        }

        /// The error of reuniting halves of two different streams. It returns both halves.
        ///
        /// ```
        /// # wakeful::runtime::Runtime::new().unwrap().block_on(async {
        #[doc = $near_and_far]
        #[doc = concat!("// The two ends of a connection, each a `", stringify!($stream), "`:")]
        /// let (near, far) = (near, far);
        /// let (reader, writer) = near.into_split();
        /// let (_, other) = far.into_split();
        /// let refused = reader.reunite(other).unwrap_err();
        /// let reader = refused.0;
        /// assert!(reader.reunite(writer).is_ok());
        /// # std::io::Result::Ok(()) }).unwrap();
        /// ```
        #[derive(Debug)]
        pub struct ReuniteError(pub OwnedReadHalf, pub OwnedWriteHalf);

        impl fmt::Display for ReuniteError {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("tried to reunite halves that are not from the same socket")
            }
        }

        impl std::error::Error for ReuniteError {}

        pub(super) fn into_split(stream: $stream) -> (OwnedReadHalf, OwnedWriteHalf) {
            let stream = Arc::new(stream);
            let reader = OwnedReadHalf { stream: stream.clone() };
            (reader, OwnedWriteHalf { stream, shuts_down_on_drop: true })
        }

        fn reunite(reader: OwnedReadHalf, writer: OwnedWriteHalf) -> Result<$stream, ReuniteError> {
            if !Arc::ptr_eq(&reader.stream, &writer.stream) {
                return Err(ReuniteError(reader, writer));
            }
            writer.forget();
            Ok(Arc::into_inner(reader.stream).expect("a stream has only these two halves"))
        }

        $crate::net::halves::reading_half!($stream, $address, [ReadHalf<'_>], 0);
        $crate::net::halves::reading_half!($stream, $address, [OwnedReadHalf], stream);
        $crate::net::halves::writing_half!($stream, $address, [WriteHalf<'_>], 0);
        $crate::net::halves::writing_half!($stream, $address, [OwnedWriteHalf], stream);

        impl OwnedReadHalf {
            /// Reunites the two halves of a stream.
            ///
            /// # Errors
            /// Returns an error if the halves come from different streams.
            ///
            /// ```
            /// # wakeful::runtime::Runtime::new().unwrap().block_on(async {
            #[doc = $near_and_far]
            #[doc = concat!("// One end of a connection, a `", stringify!($stream), "`:")]
            /// let (reader, writer) = near.into_split();
            /// let task = wakeful::spawn(async move { writer }); // after writing something
            /// let _near = reader.reunite(task.await?).expect("halves of one stream");
            /// # drop(far);
            /// # std::io::Result::Ok(()) }).unwrap();
            /// ```
            pub fn reunite(self, other: OwnedWriteHalf) -> Result<$stream, ReuniteError> {
                reunite(self, other)
            }
        }

        impl OwnedWriteHalf {
            /// Reunites the two halves of a stream.
            ///
            /// # Errors
            /// Returns an error if the halves come from different streams.
            pub fn reunite(self, other: OwnedReadHalf) -> Result<$stream, ReuniteError> {
                reunite(other, self)
            }

            /// Drops the half without shutting down its direction.
            pub fn forget(mut self) {
                self.shuts_down_on_drop = false;
            }
        }

        impl Drop for OwnedWriteHalf {
            fn drop(&mut self) {
                if self.shuts_down_on_drop {
                    // A drop cannot report the failure.
                    let _ignored = self.stream.shut_down_write();
                }
            }
        }

        impl WriteHalf<'_> {
            fn shut_down(&mut self) -> io::Result<()> {
                self.0.shut_down_write()
            }
        }

        impl OwnedWriteHalf {
            fn shut_down(&mut self) -> io::Result<()> {
                self.stream.shut_down_write()?;
                self.shuts_down_on_drop = false;
                Ok(())
            }
        }
    };
}

macro_rules! reading_half {
    ($stream:ident, $address:ty, [$half:ty], $field:tt) => {
        impl $half {
            #[doc = concat!("Same as [`", stringify!($stream), "::ready`].")]
            ///
            /// # Errors
            /// Returns an error if the runtime has shut down.
            pub async fn ready(&self, interest: Interest) -> io::Result<Ready> {
                self.$field.ready(interest).await
            }

            #[doc = concat!("Same as [`", stringify!($stream), "::readable`].")]
            ///
            /// # Errors
            /// Returns an error if the runtime has shut down.
            pub async fn readable(&self) -> io::Result<()> {
                self.$field.readable().await
            }

            #[doc = concat!("Same as [`", stringify!($stream), "::try_read`].")]
            ///
            /// # Errors
            /// Returns `WouldBlock` if there is nothing to read.
            pub fn try_read(&self, buf: &mut [u8]) -> io::Result<usize> {
                self.$field.try_read(buf)
            }

            #[doc = concat!("Same as [`", stringify!($stream), "::try_read_vectored`].")]
            ///
            /// # Errors
            /// Returns `WouldBlock` if there is nothing to read.
            pub fn try_read_vectored(&self, bufs: &mut [IoSliceMut<'_>]) -> io::Result<usize> {
                self.$field.try_read_vectored(bufs)
            }

            #[doc = concat!("Same as [`", stringify!($stream), "::try_read_buf`].")]
            ///
            /// # Errors
            /// Returns `WouldBlock` if there is nothing to read.
            pub fn try_read_buf<B: BufMut>(&self, buf: &mut B) -> io::Result<usize> {
                self.$field.try_read_buf(buf)
            }
        }

        impl AsyncRead for $half {
            fn poll_read(
                self: Pin<&mut Self>,
                cx: &mut Context<'_>,
                buf: &mut ReadBuf<'_>,
            ) -> Poll<io::Result<()>> {
                self.$field.poll_read_shared(cx, buf)
            }
        }

        $crate::net::halves::any_half!($stream, $address, [$half], $field);
    };
}

macro_rules! writing_half {
    ($stream:ident, $address:ty, [$half:ty], $field:tt) => {
        impl $half {
            #[doc = concat!("Same as [`", stringify!($stream), "::ready`].")]
            ///
            /// # Errors
            /// Returns an error if the runtime has shut down.
            pub async fn ready(&self, interest: Interest) -> io::Result<Ready> {
                self.$field.ready(interest).await
            }

            #[doc = concat!("Same as [`", stringify!($stream), "::writable`].")]
            ///
            /// # Errors
            /// Returns an error if the runtime has shut down.
            pub async fn writable(&self) -> io::Result<()> {
                self.$field.writable().await
            }

            #[doc = concat!("Same as [`", stringify!($stream), "::try_write`].")]
            ///
            /// # Errors
            /// Returns `WouldBlock` if the send buffer is full.
            pub fn try_write(&self, buf: &[u8]) -> io::Result<usize> {
                self.$field.try_write(buf)
            }

            #[doc = concat!("Same as [`", stringify!($stream), "::try_write_vectored`].")]
            ///
            /// # Errors
            /// Returns `WouldBlock` if the send buffer is full.
            pub fn try_write_vectored(&self, bufs: &[IoSlice<'_>]) -> io::Result<usize> {
                self.$field.try_write_vectored(bufs)
            }
        }

        impl AsyncWrite for $half {
            fn poll_write(
                self: Pin<&mut Self>,
                cx: &mut Context<'_>,
                buf: &[u8],
            ) -> Poll<io::Result<usize>> {
                self.$field.poll_write_shared(cx, buf)
            }

            fn poll_write_vectored(
                self: Pin<&mut Self>,
                cx: &mut Context<'_>,
                bufs: &[IoSlice<'_>],
            ) -> Poll<io::Result<usize>> {
                self.$field.poll_write_vectored_shared(cx, bufs)
            }

            fn is_write_vectored(&self) -> bool {
                true
            }

            #[inline]
            fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
                Poll::Ready(Ok(()))
            }

            fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
                Poll::Ready(self.get_mut().shut_down())
            }
        }

        $crate::net::halves::any_half!($stream, $address, [$half], $field);
    };
}

macro_rules! any_half {
    ($stream:ident, $address:ty, [$half:ty], $field:tt) => {
        impl $half {
            /// Returns the address of the peer.
            ///
            /// # Errors
            /// Returns an error if the socket is no longer connected.
            pub fn peer_addr(&self) -> io::Result<$address> {
                self.$field.peer_addr()
            }

            /// Returns the local address.
            ///
            /// # Errors
            /// Returns an error if the system call fails.
            pub fn local_addr(&self) -> io::Result<$address> {
                self.$field.local_addr()
            }
        }

        impl AsRef<$stream> for $half {
            fn as_ref(&self) -> &$stream {
                &self.$field
            }
        }
    };
}

pub(super) use {any_half, halves, reading_half, writing_half};
