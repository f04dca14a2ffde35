//! Tests of the virtual machine itself.
//!
//! Without arguments, the program runs each test in a process of its own, twice, and compares what
//! the two print: time, CPU time and counts must be the same to the last digit.

use std::process::{Command, exit};
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, mpsc};
use std::thread;
use std::time::{Duration, Instant};

use machine::{work_ns, work_us};

/// A test, and the constants of the machine that differ from the default.
struct Test {
    name: &'static str,
    constants: &'static [(&'static str, f64)],
    run: fn(),
}

const TESTS: &[Test] = &[
    Test { name: "an_update_of_an_owned_line", constants: &[], run: owned_line },
    Test { name: "updates_of_a_contended_line", constants: &[], run: contended_line },
    Test { name: "a_spin_lock", constants: &[], run: spin_lock },
    Test {
        name: "a_futex_wakes_after_the_delay",
        constants: &[("wake-us", 20.0), ("wake-jitter", 0.0)],
        run: futex_wake,
    },
    Test { name: "locks_of_pthread_wait", constants: &[], run: pthread_locks },
    Test { name: "sleeps_end_on_time", constants: &[("wake-jitter", 0.0)], run: sleeps },
    Test { name: "a_read_waits_for_a_write", constants: &[], run: blocking_read },
    Test { name: "threads_run_in_parallel", constants: &[], run: parallel },
    Test { name: "threads_share_cpus", constants: &[("cpus", 2.0)], run: shared_cpus },
    Test { name: "short_threads_pass_long_ones", constants: &[("cpus", 1.0)], run: time_slices },
    Test { name: "a_quota_limits_all_threads", constants: &[("quota", 0.5)], run: quota },
    Test { name: "threads_come_and_go", constants: &[], run: many_threads },
    Test { name: "a_storm_repeats_itself", constants: &[], run: storm },
];

fn main() {
    machine::fix_addresses();
    let Some(name) = std::env::args().nth(1) else { return run_all() };
    let test = TESTS.iter().find(|test| test.name == name).expect("there is a test of that name");
    machine::set("visible-cpus", 8.0);
    for (name, value) in test.constants {
        assert!(machine::set(name, *value), "there is no constant `{name}`");
    }
    machine::begin();
    let start = Instant::now();
    (test.run)();
    println!("{:?} {:?} {:?}", start.elapsed(), machine::cpu_time(), machine::counts());
    machine::stop();
}

fn run_all() {
    let program = std::env::current_exe().expect("the program knows its path");
    let mut failed = 0;
    for Test { name, .. } in TESTS {
        let output = || {
            let output = Command::new(&program).arg(name).env_clear().output();
            output.expect("the program can be started")
        };
        let (first, second) = (output(), output());
        if !first.status.success() {
            println!("{name}: {}\n{}", first.status, String::from_utf8_lossy(&first.stderr));
        } else if first.stdout != second.stdout {
            let texts = [&first, &second].map(|output| String::from_utf8_lossy(&output.stdout));
            println!("{name} differs between two runs:\n{}{}", texts[0], texts[1]);
        } else {
            continue;
        }
        failed += 1;
    }
    println!("{} of {} tests of the machine passed", TESTS.len() - failed, TESTS.len());
    exit((failed > 0).into());
}

/// Fails unless `measured` is what was expected, or up to a tenth more.
#[track_caller]
fn assert_about(measured: Duration, expected: Duration) {
    let most = expected + expected / 10;
    assert!((expected..=most).contains(&measured), "{measured:?}, expected {expected:?}");
}

fn ns(number: u64) -> Duration {
    Duration::from_nanos(number)
}

fn us(number: u64) -> Duration {
    Duration::from_micros(number)
}

