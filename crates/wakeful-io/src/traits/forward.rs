//! Macros for the bodies of trait impls that forward every call to an inner value.
//!
//! Each macro takes a name for the receiver and an expression that makes the pinned inner value
//! from it. `forward_write!` also takes an expression for a shared reference to the inner value.

macro_rules! forward_read {
    ($me:ident => $pinned:expr) => {
        #[inline]
        fn poll_read(
            $me: ::std::pin::Pin<&mut Self>,
            cx: &mut ::std::task::Context<'_>,
            buf: &mut $crate::ReadBuf<'_>,
        ) -> ::std::task::Poll<::std::io::Result<()>> {
            $pinned.poll_read(cx, buf)
        }
    };
}

macro_rules! forward_buf_read {
    ($me:ident => $pinned:expr) => {
        #[inline]
        fn poll_fill_buf(
            $me: ::std::pin::Pin<&mut Self>,
            cx: &mut ::std::task::Context<'_>,
        ) -> ::std::task::Poll<::std::io::Result<&[u8]>> {
            $pinned.poll_fill_buf(cx)
        }

        #[inline]
        fn consume($me: ::std::pin::Pin<&mut Self>, amt: usize) {
            $pinned.consume(amt)
        }
    };
}

macro_rules! forward_seek {
    ($me:ident => $pinned:expr) => {
        #[inline]
        fn start_seek(
            $me: ::std::pin::Pin<&mut Self>,
            position: ::std::io::SeekFrom,
        ) -> ::std::io::Result<()> {
            $pinned.start_seek(position)
        }

        #[inline]
        fn poll_complete(
            $me: ::std::pin::Pin<&mut Self>,
            cx: &mut ::std::task::Context<'_>,
        ) -> ::std::task::Poll<::std::io::Result<u64>> {
            $pinned.poll_complete(cx)
        }
    };
}

macro_rules! forward_write {
    ($me:ident => $pinned:expr, & => $shared:expr) => {
        #[inline]
        fn poll_write(
            $me: ::std::pin::Pin<&mut Self>,
            cx: &mut ::std::task::Context<'_>,
            buf: &[u8],
        ) -> ::std::task::Poll<::std::io::Result<usize>> {
            $pinned.poll_write(cx, buf)
        }

        #[inline]
        fn poll_write_vectored(
            $me: ::std::pin::Pin<&mut Self>,
            cx: &mut ::std::task::Context<'_>,
            bufs: &[::std::io::IoSlice<'_>],
        ) -> ::std::task::Poll<::std::io::Result<usize>> {
            $pinned.poll_write_vectored(cx, bufs)
        }

        #[inline]
        fn is_write_vectored(&$me) -> bool {
            $shared.is_write_vectored()
        }

        #[inline]
        fn poll_flush(
            $me: ::std::pin::Pin<&mut Self>,
            cx: &mut ::std::task::Context<'_>,
        ) -> ::std::task::Poll<::std::io::Result<()>> {
            $pinned.poll_flush(cx)
        }

        #[inline]
        fn poll_shutdown(
            $me: ::std::pin::Pin<&mut Self>,
            cx: &mut ::std::task::Context<'_>,
        ) -> ::std::task::Poll<::std::io::Result<()>> {
            $pinned.poll_shutdown(cx)
        }
    };
}

pub(crate) use {forward_buf_read, forward_read, forward_seek, forward_write};
