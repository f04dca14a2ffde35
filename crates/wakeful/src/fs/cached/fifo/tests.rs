use super::*;
use std::ffi::CString;
use std::io::{Read, Write};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::OpenOptionsExt;
use std::path::PathBuf;
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

/// A FIFO, opened to be read without waiting, and its path.
fn fifo(name: &str) -> (File, PathBuf) {
    let path = std::env::temp_dir().join(format!("wakeful-{name}-{}", std::process::id()));
    let c_path = CString::new(path.as_os_str().as_bytes()).unwrap();
    // SAFETY: the path ends with a zero.
    assert_eq!(unsafe { libc::mkfifo(c_path.as_ptr(), 0o600) }, 0);
    let file = File::options().read(true).custom_flags(libc::O_NONBLOCK).open(&path);
    (file.unwrap(), path)
}

fn open_to_write(path: PathBuf) -> File {
    let writer = File::options().write(true).open(&path).unwrap();
    std::fs::remove_file(path).unwrap();
    writer
}

/// All that comes until the last writer is gone, waiting for it.
fn read_all(mut fifo: &File) -> String {
    let mut text = String::new();
    fifo.read_to_string(&mut text).unwrap();
    text
}

#[test]
fn a_writer_who_came_and_went_is_not_missed() {
    for text in ["", "text"] {
        let (fifo, path) = fifo("gone");
        open_to_write(path).write_all(text.as_bytes()).unwrap();
        wait_for_writer(&fifo).unwrap();
        assert_eq!(read_all(&fifo), text);
    }
}

#[test]
fn a_writer_is_seen_before_he_writes() {
    for comes_late in [false, true] {
        let (fifo, path) = fifo("silent");
        let (may_write, told_to_write) = mpsc::channel();
        let writer = thread::spawn(move || {
            if comes_late {
                thread::sleep(Duration::from_millis(25));
            }
            let mut writer = open_to_write(path);
            told_to_write.recv().unwrap();
            writer.write_all(b"at last").unwrap();
        });
        wait_for_writer(&fifo).unwrap();
        may_write.send(()).unwrap();
        assert_eq!(read_all(&fifo), "at last");
        writer.join().unwrap();
    }
}

#[test]
fn what_was_written_meanwhile_is_all_there() {
    let (fifo, path) = fifo("full");
    let mut writer = open_to_write(path);
    writer.write_all(&[b'x'; 1000]).unwrap();
    wait_for_writer(&fifo).unwrap();
    drop(writer);
    assert_eq!(read_all(&fifo).len(), 1000);
}

#[test]
fn as_long_as_nobody_comes_it_waits() {
    let (fifo, path) = fifo("nobody");
    let (done, is_done) = mpsc::channel();
    let waiter = thread::spawn(move || {
        wait_for_writer(&fifo).unwrap();
        done.send(()).unwrap();
    });
    assert!(is_done.recv_timeout(Duration::from_millis(50)).is_err());
    drop(open_to_write(path));
    is_done.recv().unwrap();
    waiter.join().unwrap();
}
