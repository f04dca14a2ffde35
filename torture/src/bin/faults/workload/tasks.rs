//! Operations without descriptors: tasks, timers, channels.

use super::{Site, same};
use std::sync::Arc;
use std::time::{Duration, Instant};
use wakeful::sync::{Notify, Semaphore, broadcast, mpsc, oneshot, watch};
use wakeful::task::{JoinSet, yield_now};
use wakeful::time::{interval, sleep, timeout};

pub fn spawn(site: &Site<'_>) -> Result<(), String> {
    site.in_a_task(async {
        let mut set = JoinSet::new();
        for n in 0..200_u64 {
            set.spawn(async move {
                yield_now().await;
                n
            });
        }
        let sum: u64 = set.join_all().await.iter().sum();
        same("sum of 200 tasks", sum, 19_900)
    })
}

pub fn timers(site: &Site<'_>) -> Result<(), String> {
    site.in_a_task(async {
        let begun = Instant::now();
        sleep(Duration::from_millis(5)).await;
        let took = begun.elapsed();
        same("early sleep", took < Duration::from_millis(5), false)?;
        same("late sleep", took > Duration::from_secs(2), false)?;
        let never = timeout(Duration::from_millis(2), std::future::pending::<()>());
        same("timeout of a future that never completes", never.await.is_err(), true)?;
        let mut ticks = interval(Duration::from_millis(1));
        for _ in 0..5 {
            ticks.tick().await;
        }
        let sleeps: JoinSet<()> = (0..50).map(|n| sleep(Duration::from_micros(n * 100))).collect();
        same("sleeps", sleeps.join_all().await.len(), 50)
    })
}

pub fn channels(site: &Site<'_>) -> Result<(), String> {
    site.in_a_task(async {
        let (sender, mut receiver) = mpsc::channel(4);
        for n in 0..4_u64 {
            let sender = sender.clone();
            wakeful::spawn(async move {
                for m in 0..50 {
                    if sender.send(n * 50 + m).await.is_err() {
                        return;
                    }
                }
            });
        }
        drop(sender);
        let mut sum = 0;
        while let Some(n) = receiver.recv().await {
            sum += n;
        }
        same("sum of 200 messages", sum, 19_900)?;

        let (answer, asked) = oneshot::channel();
        wakeful::spawn(async move { answer.send(7) });
        same("oneshot", asked.await.ok(), Some(7))?;

        let (news, mut reader) = broadcast::channel(8);
        let (state, mut seen) = watch::channel(0);
        let (notify, gate) = (Arc::new(Notify::new()), Arc::new(Semaphore::new(0)));
        let (notified, entered) = (notify.clone(), gate.clone());
        let waits = wakeful::spawn(async move {
            notified.notified().await;
            entered.acquire().await.is_ok()
        });
        same("broadcast", news.send(3).ok(), Some(1))?;
        same("watch", state.send(4).ok(), Some(()))?;
        same("broadcast", reader.recv().await.ok(), Some(3))?;
        same("watch", seen.wait_for(|n| *n == 4).await.is_ok(), true)?;
        notify.notify_one();
        gate.add_permits(1);
        same("notify and semaphore", waits.await.ok(), Some(true))
    })
}
