//! `DuplexStream` and `SimplexStream`.

crate::operations! {
    8 Read { end, count, waker },
    8 Write { end, count, waker },
    4 WriteVectored { end, count, cut, waker },
    1 Flush { end, waker },
    1 Shutdown { end, waker },
    1 DropEnd { end },
    /// Splits an end, or joins its halves.
    1 Split { end },
    /// Starts to read exactly this many bytes. The end is in use until then.
    2 ReadExact { end, count, waker },
    2 ReadToEnd { end, waker },
    2 WriteAll { end, count, waker },
    /// Copies from one end to another.
    1 Copy { from, to, waker },
    6 Poll { which, waker },
    2 GiveUp { which },
}
