//! The servers of a runtime with Tokio's API.

/// Implements the echo and hyper servers for `OnRuntime` of [`super::tokio_shaped`].
macro_rules! servers {
    ($library:ident) => {
        impl<const MULTI_THREAD: bool> $crate::runtime::EchoServer for OnRuntime<MULTI_THREAD> {
            async fn serve_echo(listener: std::net::TcpListener, buffer_bytes: usize) {
                use ::$library::io::{AsyncReadExt, AsyncWriteExt};
                listener.set_nonblocking(true).unwrap();
                let listener = ::$library::net::TcpListener::from_std(listener).unwrap();
                loop {
                    let (mut stream, _) = listener.accept().await.unwrap();
                    stream.set_nodelay(true).unwrap();
                    Self::detach(async move {
                        let mut buffer = vec![0; buffer_bytes];
                        while let Ok(n @ 1..) = stream.read(&mut buffer).await {
                            let Ok(()) = stream.write_all(&buffer[..n]).await else { break };
                        }
                    });
                }
            }
        }

        impl<const MULTI_THREAD: bool> $crate::runtime::EchoClient for OnRuntime<MULTI_THREAD> {
            async fn ask(
                server: std::net::SocketAddr,
                bytes: usize,
                times: usize,
                before_each: fn(),
            ) {
                use ::$library::io::{AsyncReadExt, AsyncWriteExt};
                let mut stream = ::$library::net::TcpStream::connect(server).await.unwrap();
                stream.set_nodelay(true).unwrap();
                let mut buffer = vec![0; bytes];
                for _ in 0..times {
                    before_each();
                    stream.write_all(&buffer).await.unwrap();
                    stream.read_exact(&mut buffer).await.unwrap();
                }
            }
        }

        impl<const MULTI_THREAD: bool> $crate::runtime::HelloServer for OnRuntime<MULTI_THREAD> {
            async fn serve_hello(listener: std::net::TcpListener) {
                listener.set_nonblocking(true).unwrap();
                let listener = ::$library::net::TcpListener::from_std(listener).unwrap();
                loop {
                    let (stream, _) = listener.accept().await.unwrap();
                    stream.set_nodelay(true).unwrap();
                    Self::detach($crate::hello::serve_connection(hyper_io::HyperIo(stream)));
                }
            }
        }

        mod hyper_io {
            use ::$library::io::{AsyncRead, AsyncWrite, ReadBuf};
            use ::$library::net::TcpStream;
            use hyper::rt::ReadBufCursor;
            use std::io::{IoSlice, Result};
            use std::pin::Pin;
            use std::task::{Context, Poll, ready};

            /// hyper's I/O traits on the runtime's sockets.
            pub struct HyperIo(pub TcpStream);

            impl hyper::rt::Read for HyperIo {
                fn poll_read(
                    mut self: Pin<&mut Self>,
                    cx: &mut Context<'_>,
                    mut buffer: ReadBufCursor<'_>,
                ) -> Poll<Result<()>> {
                    // SAFETY: `ReadBuf` never writes uninitialized bytes to the unfilled part of
                    // the buffer.
                    let mut unfilled = ReadBuf::uninit(unsafe { buffer.as_mut() });
                    ready!(Pin::new(&mut self.0).poll_read(cx, &mut unfilled))?;
                    let n = unfilled.filled().len();
                    // SAFETY: the read has filled the first `n` bytes.
                    unsafe { buffer.advance(n) };
                    Poll::Ready(Ok(()))
                }
            }

            impl hyper::rt::Write for HyperIo {
                fn poll_write(
                    mut self: Pin<&mut Self>,
                    cx: &mut Context<'_>,
                    bytes: &[u8],
                ) -> Poll<Result<usize>> {
                    Pin::new(&mut self.0).poll_write(cx, bytes)
                }

                fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Result<()>> {
                    Pin::new(&mut self.0).poll_flush(cx)
                }

                fn poll_shutdown(
                    mut self: Pin<&mut Self>,
                    cx: &mut Context<'_>,
                ) -> Poll<Result<()>> {
                    Pin::new(&mut self.0).poll_shutdown(cx)
                }

                fn is_write_vectored(&self) -> bool {
                    self.0.is_write_vectored()
                }

                fn poll_write_vectored(
                    mut self: Pin<&mut Self>,
                    cx: &mut Context<'_>,
                    slices: &[IoSlice<'_>],
                ) -> Poll<Result<usize>> {
                    Pin::new(&mut self.0).poll_write_vectored(cx, slices)
                }
            }
        }
    };
}

pub(super) use servers;
