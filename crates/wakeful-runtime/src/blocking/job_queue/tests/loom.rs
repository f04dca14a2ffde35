//! Pushes race with threads that arrive, spin, sleep, watch the queue and exit. A job that no
//! thread takes is a deadlock, which loom reports.
//!
//! A timeout elapses as soon as the other threads had a turn. With a keep-alive time of zero a
//! thread exits when it has nothing to do; with the longest it sleeps until it is notified.

use super::*;
use crate::testing::{large_model, model};
use std::sync::Arc;
use std::sync::atomic::AtomicUsize as StdUsize;
use wakeful_base::sync::thread;

/// Threads that run jobs, and the counts of jobs run and refused.
struct Pool {
    queue: JobQueue<Job>,
    /// Std's mutex: it is no part of the model.
    threads: std::sync::Mutex<Vec<thread::JoinHandle<()>>>,
    jobs_left: StdUsize,
    refused: StdUsize,
    /// Set by jobs that open. Jobs that block wait for it.
    open: Mutex<bool>,
    opened: Condvar,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Job {
    Returns,
    Blocks,
    Opens,
    /// Opens, and lasts until the end.
    Worker,
    /// Runs although the queue is closed.
    Mandatory,
}

impl Pool {
    /// Makes a pool for `jobs` jobs. The last of them closes the queue.
    fn new(jobs: usize, threads_max: usize, keep_alive: Duration) -> Arc<Pool> {
        Arc::new(Pool {
            queue: JobQueue::new(threads_max, keep_alive),
            threads: std::sync::Mutex::default(),
            jobs_left: jobs.into(),
            refused: 0.into(),
            open: Mutex::new(false),
            opened: Condvar::new(),
        })
    }

    /// Sets the state that many short jobs lead to.
    fn expecting_short_jobs(self: Arc<Self>) -> Arc<Self> {
        self.queue.state.lock().average_ns = 0;
        self
    }

    fn with_threads(self: Arc<Self>, count: usize) -> Arc<Self> {
        let mut state = self.queue.state.lock();
        state.threads += count;
        state.starting += count;
        drop(state);
        for _ in 0..count {
            self.start();
        }
        self
    }

    fn start(self: &Arc<Self>) {
        let pool = self.clone();
        let handle = thread::spawn(move || pool.work());
        self.threads.lock().unwrap().push(handle);
    }

    fn submit(self: &Arc<Self>, job: Job) {
        let kind = match job {
            Job::Worker => Kind::Worker,
            Job::Mandatory => Kind::Mandatory,
            Job::Returns | Job::Blocks | Job::Opens => Kind::Short,
        };
        match self.queue.push(job, kind) {
            Push::Queued => {}
            Push::StartThread(_) => self.start(),
            Push::Closed(_) => self.refuse(1),
        }
    }

    fn refuse(&self, count: usize) {
        self.refused.fetch_add(count, SeqCst);
    }

    fn work(self: &Arc<Self>) {
        let mut arrival = Arrival::AsNew;
        loop {
            let job = match self.queue.next(arrival) {
                NextJob::Run(job) => job,
                NextJob::StartThreadAndRun(job) => {
                    self.start();
                    job
                }
                NextJob::Exit => return,
            };
            self.run(job);
            if job == Job::Worker {
                self.queue.end_worker_job();
                arrival = Arrival::Unannounced;
            } else {
                arrival = Arrival::Announced;
                self.queue.end(Instant::now(), arrival);
            }
            if self.jobs_left.fetch_sub(1, SeqCst) == 1 {
                assert!(self.queue.close().is_empty(), "all jobs have been run");
            }
        }
    }

    fn run(&self, job: Job) {
        let mut open = self.open.lock();
        if job == Job::Opens || job == Job::Worker {
            *open = true;
            self.opened.notify_all();
        }
        while job == Job::Blocks && !*open {
            open = self.opened.wait(open);
        }
    }

