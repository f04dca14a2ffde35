//! The process in figures: its runtimes and their workers.

use super::answer::Query;
use super::json::Writer;
use crate::census::{Actor, Flavor, RuntimeState, Snapshot, WorkerState};
use crate::metrics::{RemoteMetrics, WorkerMetrics};
use crate::scheduler::SchedulerHandle;
use crate::stall::recent_stalls;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;
use wakeful_task::recording;

/// For how long a worker has to be in the same user code to be called stuck.
const STUCK_MIN: Duration = Duration::from_millis(2);

/// The counters of a runtime.
struct Counters<'a> {
    workers: Vec<&'a WorkerMetrics>,
    remote: &'a RemoteMetrics,
}

impl Counters<'_> {
    fn of(scheduler: &SchedulerHandle) -> Counters<'_> {
        match scheduler {
            SchedulerHandle::CurrentThread(one) => {
                Counters { workers: vec![&one.metrics], remote: one.remote_metrics() }
            }
            SchedulerHandle::MultiThread(many) => Counters {
                workers: (0..many.worker_count()).map(|at| many.worker_metrics(at)).collect(),
                remote: many.remote_metrics(),
            },
        }
    }

    fn sum(&self, of_worker: fn(&WorkerMetrics) -> u64) -> u64 {
        self.workers.iter().map(|worker| of_worker(worker)).sum()
    }
}

pub(super) fn summary(query: &mut Query<'_>) -> Result<(), String> {
    let snapshot = query.glance();
    let json = &mut query.json;
    if let Some(since) = recording::since() {
        json.number_member("watched_us", since.elapsed().as_micros() as u64);
        put_totals(json);
    }
    if let Ok(threads) = std::fs::read_dir("/proc/self/task") {
        json.number_member("threads", threads.count() as u64);
    }
    json.bool_member("asks", query.console.settings.asks);
    let schedulers = query.console.schedulers();
    let mut totals = [("polls", 0), ("handoffs", 0)];
    let mut ended = 0;
    json.name("runtimes").open('[');
    for runtime in &snapshot.runtimes {
        let is_it = |scheduler: &&SchedulerHandle| scheduler.info().id.get() == runtime.id;
        let scheduler = schedulers.iter().find(is_it);
        json.open('{');
        put_runtime(json, runtime);
        match scheduler {
            Some(scheduler) => {
                let counters = Counters::of(scheduler);
                totals[0].1 += counters.sum(|worker| worker.polls.get());
                totals[1].1 += scheduler.stalls().metrics.handoffs();
                ended += put_counters(json, scheduler, &counters, runtime);
                put_workers(json, scheduler, &counters, &snapshot);
            }
            None => {
                let tasks = snapshot.actors.iter().filter(|actor| actor.runtime == runtime.id);
                json.number_member("tasks", tasks.count() as u64);
                json.name("workers").raw("[]");
            }
        }
        json.close('}');
    }
    json.close(']');
    json.name("tasks").open('{');
    for (name, state) in super::rows::STATES {
        let is_it = |actor: &&Actor| actor.state == state;
        json.number_member(name, snapshot.actors.iter().filter(is_it).count() as u64);
    }
    json.number_member("ended", ended);
    json.close('}');
    for (name, total) in totals {
        json.number_member(name, total);
    }
    json.bool_member("incomplete", snapshot.is_incomplete);
    Ok(())
}

/// Writes what is recorded of all tasks together.
fn put_totals(json: &mut Writer) {
    let totals = recording::totals();
    json.number_member("wakes", totals.wakes);
    for (name, buckets) in [("poll_us", totals.polls), ("scheduled_us", totals.scheduled)] {
        json.name(name).open('[');
        for (exponent, count) in buckets.into_iter().enumerate().filter(|bucket| bucket.1 > 0) {
            json.open('[').number(1 << exponent);
            json.number(count);
            json.close(']');
        }
        json.close(']');
    }
}

fn put_runtime(json: &mut Writer, runtime: &RuntimeState) {
    json.number_member("id", runtime.id);
    if let Some(name) = &runtime.name {
        json.text_member("name", name);
    }
    json.text_member(
        "flavor",
        match runtime.flavor {
            Flavor::MultiThread => "multi_thread",
            Flavor::CurrentThread => "current_thread",
            Flavor::LocalSet => "local_set",
        },
    );
    json.bool_member("is_driven", runtime.is_driven);
    json.number_member("queued", runtime.queued as u64);
}

