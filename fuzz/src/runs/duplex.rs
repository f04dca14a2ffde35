use super::place::drive;
use super::subject::io::{
    self, AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, DuplexStream, ReadBuf, ReadHalf,
    SimplexStream, WriteHalf,
};
use crate::log::Log;
use crate::pending_futures::{PendingFutures, pick, take};
use crate::script::Script;
use crate::scripts::duplex::Op;
use crate::wakers::WakerSlot;
use std::io::{ErrorKind, IoSlice};
use std::pin::Pin;
use std::task::{Context, Poll};

enum Stream {
    Duplex(DuplexStream),
    Halves(ReadHalf<DuplexStream>, WriteHalf<DuplexStream>),
    Reader(ReadHalf<SimplexStream>),
    Writer(WriteHalf<SimplexStream>),
    Unsplit(SimplexStream),
}

impl Stream {
    fn read_side(&mut self) -> Option<&mut (dyn AsyncRead + Unpin)> {
        Some(match self {
            Stream::Duplex(stream) => stream,
            Stream::Halves(half, _) => half,
            Stream::Reader(half) => half,
            Stream::Unsplit(stream) => stream,
            Stream::Writer(_) => return None,
        })
    }

    fn write_side(&mut self) -> Option<&mut (dyn AsyncWrite + Unpin)> {
        Some(match self {
            Stream::Duplex(stream) => stream,
            Stream::Halves(_, half) => half,
            Stream::Writer(half) => half,
            Stream::Unsplit(stream) => stream,
            Stream::Reader(_) => return None,
        })
    }
}

struct End {
    stream: Stream,
    /// The number of the stream. Both ends have the same.
    pipe: usize,
    reader: WakerSlot,
    writer: WakerSlot,
}

impl End {
    fn new((pipe, stream): (usize, Stream)) -> End {
        End { stream, pipe, reader: WakerSlot::default(), writer: WakerSlot::default() }
    }

    fn split(self) -> End {
        let stream = match self.stream {
            Stream::Duplex(stream) => {
                let (reader, writer) = io::split(stream);
                Stream::Halves(reader, writer)
            }
            Stream::Halves(reader, writer) => Stream::Duplex(reader.unsplit(writer)),
            other => other,
        };
        End { stream, ..self }
    }
}

/// The output of a future that owns ends: the ends, and the number of bytes and the bytes read, or
/// the error.
type Done = (Vec<End>, Result<(u64, Vec<u8>), ErrorKind>);

async fn read_exact(mut end: End, count: usize) -> Done {
    let mut bytes = vec![0; count];
    let read = match end.stream.read_side() {
        Some(side) => side.read_exact(&mut bytes).await,
        None => Ok(0),
    };
    (vec![end], read.map(|count| (count as u64, bytes)).map_err(|error| error.kind()))
}

async fn read_to_end(mut end: End) -> Done {
    let mut bytes = Vec::new();
    let read = match end.stream.read_side() {
        Some(side) => side.read_to_end(&mut bytes).await,
        None => Ok(0),
    };
    (vec![end], read.map(|count| (count as u64, bytes)).map_err(|error| error.kind()))
}

async fn write_all(mut end: End, bytes: Vec<u8>) -> Done {
    let written = match end.stream.write_side() {
        Some(side) => side.write_all(&bytes).await,
        None => Ok(()),
    };
    (vec![end], written.map(|()| (0, Vec::new())).map_err(|error| error.kind()))
}

async fn copy(mut from: End, mut to: End) -> Done {
    let copied = match (from.stream.read_side(), to.stream.write_side()) {
        (Some(from), Some(to)) => io::copy(from, to).await,
        _ => Ok(0),
    };
    (vec![from, to], copied.map(|count| (count, Vec::new())).map_err(|error| error.kind()))
}

struct Run<'a> {
    number: u8,
    ends: Vec<End>,
    futures: PendingFutures<'a, Done>,
}

