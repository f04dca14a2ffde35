use wakeful_base::block_on;
use wakeful_base::sync::thread;

use super::*;

#[test]
fn writers_exclude_each_other() {
    ::loom::model(|| {
        let lock = Arc::new(RwLock::new(0));
        let other = thread::spawn({
            let lock = lock.clone();
            move || *block_on(lock.write()) += 1
        });
        *block_on(lock.write()) += 1;
        other.join().unwrap();
        assert_eq!(*block_on(lock.read()), 2);
    });
}

#[test]
fn a_downgraded_writer_stays_alone_with_readers() {
    ::loom::model(|| {
        let lock = Arc::new(RwLock::new(0));
        let writer = thread::spawn({
            let lock = lock.clone();
            move || {
                let mut writer = block_on(lock.clone().write_owned());
                *writer += 1;
                let reader = writer.downgrade();
                let seen = *reader;
                drop(reader);
                seen
            }
        });
        {
            let mut own = block_on(lock.write());
            *own += 10;
        }
        let seen = writer.join().unwrap();
        assert!(seen == 1 || seen == 11);
        assert_eq!(*block_on(lock.read()), 11);
    });
}

#[test]
fn a_writer_waits_for_readers() {
    ::loom::model(|| {
        let lock = Arc::new(RwLock::new(0));
        let reader = lock.clone().try_read_owned().unwrap();
        let other = thread::spawn(move || assert_eq!(*reader, 0));
        *block_on(lock.write()) = 1;
        other.join().unwrap();
    });
}
