//! Pipes in memory.

use std::pin::Pin;
use std::sync::Arc;
use wakeful::io::{
    self, AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, DuplexStream, ReadBuf, ReadHalf,
    WriteHalf,
};
use wakeful_torture::rng::Rng;

use crate::basket::Basket;
use crate::pool::Pool;
use crate::shared::{Shared, with_context};
use crate::world::discard;

#[derive(Default)]
pub struct Duplex {
    streams: Basket<DuplexStream>,
    readers: Basket<ReadHalf<DuplexStream>>,
    writers: Basket<WriteHalf<DuplexStream>>,
}

impl Shared for Duplex {
    fn make(_: &mut Rng) -> Self {
        Duplex::default()
    }

    fn act(self: &Arc<Self>, pool: &mut Pool, rng: &mut Rng) {
        let shared = self.clone();
        match rng.below(12) {
            0 | 1 => {
                let (one, other) = io::duplex(1 + rng.below(20));
                self.streams.put(one);
                if rng.chance(500) {
                    self.streams.put(other);
                } else {
                    let (reader, writer) = io::split(other);
                    self.readers.put(reader);
                    self.writers.put(writer);
                }
            }
            2 => self.streams.with(rng, |stream| {
                let mut buf = [0; 7];
                let mut buf = ReadBuf::new(&mut buf);
                discard(with_context(|cx| Pin::new(stream).poll_read(cx, &mut buf)));
            }),
            3 => self.streams.with(rng, |stream| {
                discard(with_context(|cx| Pin::new(stream).poll_write(cx, b"five!")));
            }),
            4 => self.streams.with(rng, |stream| {
                discard(with_context(|cx| Pin::new(stream).poll_shutdown(cx)));
            }),
            5 | 6 => {
                if let Some(mut stream) = self.streams.take(rng) {
                    pool.add(async move {
                        discard(stream.write_all(b"more than there is room for").await);
                        shared.streams.put(stream);
                    });
                }
            }
            7 => {
                if let Some(mut reader) = self.readers.take(rng) {
                    pool.add(async move {
                        discard(reader.read_exact(&mut [0; 9]).await);
                        shared.readers.put(reader);
                    });
                }
            }
            8 => {
                if let Some(mut writer) = self.writers.take(rng) {
                    pool.add(async move {
                        discard(writer.write_all(&[1; 30]).await);
                        shared.writers.put(writer);
                    });
                }
            }
            9 => self.readers.drop_one(rng),
            10 => self.writers.drop_one(rng),
            _ => self.streams.drop_one(rng),
        }
    }

    fn clear(&self) {
        self.streams.clear();
        self.readers.clear();
        self.writers.clear();
    }
}