impl Run<'_> {
    fn bytes(&self, count: u8) -> Vec<u8> {
        vec![self.number; usize::from(count)]
    }

    fn read(&mut self, end: u8, count: u8, waker: u8, log: &mut Log) {
        let mut room = self.bytes(count);
        let Some(end) = pick(&mut self.ends, end) else { return };
        let Some(side) = end.stream.read_side() else { return };
        let mut room = ReadBuf::new(&mut room);
        let read = end.reader.poll(waker, |cx| Pin::new(side).poll_read(cx, &mut room));
        log.note("read", &(read.map_err(|error| error.kind()), room.filled()));
    }

    fn write(
        &mut self,
        end: u8,
        waker: u8,
        log: &mut Log,
        call: impl FnOnce(
            Pin<&mut (dyn AsyncWrite + Unpin)>,
            &mut Context<'_>,
        ) -> Poll<std::io::Result<usize>>,
    ) {
        let Some(end) = pick(&mut self.ends, end) else { return };
        let Some(side) = end.stream.write_side() else { return };
        let written = end.writer.poll(waker, |cx| call(Pin::new(side), cx));
        log.note("written", &written.map_err(|error| error.kind()));
    }

    fn keep(&mut self, done: Option<Done>, log: &mut Log) {
        let (ends, outcome) = done.unzip();
        log.note("done", &outcome);
        self.ends.extend(ends.into_iter().flatten());
    }

    fn wait(&mut self, op: Op, log: &mut Log) {
        let number = self.number;
        let done = match op {
            Op::ReadExact { end, count, waker } => {
                let Some(end) = take(&mut self.ends, end) else { return };
                self.futures.begin(waker, read_exact(end, count.into()))
            }
            Op::ReadToEnd { end, waker } => {
                let Some(end) = take(&mut self.ends, end) else { return };
                self.futures.begin(waker, read_to_end(end))
            }
            Op::WriteAll { end, count, waker } => {
                let Some(end) = take(&mut self.ends, end) else { return };
                self.futures.begin(waker, write_all(end, vec![number; count.into()]))
            }
            Op::Copy { from, to, waker } => {
                let Some(from) = take(&mut self.ends, from) else { return };
                let Some(to) = take(&mut self.ends, to) else { return };
                if from.pipe == to.pipe {
                    // A copy between the ends of one stream would read what it has written, without
                    // end.
                    return self.ends.extend([from, to]);
                }
                self.futures.begin(waker, copy(from, to))
            }
            Op::Poll { which, waker } => self.futures.poll(which, waker),
            _ => return,
        };
        self.keep(done, log);
    }

    fn step(&mut self, op: Op, log: &mut Log) {
        match op {
            Op::Turn | Op::SpendBudget { .. } => {}
            Op::Read { end, count, waker } => self.read(end, count, waker, log),
            Op::Write { end, count, waker } => {
                let bytes = self.bytes(count);
                self.write(end, waker, log, |side, cx| side.poll_write(cx, &bytes));
            }
            Op::WriteVectored { end, count, cut, waker } => {
                let bytes = self.bytes(count);
                let (first, second) = bytes.split_at(usize::from(cut).min(bytes.len()));
                let slices = [IoSlice::new(first), IoSlice::new(second)];
                self.write(end, waker, log, |side, cx| side.poll_write_vectored(cx, &slices));
            }
            Op::Flush { end, waker } => {
                self.write(end, waker, log, |side, cx| side.poll_flush(cx).map_ok(|()| 0));
            }
            Op::Shutdown { end, waker } => {
                self.write(end, waker, log, |side, cx| side.poll_shutdown(cx).map_ok(|()| 0));
            }
            Op::DropEnd { end } => drop(take(&mut self.ends, end)),
            Op::Split { end } => {
                let end = take(&mut self.ends, end).map(End::split);
                self.ends.extend(end);
            }
            Op::GiveUp { which } => log.note("given up", &self.futures.give_up(which)),
            Op::ReadExact { .. }
            | Op::ReadToEnd { .. }
            | Op::WriteAll { .. }
            | Op::Copy { .. }
            | Op::Poll { .. } => self.wait(op, log),
        }
    }
}

pub fn run(script: &Script<Op>, log: &mut Log) {
    let size = 1 + usize::from(script.size);
    let (near, far) = io::duplex(size);
    let (reader, writer) = io::simplex(size);
    let (other_near, other_far) = io::duplex(size / 2 + 1);
    let streams = [
        (0, Stream::Duplex(near)),
        (0, Stream::Duplex(far)),
        (1, Stream::Reader(reader)),
        (1, Stream::Writer(writer)),
        (2, Stream::Duplex(other_near)),
        (2, Stream::Duplex(other_far)),
        (3, Stream::Unsplit(SimplexStream::new_unsplit(size))),
    ];
    let mut run =
        Run { number: 0, ends: streams.map(End::new).into(), futures: PendingFutures::default() };
    drive(script, log, |op, log| {
        run.number = run.number.wrapping_add(1);
        run.step(op, log);
        let are_vectored =
            |end: &mut End| end.stream.write_side().map(|side| side.is_write_vectored());
        let vectored: Vec<_> = run.ends.iter_mut().map(are_vectored).collect();
        log.note("ends", &(vectored, run.futures.len()));
    });
}
