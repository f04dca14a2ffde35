//! `mpsc::Sender::send_timeout`: waits for capacity, up to a limit.

use std::future::{Future, poll_fn};
use std::pin::pin;
use std::task::Poll;
use wakeful::sync::mpsc::{self, error::SendTimeoutError};
use wakeful::time::{self, Duration, Instant};

const LIMIT: Duration = Duration::from_secs(1);

async fn is_ready(future: impl Future) -> bool {
    let mut future = pin!(future);
    poll_fn(|cx| Poll::Ready(future.as_mut().poll(cx).is_ready())).await
}

#[wakeful::test(start_paused = true)]
async fn a_timeout_returns_the_value() {
    let (tx, mut rx) = mpsc::channel(1);
    let began = Instant::now();
    assert_eq!(tx.send_timeout("first".to_owned(), LIMIT).await, Ok(()));
    assert_eq!(began.elapsed(), Duration::ZERO);
    let late = tx.send_timeout("second".to_owned(), LIMIT).await.unwrap_err();
    assert_eq!(began.elapsed(), LIMIT);
    assert_eq!(late, SendTimeoutError::Timeout("second".to_owned()));
    assert_eq!(late.to_string(), "timed out waiting on send operation");
    assert_eq!(late.into_inner(), "second");
    assert_eq!(rx.recv().await.as_deref(), Some("first"));
    // The sender that timed out has left the queue: the capacity is available to others.
    assert_eq!(tx.capacity(), 1);
    assert_eq!(tx.send_timeout("third".to_owned(), Duration::ZERO).await, Ok(()));
}

#[wakeful::test(start_paused = true)]
async fn capacity_freed_in_time_is_used() {
    let (tx, mut rx) = mpsc::channel(1);
    tx.send(1).await.unwrap();
    let began = Instant::now();
    let receiver = wakeful::spawn(async move {
        time::sleep(LIMIT / 2).await;
        (rx.recv().await, rx.recv().await)
    });
    assert_eq!(tx.send_timeout(2, LIMIT).await, Ok(()));
    assert_eq!(began.elapsed(), LIMIT / 2);
    assert_eq!(receiver.await.unwrap(), (Some(1), Some(2)));
}

#[wakeful::test(start_paused = true)]
async fn a_closed_channel_differs_from_a_full_one() {
    let (tx, mut rx) = mpsc::channel(1);
    tx.send(1).await.unwrap();
    {
        let mut waits = pin!(tx.send_timeout(2, LIMIT));
        assert!(!is_ready(waits.as_mut()).await);
        rx.close();
        assert_eq!(waits.await, Err(SendTimeoutError::Closed(2)));
    }
    let closed = tx.send_timeout(3, LIMIT).await.unwrap_err();
    assert_eq!(closed.to_string(), "channel closed");
    assert_eq!(closed.into_inner(), 3);
}

#[test]
#[should_panic(expected = "there is no reactor running")]
fn send_timeout_without_a_runtime_panics() {
    let (tx, _rx) = mpsc::channel(1);
    let mut send = pin!(tx.send_timeout((), LIMIT));
    let mut cx = std::task::Context::from_waker(std::task::Waker::noop());
    let _ = send.as_mut().poll(&mut cx);
}
