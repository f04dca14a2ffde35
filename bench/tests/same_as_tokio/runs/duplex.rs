use super::subject::io::{self, AsyncRead, AsyncWrite, ReadBuf};
use crate::support::{Log, Random, Rung, shown};
use std::io::IoSlice;
use std::pin::Pin;
use std::task::Context;

pub fn run(seed: u64) -> Log {
    let mut random = Random::new(seed);
    let (near, far) = io::duplex(1 + random.below(10));
    let mut ends = [Some(near), Some(far)];
    let rung: [[Rung; 2]; 2] = Default::default();
    let step = |number: u8| {
        let side = random.below(2);
        let (reader, writer) = (rung[side][0].waker(), rung[side][1].waker());
        let bytes = vec![number; random.below(8)];
        let outcome = match (random.below(6), &mut ends[side]) {
            (0 | 1, Some(end)) => {
                let mut room = bytes.clone();
                let mut room = ReadBuf::new(&mut room);
                let read = Pin::new(end).poll_read(&mut Context::from_waker(&reader), &mut room);
                shown(&(read.map_err(|error| error.kind()), room.filled()))
            }
            (2 | 3, Some(end)) => {
                let written = Pin::new(end).poll_write(&mut Context::from_waker(&writer), &bytes);
                shown(&written.map_err(|error| error.kind()))
            }
            (4, Some(end)) => {
                let (first, second) = bytes.split_at(random.below(bytes.len() + 1));
                let slices = [IoSlice::new(first), IoSlice::new(second)];
                let written =
                    Pin::new(end).poll_write_vectored(&mut Context::from_waker(&writer), &slices);
                shown(&written.map_err(|error| error.kind()))
            }
            (5, Some(end)) if random.one_in(10) => {
                let shut = Pin::new(end).poll_shutdown(&mut Context::from_waker(&writer));
                shown(&shut.map_err(|error| error.kind()))
            }
            (5, end) if random.one_in(10) => shown(&end.take().map(drop)),
            _ => String::new(),
        };
        format!("{outcome} | {:?}", rung.each_ref().map(|side| side.each_ref().map(Rung::count)))
    };
    (0..60).map(step).collect()
}
