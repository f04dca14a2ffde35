//! A runtime with Tokio's API, written once for all crates that have it.

/// Defines `OnRuntime`, which runs the cases on the runtime of crate `$library`, and `flavour`,
/// which creates a contender from it.
macro_rules! tokio_shaped {
    ($library:ident) => {
        use crate::cases;
        use crate::runtime::{ReadyChannel, RemoteSpawn, Runtime, SpawnBlocking, Timers};
        use crate::suite::Contender;
        use std::time::Duration;

        pub(super) struct OnRuntime<const MULTI_THREAD: bool>;

        fn build(multi_thread: bool) -> ::$library::runtime::Runtime {
            let mut builder = if multi_thread {
                ::$library::runtime::Builder::new_multi_thread()
            } else {
                ::$library::runtime::Builder::new_current_thread()
            };
            if multi_thread {
                builder.worker_threads($crate::workers::count());
            }
            builder.enable_all().build().unwrap()
        }

        impl<const MULTI_THREAD: bool> Runtime for OnRuntime<MULTI_THREAD> {
            fn run<F>(main: F) -> F::Output
            where
                F: Future<Output: Send + 'static> + Send + 'static,
            {
                build(MULTI_THREAD).block_on(async { ::$library::spawn(main).await.unwrap() })
            }

            fn spawn<F>(future: F) -> impl Future<Output = F::Output> + Send + 'static
            where
                F: Future<Output: Send + 'static> + Send + 'static,
            {
                let handle = ::$library::spawn(future);
                async { handle.await.unwrap() }
            }

            fn detach<F>(future: F)
            where
                F: Future<Output = ()> + Send + 'static,
            {
                ::$library::spawn(future);
            }

            fn yield_now() -> impl Future<Output = ()> + Send {
                ::$library::task::yield_now()
            }
        }

        impl<const MULTI_THREAD: bool> RemoteSpawn for OnRuntime<MULTI_THREAD> {
            type Handle = ::$library::runtime::Handle;

            fn handle() -> Self::Handle {
                ::$library::runtime::Handle::current()
            }

            fn detach_on<F>(handle: &Self::Handle, future: F)
            where
                F: Future<Output = ()> + Send + 'static,
            {
                handle.spawn(future);
            }
        }

        impl<const MULTI_THREAD: bool> Timers for OnRuntime<MULTI_THREAD> {
            fn sleep(duration: Duration) -> impl Future<Output = ()> + Send + 'static {
                ::$library::time::sleep(duration)
            }
        }

        impl<const MULTI_THREAD: bool> $crate::runtime::ResetSleeps for OnRuntime<MULTI_THREAD> {
            type Sleep = ::$library::time::Sleep;

            fn block_on<F: Future>(main: F) -> F::Output {
                build(MULTI_THREAD).block_on(main)
            }

            fn new_sleep(duration: Duration) -> Self::Sleep {
                ::$library::time::sleep(duration)
            }

            fn reset(sleep: std::pin::Pin<&mut Self::Sleep>, after: Duration) {
                sleep.reset(::$library::time::Instant::now() + after);
            }
        }

        impl<const MULTI_THREAD: bool> SpawnBlocking for OnRuntime<MULTI_THREAD> {
            async fn spawn_blocking<T, W>(work: W) -> T
            where
                T: Send + 'static,
                W: FnOnce() -> T + Send + 'static,
            {
                ::$library::task::spawn_blocking(work).await.unwrap()
            }
        }

        impl<const MULTI_THREAD: bool> ReadyChannel for OnRuntime<MULTI_THREAD> {
            async fn send_and_receive(times: usize) {
                let (sender, mut receiver) = ::$library::sync::mpsc::channel(16);
                for i in 0..times {
                    sender.send(i).await.unwrap();
                    assert_eq!(receiver.recv().await, Some(i));
                }
            }
        }

        impl<const MULTI_THREAD: bool> $crate::runtime::FileReads for OnRuntime<MULTI_THREAD> {
            async fn read_through(path: std::path::PathBuf, blocks: usize) {
                use ::$library::io::AsyncReadExt;
                let mut file = ::$library::fs::File::open(path).await.unwrap();
                let mut buffer = vec![0; cases::file::BLOCK];
                for _ in 0..blocks {
                    file.read_exact(&mut buffer).await.unwrap();
                }
            }

            async fn open_and_read(path: std::path::PathBuf, times: usize) {
                use ::$library::io::AsyncReadExt;
                let mut buffer = vec![0; cases::file::BLOCK];
                for _ in 0..times {
                    let mut file = ::$library::fs::File::open(&path).await.unwrap();
                    file.read_exact(&mut buffer).await.unwrap();
                }
            }
        }

        fn flavour<const MULTI_THREAD: bool>(name: &'static str) -> Contender {
            Contender::new(name, &[stringify!($library)])
                .with(cases::sched::cases::<OnRuntime<MULTI_THREAD>>())
                .with(cases::sched::timed_cases::<OnRuntime<MULTI_THREAD>>())
                .with(cases::sched::remote_cases::<OnRuntime<MULTI_THREAD>>())
                .with(sync_cases::<OnRuntime<MULTI_THREAD>>())
                .with(cases::blocking::cases::<OnRuntime<MULTI_THREAD>>())
                .with(cases::file::cases::<OnRuntime<MULTI_THREAD>>())
                .with(cases::timer::cases::<OnRuntime<MULTI_THREAD>>())
                .with(cases::fairness::cases::<OnRuntime<MULTI_THREAD>>())
                .with(cases::tcp_echo::cases::<OnRuntime<MULTI_THREAD>>())
                .with(cases::inside::cases::<OnRuntime<MULTI_THREAD>>())
                .with(cases::paced_echo::cases::<OnRuntime<MULTI_THREAD>>())
                .with(cases::http::cases::<OnRuntime<MULTI_THREAD>>())
                .with(cases::mem::cases::<OnRuntime<MULTI_THREAD>>())
                .with(cases::mem::sleep_cases::<OnRuntime<MULTI_THREAD>>())
                .with(cases::mem::event_cases::<OnRuntime<MULTI_THREAD>, Notify>())
                .with(cases::mem::connection_cases::<OnRuntime<MULTI_THREAD>>())
                .with(cases::blocking_abuse::cases::<OnRuntime<MULTI_THREAD>>())
        }

        /// Adds the cases for runtimes whose workers share the CPUs.
        fn on_workers(contender: Contender) -> Contender {
            contender
                .with(cases::neighbours::cases::<OnRuntime<true>>())
                .with(cases::quota::cases::<OnRuntime<true>>())
                .with(cases::crowded::cases::<OnRuntime<true>>())
        }

        crate::contenders::tokio_shaped_servers::servers!($library);
        crate::contenders::tokio_shaped_sync::primitives!($library);
    };
}

pub(super) use tokio_shaped;