/// Runs a function on each of several threads. Returns the time from the moment when all run.
fn on_threads(count: u32, body: impl Fn(u32) + Send + Sync + 'static) -> Duration {
    let (body, ready) = (Arc::new(body), Arc::new(AtomicU32::new(0)));
    let threads: Vec<_> = (0..count)
        .map(|number| {
            let (body, ready) = (body.clone(), ready.clone());
            thread::spawn(move || {
                ready.fetch_add(1, Ordering::SeqCst);
                while ready.load(Ordering::SeqCst) < count {
                    work_ns(100);
                }
                let start = Instant::now();
                body(number);
                start.elapsed()
            })
        })
        .collect();
    let times = threads.into_iter().map(|thread| thread.join().expect("the thread does not panic"));
    times.max().expect("there are threads")
}

fn owned_line() {
    let counter = AtomicU64::new(0);
    let start = Instant::now();
    for _ in 0..1000 {
        counter.fetch_add(1, Ordering::Relaxed);
    }
    assert_about(start.elapsed(), ns(6 * 1000));
}

/// The line moves for each update, to one core after another.
fn contended_line() {
    static COUNTER: AtomicU64 = AtomicU64::new(0);
    let time = on_threads(4, |_| {
        for _ in 0..1000 {
            COUNTER.fetch_add(1, Ordering::Relaxed);
        }
    });
    // A few updates find the line where it is: the first one, and those after the other threads.
    assert_about(time, ns(70 * (4 * 1000 - 10)));
}

/// An acquisition costs at least two transfers: the next owner takes the line, and so did those who
/// tried in vain.
fn spin_lock() {
    static LOCK: AtomicBool = AtomicBool::new(false);
    static COUNTER: AtomicU64 = AtomicU64::new(0);
    let time = on_threads(2, |_| {
        for _ in 0..500 {
            while LOCK.swap(true, Ordering::Acquire) {
                work_ns(20);
            }
            let count = COUNTER.load(Ordering::Relaxed);
            work_ns(200);
            COUNTER.store(count + 1, Ordering::Relaxed);
            LOCK.store(false, Ordering::Release);
            work_ns(200);
        }
    });
    assert_eq!(COUNTER.load(Ordering::Relaxed), 1000);
    // The critical section alone takes 200 ns, for each of the 1,000 acquisitions.
    assert!((ns(250_000)..ns(600_000)).contains(&time), "{time:?}");
}

fn futex_wake() {
    let (sender, receiver) = mpsc::channel();
    let sleeper = thread::spawn(move || {
        thread::park();
        sender.send(Instant::now()).expect("the test receives");
    });
    thread::sleep(us(100));
    let woken = Instant::now();
    sleeper.thread().unpark();
    let called = woken.elapsed();
    let ran = receiver.recv().expect("the thread sends");
    sleeper.join().expect("the thread does not panic");
    // The call and the wake-up itself, and then 20 µs until the thread runs.
    assert_about(called, us(1) + ns(800));
    assert_about(ran - woken, us(21) + ns(800));
}

/// Two threads take turns with a lock and a condition variable of pthread.
fn pthread_locks() {
    // On Linux, both are at most 48 bytes large, and zeros initialize them.
    #[repr(C, align(8))]
    struct Object([u8; 48]);
    static MUTEX: Mutex<Object> = Mutex::new(Object([0; 48]));
    static CONDITION: Mutex<Object> = Mutex::new(Object([0; 48]));
    static TURN: AtomicU32 = AtomicU32::new(0);
    unsafe extern "C" {
        fn pthread_mutex_lock(mutex: *mut Object) -> i32;
        fn pthread_mutex_unlock(mutex: *mut Object) -> i32;
        fn pthread_cond_wait(condition: *mut Object, mutex: *mut Object) -> i32;
        fn pthread_cond_broadcast(condition: *mut Object) -> i32;
    }
    let object = |of: &'static Mutex<Object>| &raw mut *of.lock().expect("no thread panics");
    on_threads(2, move |number| {
        let (mutex, condition) = (object(&MUTEX), object(&CONDITION));
        for turn in (0..100).filter(|turn| turn % 2 == number) {
            // SAFETY: both objects are static and initialized, and the mutex is locked by this
            // thread from the first call to the last.
            unsafe {
                assert_eq!(pthread_mutex_lock(mutex), 0);
                while TURN.load(Ordering::Relaxed) != turn {
                    assert_eq!(pthread_cond_wait(condition, mutex), 0);
                }
                work_us(1);
                TURN.store(turn + 1, Ordering::Relaxed);
                assert_eq!(pthread_cond_broadcast(condition), 0);
                assert_eq!(pthread_mutex_unlock(mutex), 0);
            }
        }
    });
    assert_eq!(TURN.load(Ordering::Relaxed), 100);
}

