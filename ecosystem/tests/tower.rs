//! tower's layers: timeouts, limits, buffers, retries.

use std::convert::Infallible;
use std::future::{Ready, pending, ready};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::time::Duration;

use tokio::sync::{Barrier, Notify};
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep};
use tower::load_shed::error::Overloaded;
use tower::retry::Policy;
use tower::timeout::error::Elapsed;
use tower::{BoxError, Service, ServiceBuilder, ServiceExt, service_fn};

ecosystem::on_each_runtime!(
    a_call_that_takes_too_long_times_out,
    no_more_calls_run_at_once_than_the_limit,
    a_full_service_sheds_its_load,
    a_buffered_service_is_shared_by_many_tasks,
    a_buffered_service_that_fails_fails_for_all,
    a_failed_call_is_tried_again,
);

async fn a_call_that_takes_too_long_times_out() {
    let mut service = ServiceBuilder::new().timeout(Duration::from_millis(50)).service(service_fn(
        |slow: bool| async move {
            if slow {
                pending::<()>().await;
            }
            Ok::<_, Infallible>("in time")
        },
    ));
    assert_eq!(service.ready().await.unwrap().call(false).await.unwrap(), "in time");
    let error = service.ready().await.unwrap().call(true).await.unwrap_err();
    assert!(error.is::<Elapsed>(), "{error:?}");
}

async fn no_more_calls_run_at_once_than_the_limit() {
    let (running, most) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    // No call continues before ten calls have started, so ten really run at once.
    let ten = Arc::new(Barrier::new(10));
    let service = {
        let most = most.clone();
        ServiceBuilder::new().concurrency_limit(10).service(service_fn(move |()| {
            let (running, most, ten) = (running.clone(), most.clone(), ten.clone());
            async move {
                most.fetch_max(running.fetch_add(1, SeqCst) + 1, SeqCst);
                ten.wait().await;
                running.fetch_sub(1, SeqCst);
                Ok::<_, Infallible>(())
            }
        }))
    };
    let calls: JoinSet<_> = (0..200).map(|_| service.clone().oneshot(())).collect();
    assert_eq!(calls.join_all().await.len(), 200);
    assert_eq!(most.load(SeqCst), 10);
}

async fn a_full_service_sheds_its_load() {
    let (entered, leave) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
    let service = {
        let (entered, leave) = (entered.clone(), leave.clone());
        ServiceBuilder::new().load_shed().concurrency_limit(1).service(service_fn(move |()| {
            let (entered, leave) = (entered.clone(), leave.clone());
            async move {
                entered.notify_one();
                leave.notified().await;
                Ok::<_, Infallible>(())
            }
        }))
    };
    let first = tokio::spawn(service.clone().oneshot(()));
    entered.notified().await;
    let error = service.clone().oneshot(()).await.unwrap_err();
    assert!(error.is::<Overloaded>(), "{error:?}");
    leave.notify_one();
    first.await.unwrap().unwrap();
    // The permit is free again.
    leave.notify_one();
    service.oneshot(()).await.unwrap();
}

async fn a_buffered_service_is_shared_by_many_tasks() {
    let mut calls_so_far = 0_u64;
    let counter = service_fn(move |()| {
        calls_so_far += 1;
        ready(Ok::<_, BoxError>(calls_so_far))
    });
    let shared = ServiceBuilder::new().buffer(4).service(counter);
    let calls: JoinSet<_> = (0..200).map(|_| shared.clone().oneshot(())).collect();
    let mut numbers: Vec<u64> = calls.join_all().await.into_iter().map(Result::unwrap).collect();
    numbers.sort();
    assert_eq!(numbers, (1..=200).collect::<Vec<u64>>());
}

async fn a_buffered_service_that_fails_fails_for_all() {
    struct Broken;
    impl Service<()> for Broken {
        type Response = ();
        type Error = BoxError;
        type Future = Ready<Result<(), BoxError>>;
        fn poll_ready(
            &mut self,
            _: &mut std::task::Context<'_>,
        ) -> std::task::Poll<Result<(), BoxError>> {
            std::task::Poll::Ready(Err("broken".into()))
        }
        fn call(&mut self, (): ()) -> Self::Future {
            unreachable!("it is never ready")
        }
    }
    let shared = ServiceBuilder::new().buffer(4).service(Broken);
    let calls: JoinSet<_> = (0..20).map(|_| shared.clone().oneshot(())).collect();
    for outcome in calls.join_all().await {
        assert!(outcome.unwrap_err().to_string().contains("broken"));
    }
}

async fn a_failed_call_is_tried_again() {
    #[derive(Clone)]
    struct Patience(u32);
    impl Policy<u32, u32, BoxError> for Patience {
        type Future = tokio::time::Sleep;
        fn retry(
            &mut self,
            _: &mut u32,
            answer: &mut Result<u32, BoxError>,
        ) -> Option<Self::Future> {
            let again = answer.is_err() && self.0 > 0;
            again.then(|| {
                self.0 -= 1;
                sleep(Duration::from_millis(1))
            })
        }
        fn clone_request(&mut self, request: &u32) -> Option<u32> {
            Some(*request)
        }
    }
    let tries = Arc::new(AtomicUsize::new(0));
    let service = {
        let tries = tries.clone();
        ServiceBuilder::new().retry(Patience(3)).service(service_fn(move |request: u32| {
            let failing = tries.fetch_add(1, SeqCst) < 3;
            ready(if failing { Err(BoxError::from("not yet")) } else { Ok(request) })
        }))
    };
    assert_eq!(service.oneshot(7).await.unwrap(), 7);
    assert_eq!(tries.load(SeqCst), 4);
}

/// With a paused clock, waiting takes no time, and its length can be tested exactly.
#[tokio::test(start_paused = true)]
async fn no_more_calls_begin_in_a_second_than_the_rate() {
    let mut service = ServiceBuilder::new()
        .rate_limit(5, Duration::from_secs(1))
        .service(service_fn(|()| ready(Ok::<_, Infallible>(()))));
    let start = Instant::now();
    for _ in 0..21 {
        service.ready().await.unwrap().call(()).await.unwrap();
    }
    let took = start.elapsed();
    assert!((Duration::from_secs(4)..Duration::from_millis(4100)).contains(&took), "{took:?}");
}