/// Returns the number of tasks that have ended.
fn put_counters(
    json: &mut Writer,
    scheduler: &SchedulerHandle,
    counters: &Counters<'_>,
    runtime: &RuntimeState,
) -> u64 {
    let remote = counters.remote;
    // The ended tasks first: each of them was spawned before the others are read.
    let ended = counters.sum(|worker| worker.ended.get()) + remote.ended.load(Relaxed);
    let spawned = counters.sum(|worker| worker.spawned.get()) + remote.spawned.load(Relaxed);
    json.number_member("tasks", spawned.saturating_sub(ended));
    json.number_member("spawned", spawned);
    json.number_member(
        "remote_schedules",
        remote.schedules.load(Relaxed) + remote.spawned.load(Relaxed),
    );
    json.name("blocking").open('{');
    let pool = runtime.blocking;
    json.number_member("threads", scheduler.pool().threads(scheduler.pool_workers()) as u64);
    json.number_member("busy", pool.busy as u64);
    json.number_member("queued", pool.queued as u64);
    json.number_member("max", pool.threads_max as u64);
    json.close('}');
    let stalls = &scheduler.stalls().metrics;
    json.number_member("stalls", stalls.stalls());
    json.number_member("handoffs", stalls.handoffs());
    ended
}

fn put_workers(
    json: &mut Writer,
    scheduler: &SchedulerHandle,
    counters: &Counters<'_>,
    snapshot: &Snapshot,
) {
    let runtime = scheduler.info().id.get();
    json.name("workers").open('[');
    for (index, worker) in counters.workers.iter().enumerate() {
        let in_user_code = |state: &&WorkerState| state.runtime == runtime && state.index == index;
        let in_user_code = snapshot.workers.iter().find(in_user_code);
        let stuck_for = in_user_code.and_then(|state| state.stuck_for);
        let parks = worker.parks.get();
        json.open('{');
        json.number_member("index", index as u64);
        json.text_member(
            "state",
            match stuck_for {
                Some(time) if time >= STUCK_MIN => "stuck",
                _ if scheduler.is_vacant(index) => "vacant",
                _ if parks > worker.unparks.get() => "parked",
                _ => "running",
            },
        );
        let (queue, mean_poll_ns) = scheduler.queue_of(index);
        for (name, number) in [
            ("polls", worker.polls.get()),
            ("parks", parks),
            ("steals", worker.steal_operations.get()),
            ("stolen", worker.steals.get()),
            ("busy_us", worker.busy().as_micros() as u64),
            ("queue", queue),
            ("overflows", 0),
        ] {
            json.number_member(name, number);
        }
        if mean_poll_ns > 0 {
            json.number_member("mean_poll_ns", mean_poll_ns);
        }
        if let (Some(task), Some(time)) = (in_user_code.and_then(|state| state.task), stuck_for) {
            json.number_member("task", task);
            json.number_member("stuck_us", time.as_micros() as u64);
        }
        json.close('}');
    }
    json.close(']');
}

/// Answers `stalls`.
pub(super) fn stalls(query: &mut Query<'_>) -> Result<(), String> {
    let total: u64 =
        query.console.schedulers().iter().map(|one| one.stalls().metrics.stalls()).sum();
    let json = &mut query.json;
    json.number_member("time_us", query.process.now_us());
    json.number_member("total", total);
    json.name("rows").open('[');
    for recent in recent_stalls() {
        let stall = &recent.stall;
        let at = recent.at.saturating_duration_since(query.process.begun);
        json.open('{').number_member("at_us", at.as_micros() as u64);
        json.number_member("us", stall.duration.as_micros() as u64);
        json.number_member("runtime", recent.runtime);
        if let Some(worker) = stall.worker {
            json.number_member("worker", worker as u64);
        }
        if let Some(task) = stall.task_id() {
            json.number_member("task", task.as_u64());
        }
        if let Some(site) = stall.spawned_at() {
            json.text_member("site", &site.to_string());
        }
        json.text_member("text", &stall.to_string());
        json.close('}');
    }
    json.close(']');
    Ok(())
}
