use super::*;
use crate::testing::stress_time;
use std::sync::atomic::AtomicUsize as Count;
use std::sync::{Arc, Barrier, mpsc};
use std::thread;
use wakeful_base::FastRng;

const LONG: Duration = Duration::from_secs(3600);

/// A queue whose threads exist only in its counters.
fn with_state(threads_max: usize, write: impl FnOnce(&mut QueueState<u32>)) -> JobQueue<u32> {
    let queue = JobQueue::new(threads_max, LONG);
    write(&mut queue.state.lock());
    queue
}

fn none_stranded() -> Stranded<u32> {
    Stranded { own: None, others: Vec::new() }
}

fn only_own(job: u32) -> Stranded<u32> {
    Stranded { own: Some(job), others: Vec::new() }
}

fn asked_for(push: Push<u32>) -> JobNumber {
    match push {
        Push::StartThread(number) => number,
        other => panic!("no thread was requested: {other:?}"),
    }
}

#[test]
fn push_requests_a_thread_if_none_is_coming() {
    let queue = with_state(2, |_| ());
    asked_for(queue.push(1, Kind::Short));
    // The requested thread takes one job, not two.
    asked_for(queue.push(2, Kind::Short));
    assert_eq!(queue.push(3, Kind::Short), Push::Queued, "no more than two threads");
    assert_eq!(queue.counts(), (2, 0, 3));
}

#[test]
fn push_relies_on_threads_that_are_coming() {
    type Write = fn(&mut QueueState<u32>);
    let arrival: [Write; 4] = [
        |state| state.spinning = 1,
        |state| state.finishing = 1,
        |state| state.starting = 1,
        |state| (state.sleeping, state.woken) = (1, 1),
    ];
    for write in arrival {
        let queue = with_state(8, |state| {
            state.threads = 1;
            write(state);
        });
        assert_eq!(queue.push(1, Kind::Short), Push::Queued);
        asked_for(queue.push(2, Kind::Short));
    }
}

#[test]
fn sleeping_threads_are_woken_before_new_ones_start() {
    let queue = with_state(8, |state| (state.threads, state.sleeping) = (2, 2));
    for woken in 1..=2 {
        assert_eq!(queue.push(woken, Kind::Short), Push::Queued);
        assert_eq!(queue.state.lock().woken, woken as usize);
    }
    asked_for(queue.push(3, Kind::Short));
}

#[test]
fn short_jobs_wake_no_thread_while_the_watchdog_runs() {
    // One running thread, the watchdog, and jobs that take less than a wake-up.
    let write = |state: &mut QueueState<u32>| {
        (state.threads, state.sleeping, state.watchdog) = (2, 1, true);
        state.average_ns = 100;
    };
    let queue = with_state(8, write);
    for job in 0..3 {
        assert_eq!(queue.push(job, Kind::Short), Push::Queued);
        assert_eq!(queue.state.lock().woken, 0);
    }
    queue.state.lock().average_ns = 10_000_000;
    assert_eq!(queue.push(3, Kind::Short), Push::Queued);
    assert_eq!(queue.state.lock().woken, 1, "jobs that take longer are worth a wake-up");
    // A worker job is worth a wake-up, and so is a job if no thread is free to drain the queue.
    let queue = with_state(8, write);
    assert_eq!(queue.push(0, Kind::Worker), Push::Queued);
    assert_eq!(queue.state.lock().woken, 1);
    let queue = with_state(8, |state| {
        write(state);
        state.worker_jobs = 1;
    });
    assert_eq!(queue.push(0, Kind::Short), Push::Queued);
    assert_eq!(queue.state.lock().woken, 1);
}

#[test]
fn worker_jobs_go_first() {
    let queue = with_state(8, |_| ());
    asked_for(queue.push(1, Kind::Short));
    asked_for(queue.push(2, Kind::Worker));
    assert_eq!(queue.next(Arrival::AsNew), NextJob::Run(2));
    assert_eq!(queue.state.lock().worker_jobs, 1);
    assert_eq!(queue.next(Arrival::AsNew), NextJob::Run(1));
}

