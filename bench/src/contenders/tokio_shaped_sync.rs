//! The channels, locks and notifications of a library with Tokio's API.

/// Defines `Sync`, which stands for the primitives of crate `$library`, and `sync_cases`, which
/// measures them on the tasks of any runtime.
macro_rules! primitives {
    ($library:ident) => {
        use crate::cases::sync;
        use crate::primitives;
        use crate::suite::Case;
        use ::$library::sync::{Mutex, Notify, Semaphore, broadcast, mpsc, oneshot, watch};

        pub(super) fn sync_cases<R: crate::runtime::Runtime>() -> Vec<Case> {
            let groups = [
                sync::channel_cases::<R, Bounded>(),
                sync::unbounded_channel_cases::<R, Unbounded>(),
                sync::oneshot_cases::<R, Oneshot>(),
                sync::event_cases::<R, Notify>(),
                sync::lock_cases::<R, Mutex<u64>>(),
                sync::permit_cases::<R, Semaphore>(),
                sync::broadcast_cases::<R, Broadcast>(),
                sync::watch_cases::<R, Watch>(),
            ];
            groups.into_iter().flatten().collect()
        }

        struct Bounded;

        impl primitives::Channel for Bounded {
            type Sender = mpsc::Sender<u64>;
            type Receiver = mpsc::Receiver<u64>;

            fn new(room: Option<usize>) -> (Self::Sender, Self::Receiver) {
                mpsc::channel(room.expect("this is the bounded one"))
            }

            async fn send(sender: &Self::Sender, value: u64) {
                sender.send(value).await.unwrap();
            }

            async fn recv(receiver: &mut Self::Receiver) -> Option<u64> {
                receiver.recv().await
            }
        }

        struct Unbounded;

        impl primitives::Channel for Unbounded {
            type Sender = mpsc::UnboundedSender<u64>;
            type Receiver = mpsc::UnboundedReceiver<u64>;

            fn new(_any_number: Option<usize>) -> (Self::Sender, Self::Receiver) {
                mpsc::unbounded_channel()
            }

            async fn send(sender: &Self::Sender, value: u64) {
                sender.send(value).unwrap();
            }

            async fn recv(receiver: &mut Self::Receiver) -> Option<u64> {
                receiver.recv().await
            }
        }

        struct Oneshot;

        impl primitives::Oneshot for Oneshot {
            type Sender = oneshot::Sender<u64>;
            type Receiver = oneshot::Receiver<u64>;

            fn new() -> (Self::Sender, Self::Receiver) {
                oneshot::channel()
            }

            fn send(sender: Self::Sender, value: u64) {
                sender.send(value).unwrap();
            }

            async fn recv(receiver: Self::Receiver) -> u64 {
                receiver.await.unwrap()
            }
        }

        impl primitives::Event for Notify {
            fn new() -> Self {
                Notify::new()
            }

            fn tell(&self) {
                self.notify_one();
            }

            async fn wait(&self) {
                self.notified().await;
            }
        }

        impl primitives::Lock for Mutex<u64> {
            fn new() -> Self {
                Mutex::new(0)
            }

            async fn lock(&self) -> impl std::ops::DerefMut<Target = u64> + Send {
                Mutex::lock(self).await
            }
        }

        impl primitives::Permits for Semaphore {
            fn new(permits: usize) -> Self {
                Semaphore::new(permits)
            }

            async fn acquire(&self) -> impl Send {
                Semaphore::acquire(self).await.unwrap()
            }
        }

        struct Broadcast;

        impl primitives::Broadcast for Broadcast {
            type Sender = broadcast::Sender<u64>;
            type Receiver = broadcast::Receiver<u64>;

            fn new(room: usize) -> Self::Sender {
                broadcast::Sender::new(room)
            }

            fn subscribe(sender: &Self::Sender) -> Self::Receiver {
                sender.subscribe()
            }

            fn send(sender: &Self::Sender, value: u64) {
                sender.send(value).unwrap();
            }

            async fn recv(receiver: &mut Self::Receiver) -> u64 {
                receiver.recv().await.unwrap()
            }
        }

        struct Watch;

        impl primitives::Watch for Watch {
            type Sender = watch::Sender<u64>;
            type Receiver = watch::Receiver<u64>;

            fn new() -> (Self::Sender, Self::Receiver) {
                watch::channel(0)
            }

            fn set(sender: &Self::Sender, value: u64) {
                sender.send(value).unwrap();
            }

            async fn changed(receiver: &mut Self::Receiver) -> u64 {
                receiver.changed().await.unwrap();
                *receiver.borrow_and_update()
            }
        }
    };
}

pub(super) use primitives;
