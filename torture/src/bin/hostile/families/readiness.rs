//! Sockets and other descriptors.

use std::future::Future;
use std::io;
use std::net::{Ipv4Addr, TcpListener};
use std::os::unix::net::UnixStream as StdUnixStream;
use std::pin::pin;
use std::sync::Arc;
use wakeful::io::unix::AsyncFd;
use wakeful::io::{AsyncReadExt, AsyncWriteExt, Interest};
use wakeful::net::{TcpStream, UnixStream};
use wakeful_torture::rng::Rng;

use crate::basket::Basket;
use crate::pool::Pool;
use crate::shared::{Shared, with_context};
use crate::values::{Value, call_hostile};
use crate::world::discard;

#[derive(Default)]
pub struct Readiness {
    unix: Basket<UnixStream>,
    tcp: Basket<TcpStream>,
    descriptors: Basket<Arc<AsyncFd<StdUnixStream>>>,
}

impl Shared for Readiness {
    const NEEDS_RUNTIME: bool = true;

    fn make(_: &mut Rng) -> Self {
        Readiness::default()
    }

    fn act(self: &Arc<Self>, pool: &mut Pool, rng: &mut Rng) {
        match rng.below(20) {
            0 => discard(self.open_unix()),
            1 if rng.chance(300) => discard(self.open_tcp()),
            2 => discard(self.open_descriptors()),
            3 => self.unix.drop_one(rng),
            4 => self.tcp.drop_one(rng),
            5 => self.descriptors.drop_one(rng),
            6..12 => self.unix(pool, rng),
            12..16 => self.tcp(pool, rng),
            _ => self.descriptor(pool, rng),
        }
    }

    fn clear(&self) {
        self.unix.clear();
        self.tcp.clear();
        self.descriptors.clear();
    }
}

/// All of these fail while the runtime shuts down.
impl Readiness {
    fn open_unix(&self) -> io::Result<()> {
        let (one, other) = UnixStream::pair()?;
        self.unix.put(one);
        self.unix.put(other);
        Ok(())
    }

    fn open_tcp(&self) -> io::Result<()> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        let one = std::net::TcpStream::connect(listener.local_addr()?)?;
        let (other, _) = listener.accept()?;
        for stream in [one, other] {
            stream.set_nonblocking(true)?;
            self.tcp.put(TcpStream::from_std(stream)?);
        }
        Ok(())
    }

    fn open_descriptors(&self) -> io::Result<()> {
        let (one, other) = StdUnixStream::pair()?;
        for stream in [one, other] {
            stream.set_nonblocking(true)?;
            // SAFETY: the `AsyncFd` owns the stream, so the descriptor stays open as long as it is
            // registered.
            let descriptor = unsafe { AsyncFd::register(stream)? };
            self.descriptors.put(Arc::new(descriptor));
        }
        Ok(())
    }

    fn unix(self: &Arc<Self>, pool: &mut Pool, rng: &mut Rng) {
        match rng.below(6) {
            0 => self.unix.with(rng, |stream| discard(stream.try_write(b"a few bytes"))),
            1 => self.unix.with(rng, |stream| discard(stream.try_read(&mut [0; 40]))),
            2 => {
                self.unix.with(rng, |stream| discard(with_context(|cx| stream.poll_read_ready(cx))))
            }
            3 => self.unix.with(rng, |stream| {
                // Dropped after one poll.
                let ready = pin!(stream.ready(Interest::READABLE | Interest::WRITABLE));
                discard(with_context(|cx| ready.poll(cx)));
            }),
            _ => {
                let Some(mut stream) = self.unix.take(rng) else { return };
                let shared = self.clone();
                pool.add(async move {
                    discard(stream.read(&mut [0; 5]).await);
                    shared.unix.put(stream);
                });
            }
        }
    }

    fn tcp(self: &Arc<Self>, pool: &mut Pool, rng: &mut Rng) {
        let Some(stream) = self.tcp.take(rng) else { return };
        let shared = self.clone();
        let kind = rng.below(4);
        pool.add(async move {
            let (mut reader, mut writer) = stream.into_split();
            match kind {
                0 => discard(reader.read(&mut [0; 100]).await),
                1 => discard(writer.write_all(&[7; 3000]).await),
                2 => discard(reader.readable().await),
                _ => discard(writer.shutdown().await),
            }
            if let Ok(stream) = reader.reunite(writer) {
                shared.tcp.put(stream);
            }
        });
    }

    fn descriptor(self: &Arc<Self>, pool: &mut Pool, rng: &mut Rng) {
        let Some(descriptor) = self.descriptors.take(rng) else { return };
        self.descriptors.put(descriptor.clone());
        let kind = rng.below(3);
        pool.add(async move {
            match kind {
                0 => {
                    if let Ok(mut guard) = descriptor.readable().await {
                        let value = Value::new();
                        _ = guard.try_io(|_| {
                            call_hostile(&value);
                            Err::<(), _>(io::ErrorKind::WouldBlock.into())
                        });
                    }
                }
                1 => discard(descriptor.writable().await.map(|mut guard| guard.clear_ready())),
                _ => discard(descriptor.ready(Interest::READABLE).await.map(|_| ())),
            }
        });
    }
}