#[test]
fn a_thread_that_takes_a_job_requests_one_for_the_rest() {
    let queue = with_state(8, |state| {
        (state.threads, state.watchdog, state.average_ns) = (2, true, 0);
        state.sleeping = 1;
    });
    for job in 0..4 {
        assert_eq!(queue.push(job, Kind::Short), Push::Queued);
    }
    assert_eq!(queue.next(Arrival::Unannounced), NextJob::Run(0), "there is a watchdog");
    // The watchdog leaves to take a job: one thread is requested, not two.
    let mut state = queue.state.lock();
    (state.watchdog, state.sleeping) = (false, 0);
    drop(state);
    assert_eq!(queue.next(Arrival::Unannounced), NextJob::StartThreadAndRun(1));
    assert_eq!(queue.next(Arrival::Unannounced), NextJob::Run(2));
    // That thread arrives: no job is left behind.
    assert_eq!(queue.next(Arrival::AsNew), NextJob::Run(3));
}

#[test]
fn a_failed_start_returns_its_job_to_the_caller() {
    let queue = with_state(8, |_| ());
    let first = asked_for(queue.push(1, Kind::Short));
    let second = asked_for(queue.push(2, Kind::Short));
    // The second thread is still coming, for both jobs.
    assert_eq!(queue.start_failed(Some(first)), none_stranded());
    // No thread is left, and the call that pushed the first job has returned already.
    let stranded = Stranded { own: Some(2), others: vec![1] };
    assert_eq!(queue.start_failed(Some(second)), stranded);
    assert_eq!(queue.counts(), (0, 0, 0));
}

#[test]
fn threads_with_worker_jobs_do_not_serve_other_jobs() {
    let queue = with_state(8, |_| ());
    asked_for(queue.push(1, Kind::Worker));
    let short = asked_for(queue.push(2, Kind::Short));
    // The worker job is not taken yet, but the coming thread will take it first.
    assert_eq!(queue.start_failed(Some(short)), only_own(2));
    let worker = asked_for(queue.push(3, Kind::Worker));
    assert_eq!(queue.start_failed(Some(worker)), only_own(3));
    assert_eq!(queue.next(Arrival::AsNew), NextJob::Run(1));
    let short = asked_for(queue.push(4, Kind::Short));
    assert_eq!(queue.start_failed(Some(short)), only_own(4));
    // A thread whose worker job has ended takes other jobs.
    let short = asked_for(queue.push(5, Kind::Short));
    queue.end_worker_job();
    assert_eq!(queue.start_failed(Some(short)), none_stranded());
    assert_eq!(queue.next(Arrival::Unannounced), NextJob::Run(5));
}

#[test]
fn a_failed_start_does_not_return_a_job_already_taken() {
    let queue = with_state(8, |_| ());
    let first = asked_for(queue.push(1, Kind::Short));
    let second = asked_for(queue.push(2, Kind::Short));
    assert_eq!(queue.next(Arrival::AsNew), NextJob::Run(1));
    assert_eq!(queue.start_failed(Some(first)), none_stranded());
    let mut state = queue.state.lock();
    assert_eq!((state.threads, state.starting), (1, 0));
    state.starting = 1;
    state.threads = 2;
    drop(state);
    assert_eq!(
        queue.start_failed(Some(second)),
        none_stranded(),
        "the running thread will take it"
    );
}

#[test]
fn a_retiring_queue_accepts_jobs_and_lets_idle_threads_exit() {
    let queue = with_state(2, |state| state.threads = 2);
    assert_eq!(queue.push(1, Kind::Short), Push::Queued);
    assert_eq!(queue.push(2, Kind::Mandatory), Push::Queued);
    assert_eq!(queue.retire(), [1]);
    assert_eq!(queue.next(Arrival::Unannounced), NextJob::Run(2));
    for _ in 0..2 {
        assert_eq!(queue.next(Arrival::Unannounced), NextJob::Exit);
    }
    asked_for(queue.push(3, Kind::Short));
    assert_eq!(queue.next(Arrival::AsNew), NextJob::Run(3));
    assert_eq!(queue.next(Arrival::Unannounced), NextJob::Exit);
    assert_eq!(queue.close(), []);
    assert!(queue.wait_for_exits(0, None));
}