    /// Waits for the threads to exit, and checks the counters.
    fn assert_finished(self: Arc<Self>) {
        assert!(self.queue.wait_for_exits(0, None));
        loop {
            // In two steps: the lock must be free during the join.
            let thread = self.threads.lock().unwrap().pop();
            let Some(thread) = thread else { break };
            thread.join().unwrap();
        }
        let state = self.queue.state.lock();
        assert_eq!(self.jobs_left.load(SeqCst), self.refused.load(SeqCst), "jobs lost");
        assert_eq!((state.jobs.len(), state.threads, state.starting), (0, 0, 0));
        assert_eq!((state.worker_jobs, state.spinning, state.finishing), (0, 0, 0));
        assert_eq!((state.sleeping, state.watchdog), (0, false));
    }
}

#[test]
fn push_races_with_a_thread_that_spins_and_sleeps() {
    model(|| {
        let pool = Pool::new(2, 1, Duration::MAX).with_threads(1);
        pool.submit(Job::Returns);
        pool.submit(Job::Returns);
        pool.assert_finished();
    });
}

#[test]
fn push_races_with_a_thread_that_exits() {
    model(|| {
        let pool = Pool::new(2, 1, Duration::ZERO).with_threads(1);
        pool.submit(Job::Returns);
        pool.submit(Job::Returns);
        pool.assert_finished();
    });
}

#[test]
fn two_pushes_race_with_two_threads() {
    large_model(|| {
        let pool = Pool::new(2, 2, Duration::MAX).with_threads(2);
        let pushing = pool.clone();
        let other = thread::spawn(move || pushing.submit(Job::Opens));
        pool.submit(Job::Blocks);
        other.join().unwrap();
        pool.assert_finished();
    });
}

#[test]
fn jobs_that_wait_for_each_other_get_threads_of_their_own() {
    large_model(|| {
        let pool = Pool::new(3, 3, Duration::MAX);
        pool.submit(Job::Blocks);
        pool.submit(Job::Blocks);
        pool.submit(Job::Opens);
        pool.assert_finished();
    });
}

#[test]
fn the_watchdog_takes_over_and_requests_more_threads() {
    large_model(|| {
        let pool = Pool::new(3, 3, Duration::MAX).expecting_short_jobs().with_threads(2);
        pool.submit(Job::Blocks);
        pool.submit(Job::Blocks);
        pool.submit(Job::Opens);
        pool.assert_finished();
    });
}

#[test]
fn a_watchdog_that_is_the_only_thread_runs_all_jobs() {
    model(|| {
        let pool = Pool::new(2, 1, Duration::ZERO).expecting_short_jobs().with_threads(1);
        pool.submit(Job::Returns);
        pool.submit(Job::Returns);
        pool.assert_finished();
    });
}

#[test]
fn a_worker_job_gets_a_thread_before_jobs_that_block() {
    large_model(|| {
        let pool = Pool::new(3, 3, Duration::MAX).expecting_short_jobs().with_threads(1);
        pool.submit(Job::Blocks);
        pool.submit(Job::Blocks);
        pool.submit(Job::Worker);
        pool.assert_finished();
    });
}

#[test]
fn push_races_with_close() {
    model(|| {
        let pool = Pool::new(2, 1, Duration::MAX).with_threads(1);
        let pushing = pool.clone();
        let other = thread::spawn(move || {
            pushing.submit(Job::Returns);
            pushing.submit(Job::Returns);
        });
        let refused = pool.queue.close().len();
        pool.refuse(refused);
        other.join().unwrap();
        pool.assert_finished();
    });
}

#[test]
fn push_races_with_threads_that_exit_after_retire() {
    model(|| {
        let pool = Pool::new(2, 2, Duration::MAX).with_threads(1);
        let pushing = pool.clone();
        let other = thread::spawn(move || {
            pushing.submit(Job::Returns);
            pushing.submit(Job::Mandatory);
        });
        let refused = pool.queue.retire().len();
        other.join().unwrap();
        pool.refuse(refused + pool.queue.close().len());
        pool.assert_finished();
    });
}

#[test]
fn a_mandatory_job_accepted_before_close_is_run() {
    model(|| {
        let pool = Pool::new(2, 2, Duration::MAX).with_threads(1);
        let pushing = pool.clone();
        let other = thread::spawn(move || {
            pushing.submit(Job::Mandatory);
            pushing.submit(Job::Mandatory);
        });
        assert!(pool.queue.close().is_empty(), "no mandatory job is returned");
        other.join().unwrap();
        pool.assert_finished();
    });
}

#[test]
fn a_job_whose_thread_did_not_start_is_run_by_another() {
    model(|| {
        let pool = Pool::new(2, 2, Duration::MAX).with_threads(1);
        for _ in 0..2 {
            match pool.queue.push(Job::Returns, Kind::Short) {
                Push::Queued => {}
                Push::StartThread(asked_for) => {
                    let stranded = pool.queue.start_failed(Some(asked_for));
                    assert!(stranded.own.is_none() && stranded.others.is_empty());
                }
                Push::Closed(_) => unreachable!("closed after the last job"),
            }
        }
        pool.assert_finished();
    });
}