fn sleeps() {
    for time in [us(10), us(1000), us(1_000_000)] {
        let start = Instant::now();
        thread::sleep(time);
        let late = start.elapsed() - time;
        assert!((us(5)..us(8)).contains(&late), "{late:?} late");
    }
    let start = Instant::now();
    let (_sender, receiver) = mpsc::channel::<()>();
    receiver.recv_timeout(us(500)).expect_err("no thread sends");
    assert_about(start.elapsed(), us(505));
}

fn blocking_read() {
    use std::io::{Read, Write};
    let (mut near, mut far) = std::os::unix::net::UnixStream::pair().expect("a pair of sockets");
    let writer = thread::spawn(move || {
        thread::sleep(us(300));
        far.write_all(b"hello").expect("the test reads");
        drop(far);
    });
    let start = Instant::now();
    let mut text = String::new();
    near.read_to_string(&mut text).expect("the thread writes");
    assert_eq!(text, "hello");
    assert!(start.elapsed() > us(300) && start.elapsed() < us(350), "{:?}", start.elapsed());
    writer.join().expect("the thread does not panic");
}

fn parallel() {
    let cpu_before = machine::cpu_time();
    assert_about(on_threads(32, |_| work_us(1000)), us(1000));
    assert!(machine::cpu_time() - cpu_before > us(32 * 1000));
}

fn shared_cpus() {
    assert_eq!(thread::available_parallelism().map(usize::from).ok(), Some(2));
    let start = Instant::now();
    let threads: Vec<_> = (0..8).map(|_| thread::spawn(|| work_us(10_000))).collect();
    for thread in threads {
        thread.join().expect("the thread does not panic");
    }
    assert_about(start.elapsed(), us(4 * 10_000));
}

/// A thread that was woken waits for its turn: a time slice of 3 ms of the one that computes.
fn time_slices() {
    let computes = thread::spawn(|| work_us(50_000));
    for _ in 0..5 {
        let start = Instant::now();
        thread::sleep(us(100));
        let time = start.elapsed();
        assert!(time < us(3200), "{time:?}");
    }
    computes.join().expect("the thread does not panic");
}

fn quota() {
    let start = Instant::now();
    on_threads(4, |_| work_us(50_000));
    let time = start.elapsed();
    // 200 ms of CPU time, of which each period of 100 ms has 50.
    assert!((us(300_000)..us(410_000)).contains(&time), "{time:?}");
}

/// More threads than the machine has room for, a few at a time.
fn many_threads() {
    for _ in 0..100 {
        let threads: Vec<_> = (0..4).map(|_| thread::spawn(|| work_us(1))).collect();
        for (number, thread) in threads.into_iter().enumerate() {
            // Half of them are detached.
            if number % 2 == 0 {
                thread.join().expect("the thread does not panic");
            }
        }
        thread::sleep(us(100));
    }
}

fn storm() {
    static SUM: Mutex<u64> = Mutex::new(0);
    on_threads(16, |number| {
        for round in 0..200 {
            work_ns(u64::from(number * 37 + round * 11) % 400);
            *SUM.lock().expect("no thread panics") += u64::from(round);
            if (number + round) % 7 == 0 {
                thread::yield_now();
            }
            if (number + round) % 31 == 0 {
                thread::sleep(us(3));
            }
        }
    });
    assert_eq!(*SUM.lock().expect("no thread panics"), 16 * (199 * 200 / 2));
}
