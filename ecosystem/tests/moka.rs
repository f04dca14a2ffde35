//! moka's async cache: shared initialization, expiry, eviction.

use std::future::pending;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::time::Duration;

use moka::future::{Cache, FutureExt};
use moka::notification::RemovalCause;
use tokio::sync::{Barrier, Notify, mpsc};
use tokio::task::{JoinSet, yield_now};
use tokio::time::sleep;

ecosystem::on_each_runtime!(
    tasks_that_miss_the_same_key_compute_it_once,
    the_next_task_computes_what_an_aborted_one_began,
    an_error_reaches_all_that_wait_and_is_not_cached,
    entries_expire,
    the_listener_hears_of_each_entry_that_goes,
    a_cache_under_load_returns_only_what_belongs_to_the_key,
);

async fn tasks_that_miss_the_same_key_compute_it_once() {
    let cache = Cache::new(100);
    let computed = Arc::new(AtomicUsize::new(0));
    let all_there = Arc::new(Barrier::new(100));
    let mut tasks: JoinSet<u32> = JoinSet::new();
    for task in 0..100 {
        let (cache, computed, all_there) = (cache.clone(), computed.clone(), all_there.clone());
        tasks.spawn(async move {
            all_there.wait().await;
            let compute = async {
                computed.fetch_add(1, SeqCst);
                sleep(Duration::from_millis(5)).await;
                task
            };
            cache.get_with("key", compute).await
        });
    }
    let values = tasks.join_all().await;
    assert_eq!(values.len(), 100);
    assert!(values.iter().all(|value| *value == values[0]), "{values:?}");
    assert_eq!(computed.load(SeqCst), 1);
}

async fn the_next_task_computes_what_an_aborted_one_began() {
    let cache: Cache<&str, &str> = Cache::new(100);
    let begun = Arc::new(Notify::new());
    let first = {
        let (cache, begun) = (cache.clone(), begun.clone());
        tokio::spawn(async move {
            let never = async {
                begun.notify_one();
                pending::<&str>().await
            };
            cache.get_with("key", never).await
        })
    };
    begun.notified().await;
    let second = {
        let cache = cache.clone();
        tokio::spawn(async move { cache.get_with("key", async { "second" }).await })
    };
    // The second task waits for the first.
    for _ in 0..100 {
        yield_now().await;
    }
    assert!(!second.is_finished());
    first.abort();
    assert!(first.await.unwrap_err().is_cancelled());
    assert_eq!(second.await.unwrap(), "second");
}

async fn an_error_reaches_all_that_wait_and_is_not_cached() {
    let cache: Cache<&str, u32> = Cache::new(100);
    let all_there = Arc::new(Barrier::new(20));
    let tasks: JoinSet<_> = (0..20)
        .map(|_| {
            let (cache, all_there) = (cache.clone(), all_there.clone());
            async move {
                all_there.wait().await;
                let fails = async {
                    sleep(Duration::from_millis(5)).await;
                    Err("broken")
                };
                cache.try_get_with("key", fails).await
            }
        })
        .collect();
    for outcome in tasks.join_all().await {
        assert_eq!(*outcome.unwrap_err(), "broken");
    }
    assert_eq!(cache.get("key").await, None);
    assert_eq!(cache.try_get_with("key", async { Ok::<_, &str>(7) }).await, Ok(7));
}

async fn entries_expire() {
    let cache = Cache::builder().time_to_live(Duration::from_millis(100)).build();
    for number in 0..50 {
        cache.insert(number, number).await;
    }
    assert_eq!(cache.get(&7).await, Some(7));
    sleep(Duration::from_millis(120)).await;
    assert_eq!(cache.get(&7).await, None);
    cache.run_pending_tasks().await;
    assert_eq!(cache.entry_count(), 0);
}

async fn the_listener_hears_of_each_entry_that_goes() {
    let (sender, mut removed) = mpsc::unbounded_channel();
    let cache = Cache::builder()
        .max_capacity(10)
        .async_eviction_listener(move |key: Arc<u32>, _: u32, cause| {
            let sender = sender.clone();
            async move {
                yield_now().await;
                sender.send((*key, cause)).unwrap();
            }
            .boxed()
        })
        .build();
    for key in 0..100 {
        cache.insert(key, key).await;
    }
    cache.run_pending_tasks().await;
    assert_eq!(cache.entry_count(), 10);
    let mut gone: Vec<u32> = Vec::new();
    while let Ok((key, cause)) = removed.try_recv() {
        assert_eq!(cause, RemovalCause::Size);
        gone.push(key);
    }
    assert_eq!(gone.len(), 90);
    let kept: Vec<u32> = cache.iter().map(|(key, _)| *key).collect();
    assert!(kept.iter().all(|key| !gone.contains(key)), "kept {kept:?}, removed {gone:?}");
    cache.invalidate(&kept[0]).await;
    assert_eq!(removed.recv().await.unwrap(), (kept[0], RemovalCause::Explicit));
}

async fn a_cache_under_load_returns_only_what_belongs_to_the_key() {
    let cache = Cache::new(64);
    let tasks: JoinSet<()> = (0..16_u64)
        .map(|task| {
            let cache: Cache<u64, u64> = cache.clone();
            async move {
                for round in 0..500 {
                    let key = (task * 31 + round * 17) % 200;
                    match round % 5 {
                        0 => cache.invalidate(&key).await,
                        1 => cache.insert(key, key * 1000).await,
                        _ => {
                            assert_eq!(cache.get_with(key, async { key * 1000 }).await, key * 1000)
                        }
                    }
                }
            }
        })
        .collect();
    tasks.join_all().await;
    cache.run_pending_tasks().await;
    assert!(cache.entry_count() <= 64, "{}", cache.entry_count());
}