#[test]
fn a_closed_queue_runs_mandatory_jobs() {
    // Both threads are running jobs, so none is coming.
    let queue = with_state(2, |state| state.threads = 2);
    assert_eq!(queue.push(1, Kind::Mandatory), Push::Queued);
    assert_eq!(queue.push(2, Kind::Short), Push::Queued);
    assert_eq!(queue.push(3, Kind::Mandatory), Push::Queued);
    assert_eq!(queue.close(), [2]);
    assert_eq!(queue.push(4, Kind::Mandatory), Push::Closed(4));
    assert_eq!(queue.next(Arrival::Unannounced), NextJob::Run(1));
    assert_eq!(queue.next(Arrival::Unannounced), NextJob::Run(3));
    for _ in 0..2 {
        assert_eq!(queue.next(Arrival::Unannounced), NextJob::Exit);
    }
    assert!(queue.wait_for_exits(0, None));
}

#[test]
fn a_closed_queue_runs_worker_jobs_and_jobs_with_a_thread() {
    let queue = with_state(2, |state| (state.threads, state.starting) = (1, 1));
    assert_eq!(queue.push(1, Kind::Short), Push::Queued);
    asked_for(queue.push(2, Kind::Worker));
    assert_eq!(queue.push(3, Kind::Short), Push::Queued, "no more than two threads");
    assert_eq!(queue.close(), [3]);
    assert_eq!(queue.push(4, Kind::Short), Push::Closed(4));
    assert_eq!(queue.push(5, Kind::Worker), Push::Queued, "two threads are coming");
    assert_eq!(queue.next(Arrival::AsNew), NextJob::Run(5));
    assert_eq!(queue.next(Arrival::AsNew), NextJob::Run(2));
    queue.end_worker_job();
    assert_eq!(queue.next(Arrival::Unannounced), NextJob::Run(1));
    queue.end_worker_job();
    for _ in 0..2 {
        assert_eq!(queue.next(Arrival::Unannounced), NextJob::Exit);
    }
    assert!(queue.wait_for_exits(0, None));
    assert_eq!(queue.push(6, Kind::Worker), Push::Closed(6), "no worker is left to need it");
}

#[test]
fn wait_for_exits_does_not_count_a_failed_start() {
    let queue = Arc::new(with_state(8, |_| ()));
    let number = asked_for(queue.push(1, Kind::Short));
    assert_eq!(queue.close(), []);
    let waiting = queue.clone();
    let waiter = thread::spawn(move || waiting.wait_for_exits(0, Some(Duration::from_secs(10))));
    assert_eq!(queue.start_failed(Some(number)), only_own(1));
    assert!(waiter.join().unwrap());
}

type Call = Box<dyn FnOnce() + Send>;

/// Real threads that serve a queue.
struct Threads {
    queue: JobQueue<Call>,
    running: Count,
    running_most: Count,
    started: Count,
}

impl Threads {
    fn new(threads_max: usize, keep_alive: Duration) -> Arc<Threads> {
        let queue = JobQueue::new(threads_max, keep_alive);
        let (running, running_most, started) = (0.into(), 0.into(), 0.into());
        Arc::new(Threads { queue, running, running_most, started })
    }

    fn submit(self: &Arc<Self>, call: impl FnOnce() + Send + 'static) {
        match self.queue.push(Box::new(call), Kind::Short) {
            Push::Queued => {}
            Push::StartThread(_) => self.start(),
            Push::Closed(_) => panic!("closed"),
        }
    }

    fn start(self: &Arc<Self>) {
        self.started.fetch_add(1, SeqCst);
        let threads = self.clone();
        thread::spawn(move || threads.work());
    }

