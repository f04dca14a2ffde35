//! Wakeful without its monitor, to compare with Wakeful as it is. It shows what the hand-off costs
//! where no task blocks. It runs only if selected by name.

use super::wakeful::OnRuntime;
use crate::cases;
use crate::runtime::{EchoServer, RemoteSpawn, Runtime, Timers};
use crate::suite::Contender;
use crate::workers;
use std::net::TcpListener;
use std::time::Duration;

struct Unwatched;

impl Runtime for Unwatched {
    fn run<F>(main: F) -> F::Output
    where
        F: Future<Output: Send + 'static> + Send + 'static,
    {
        let mut builder = wakeful::runtime::Builder::new_multi_thread();
        builder.worker_threads(workers::count()).enable_all().disable_stall_handoff();
        builder.build().unwrap().block_on(async { wakeful::spawn(main).await.unwrap() })
    }

    fn spawn<F>(future: F) -> impl Future<Output = F::Output> + Send + 'static
    where
        F: Future<Output: Send + 'static> + Send + 'static,
    {
        let handle = wakeful::spawn(future);
        async { handle.await.unwrap() }
    }

    fn detach<F>(future: F)
    where
        F: Future<Output = ()> + Send + 'static,
    {
        wakeful::spawn(future);
    }

    fn yield_now() -> impl Future<Output = ()> + Send {
        wakeful::task::yield_now()
    }
}

impl RemoteSpawn for Unwatched {
    type Handle = wakeful::runtime::Handle;

    fn handle() -> Self::Handle {
        wakeful::runtime::Handle::current()
    }

    fn detach_on<F>(handle: &Self::Handle, future: F)
    where
        F: Future<Output = ()> + Send + 'static,
    {
        handle.spawn(future);
    }
}

impl Timers for Unwatched {
    fn sleep(duration: Duration) -> impl Future<Output = ()> + Send + 'static {
        wakeful::time::sleep(duration)
    }
}

impl EchoServer for Unwatched {
    async fn serve_echo(listener: TcpListener, buffer_bytes: usize) {
        OnRuntime::<true>::serve_echo(listener, buffer_bytes).await;
    }
}

pub fn multi_thread() -> Contender {
    Contender::new("unwatched-mt", &["wakeful"])
        .against("wakeful-mt")
        .by_name_only()
        .with(cases::sched::cases::<Unwatched>())
        .with(cases::sched::timed_cases::<Unwatched>())
        .with(cases::sched::remote_cases::<Unwatched>())
        .with(cases::tcp_echo::cases::<Unwatched>())
        .with(cases::paced_echo::cases::<Unwatched>())
}
