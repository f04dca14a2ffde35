//! Channels that have no runtime of their own, and Tokio's channels without Tokio. All of them run
//! on Wakeful's multi-thread runtime, so that only the channels differ.

use super::{tokio, wakeful};
use crate::cases::sync;
use crate::primitives::{Channel, Oneshot};
use crate::suite::Contender;

type Wakeful = wakeful::OnRuntime<true>;

pub fn tokio_sync() -> Contender {
    contender("tokio-sync", &["tokio"]).with(tokio::sync_cases::<Wakeful>())
}

pub fn flume() -> Contender {
    contender("flume", &["flume"])
        .with(sync::channel_cases::<Wakeful, Flume>())
        .with(sync::unbounded_channel_cases::<Wakeful, Flume>())
}

pub fn kanal() -> Contender {
    contender("kanal", &["kanal"])
        .with(sync::channel_cases::<Wakeful, Kanal>())
        .with(sync::unbounded_channel_cases::<Wakeful, Kanal>())
}

pub fn tachyonix() -> Contender {
    contender("tachyonix", &["tachyonix"]).with(sync::channel_cases::<Wakeful, Tachyonix>())
}

pub fn async_channel() -> Contender {
    contender("async-channel", &["async-channel"])
        .with(sync::channel_cases::<Wakeful, AsyncChannel>())
        .with(sync::unbounded_channel_cases::<Wakeful, AsyncChannel>())
}

pub fn oneshot() -> Contender {
    contender("oneshot", &["oneshot"]).with(sync::oneshot_cases::<Wakeful, OneshotCrate>())
}

fn contender(name: &'static str, packages: &'static [&'static str]) -> Contender {
    Contender::new(name, packages).against("tokio-mt")
}

struct Flume;

impl Channel for Flume {
    type Sender = ::flume::Sender<u64>;
    type Receiver = ::flume::Receiver<u64>;

    fn new(room: Option<usize>) -> (Self::Sender, Self::Receiver) {
        room.map_or_else(::flume::unbounded, ::flume::bounded)
    }

    async fn send(sender: &Self::Sender, value: u64) {
        sender.send_async(value).await.unwrap();
    }

    async fn recv(receiver: &mut Self::Receiver) -> Option<u64> {
        receiver.recv_async().await.ok()
    }
}

struct Kanal;

impl Channel for Kanal {
    type Sender = ::kanal::AsyncSender<u64>;
    type Receiver = ::kanal::AsyncReceiver<u64>;

    fn new(room: Option<usize>) -> (Self::Sender, Self::Receiver) {
        room.map_or_else(::kanal::unbounded_async, ::kanal::bounded_async)
    }

    async fn send(sender: &Self::Sender, value: u64) {
        sender.send(value).await.unwrap();
    }

    async fn recv(receiver: &mut Self::Receiver) -> Option<u64> {
        receiver.recv().await.ok()
    }
}

struct Tachyonix;

impl Channel for Tachyonix {
    type Sender = ::tachyonix::Sender<u64>;
    type Receiver = ::tachyonix::Receiver<u64>;

    fn new(room: Option<usize>) -> (Self::Sender, Self::Receiver) {
        ::tachyonix::channel(room.expect("tachyonix has only bounded channels"))
    }

    async fn send(sender: &Self::Sender, value: u64) {
        sender.send(value).await.unwrap();
    }

    async fn recv(receiver: &mut Self::Receiver) -> Option<u64> {
        receiver.recv().await.ok()
    }
}

pub(super) struct AsyncChannel;

impl Channel for AsyncChannel {
    type Sender = ::async_channel::Sender<u64>;
    type Receiver = ::async_channel::Receiver<u64>;

    fn new(room: Option<usize>) -> (Self::Sender, Self::Receiver) {
        room.map_or_else(::async_channel::unbounded, ::async_channel::bounded)
    }

    async fn send(sender: &Self::Sender, value: u64) {
        sender.send(value).await.unwrap();
    }

    async fn recv(receiver: &mut Self::Receiver) -> Option<u64> {
        receiver.recv().await.ok()
    }
}

struct OneshotCrate;

impl Oneshot for OneshotCrate {
    type Sender = ::oneshot::Sender<u64>;
    type Receiver = ::oneshot::AsyncReceiver<u64>;

    fn new() -> (Self::Sender, Self::Receiver) {
        ::oneshot::async_channel()
    }

    fn send(sender: Self::Sender, value: u64) {
        sender.send(value).unwrap();
    }

    async fn recv(receiver: Self::Receiver) -> u64 {
        receiver.await.unwrap()
    }
}
