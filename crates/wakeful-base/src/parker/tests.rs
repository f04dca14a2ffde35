use super::*;

#[test]
fn unpark_before_park_is_remembered_once() {
    let parker = Parker::new();
    parker.unparker().unpark();
    parker.unparker().unpark();
    parker.park();
    let start = Instant::now();
    parker.park_timeout(Duration::from_millis(5));
    assert!(start.elapsed() >= Duration::from_millis(5), "a second token was left behind");
}

#[test]
fn unpark_from_another_thread_wakes() {
    let parker = Parker::new();
    let unparker = parker.unparker();
    let waker = std::thread::spawn(move || {
        std::thread::sleep(Duration::from_millis(5));
        unparker.unpark();
    });
    parker.park();
    waker.join().unwrap();
}

#[test]
fn unparking_the_std_thread_does_not_unpark_the_parker() {
    let parker = Parker::new();
    thread::current().unpark();
    let start = Instant::now();
    parker.park_timeout(Duration::from_millis(5));
    assert!(start.elapsed() >= Duration::from_millis(5));
}

#[test]
fn endless_timeout_is_woken_by_unpark() {
    let parker = Parker::new();
    let unparker = parker.unparker();
    let waker = std::thread::spawn(move || unparker.unpark());
    parker.park_timeout(Duration::MAX);
    waker.join().unwrap();
}