    fn work(self: Arc<Self>) {
        let mut arrival = Arrival::AsNew;
        loop {
            let call = match self.queue.next(arrival) {
                NextJob::Run(call) => call,
                NextJob::StartThreadAndRun(call) => {
                    self.start();
                    call
                }
                NextJob::Exit => return,
            };
            let began = Instant::now();
            self.running_most.fetch_max(self.running.fetch_add(1, SeqCst) + 1, SeqCst);
            call();
            self.running.fetch_sub(1, SeqCst);
            arrival = Arrival::Announced;
            self.queue.end(began, arrival);
        }
    }

    fn wait_until(&self, what: &str, done: impl Fn(&QueueState<Call>) -> bool) {
        let deadline = Instant::now() + Duration::from_secs(10);
        while !done(&self.queue.state.lock()) {
            assert!(Instant::now() < deadline, "{what}: not within ten seconds");
            thread::yield_now();
        }
    }

    fn close(&self) {
        assert!(self.queue.close().is_empty());
        assert!(self.queue.wait_for_exits(0, Some(Duration::from_secs(10))), "threads exit");
    }
}

/// Submits jobs that wait for each other and for the caller.
fn submit_waiting(threads: &Arc<Threads>, count: usize) -> Arc<Barrier> {
    let barrier = Arc::new(Barrier::new(count + 1));
    for _ in 0..count {
        let barrier = barrier.clone();
        threads.submit(move || {
            barrier.wait();
        });
    }
    barrier
}

#[test]
fn one_thread_serves_jobs_that_come_one_at_a_time() {
    let threads = Threads::new(8, LONG);
    for n in 1..=100 {
        threads.submit(|| ());
        threads.wait_until("the job is done", |state| {
            state.completed == n && state.spinning + state.sleeping == 1
        });
    }
    assert_eq!(threads.started.load(SeqCst), 1);
    threads.close();
}

#[test]
fn threads_exit_after_the_keep_alive_time_and_start_again() {
    let threads = Threads::new(8, Duration::from_millis(5));
    for round in 1..=2 {
        submit_waiting(&threads, 4).wait();
        assert!(threads.started.load(SeqCst) >= 4 * round);
        threads.wait_until("all exit", |state| state.threads == 0);
    }
    threads.close();
}

#[test]
fn threads_max_is_respected() {
    let threads = Threads::new(3, LONG);
    submit_waiting(&threads, 3).wait();
    for _ in 0..200 {
        threads.submit(thread::yield_now);
    }
    threads.wait_until("all jobs are done", |state| state.completed == 203);
    assert_eq!(threads.running_most.load(SeqCst), 3);
    assert!(threads.started.load(SeqCst) <= 3);
    threads.close();
}

#[test]
fn the_watchdog_takes_over_when_no_job_completes() {
    let threads = Threads::new(16, LONG);
    submit_waiting(&threads, 2).wait();
    // As after many short jobs. One of the two threads is the watchdog, or becomes it.
    threads.queue.state.lock().average_ns = 0;
    let barrier = submit_waiting(&threads, 10);
    let (done, is_done) = mpsc::channel();
    thread::spawn(move || {
        barrier.wait();
        done.send(()).unwrap();
    });
    assert_eq!(is_done.recv_timeout(Duration::from_secs(10)), Ok(()), "all ten have a thread");
    threads.close();
}

#[test]
fn stress_every_job_runs() {
    let deadline = Instant::now() + stress_time();
    let rng = FastRng::from_seed(3);
    while Instant::now() < deadline {
        let threads = Threads::new(6, Duration::from_micros(u64::from(rng.below(300))));
        let done = Arc::new(Count::new(0));
        let mut jobs = 0;
        for _ in 0..50 {
            // Short jobs first, so that the queue relies on its guess; then some that wait for each
            // other.
            for _ in 0..rng.below(20) {
                let done = done.clone();
                threads.submit(move || {
                    done.fetch_add(1, SeqCst);
                });
                jobs += 1;
            }
            if rng.below(3) == 0 {
                submit_waiting(&threads, 1 + rng.below(6) as usize).wait();
            }
        }
        threads.wait_until("all jobs are done", |state| state.jobs.is_empty());
        threads.close();
        assert_eq!(done.load(SeqCst), jobs);
        assert!(threads.running_most.load(SeqCst) <= 6);
    }
}
