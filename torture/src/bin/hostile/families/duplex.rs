//! In-memory pipes. `io::split` is left out: its halves hold a lock while the stream calls a waker,
//! as Tokio's do.

use std::pin::Pin;
use std::sync::Arc;
use wakeful::io::{
    self, AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, DuplexStream, ReadBuf,
};
use wakeful_torture::rng::Rng;

use crate::basket::Basket;
use crate::pool::Pool;
use crate::shared::{Shared, with_context};
use crate::world::discard;

#[derive(Default)]
pub struct Duplex {
    streams: Basket<DuplexStream>,
}

impl Shared for Duplex {
    fn make(_: &mut Rng) -> Self {
        Duplex::default()
    }

    fn act(self: &Arc<Self>, pool: &mut Pool, rng: &mut Rng) {
        let shared = self.clone();
        match rng.below(10) {
            0 | 1 => {
                let (one, other) = io::duplex(1 + rng.below(20));
                self.streams.put(one);
                self.streams.put(other);
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
            7 | 8 => {
                if let Some(mut stream) = self.streams.take(rng) {
                    pool.add(async move {
                        discard(stream.read_exact(&mut [0; 9]).await);
                        shared.streams.put(stream);
                    });
                }
            }
            _ => self.streams.drop_one(rng),
        }
    }

    fn clear(&self) {
        self.streams.clear();
    }
}
