use super::*;
use std::ffi::CString;
use std::io::{Read, Write};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::OpenOptionsExt;
use std::path::PathBuf;
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

/// Creates a FIFO and opens it for reading without waiting for a writer. Returns it with its path.
fn fifo(name: &str) -> (File, PathBuf) {
    let path = std::env::temp_dir().join(format!("wakeful-{name}-{}", std::process::id()));
    let c_path = CString::new(path.as_os_str().as_bytes()).unwrap();
    // SAFETY: the path is NUL-terminated.
    assert_eq!(unsafe { libc::mkfifo(c_path.as_ptr(), 0o600) }, 0);
    let file = File::options().read(true).custom_flags(libc::O_NONBLOCK).open(&path);
    (file.unwrap(), path)
}

fn open_to_write(path: PathBuf) -> File {
    let writer = File::options().write(true).open(&path).unwrap();
    std::fs::remove_file(path).unwrap();
    writer
}

/// Reads until the last writer has closed the FIFO.
fn read_all(mut fifo: &File) -> String {
    let mut text = String::new();
    fifo.read_to_string(&mut text).unwrap();
    text
}

#[test]
fn a_writer_that_has_closed_the_fifo_is_noticed() {
    for text in ["", "text"] {
        let (fifo, path) = fifo("gone");
        open_to_write(path).write_all(text.as_bytes()).unwrap();
        wait_for_writer(&fifo).unwrap();
        assert_eq!(read_all(&fifo), text);
    }
}

#[test]
fn a_writer_is_noticed_before_it_writes() {
    for opens_late in [false, true] {
        let (fifo, path) = fifo("silent");
        let (allow_write, write_allowed) = mpsc::channel();
        let writer = thread::spawn(move || {
            if opens_late {
                thread::sleep(Duration::from_millis(25));
            }
            let mut writer = open_to_write(path);
            write_allowed.recv().unwrap();
            writer.write_all(b"at last").unwrap();
        });
        wait_for_writer(&fifo).unwrap();
        allow_write.send(()).unwrap();
        assert_eq!(read_all(&fifo), "at last");
        writer.join().unwrap();
    }
}

#[test]
fn data_written_during_the_wait_is_not_consumed() {
    let (fifo, path) = fifo("full");
    let mut writer = open_to_write(path);
    writer.write_all(&[b'x'; 1000]).unwrap();
    wait_for_writer(&fifo).unwrap();
    drop(writer);
    assert_eq!(read_all(&fifo).len(), 1000);
}

#[test]
fn the_wait_lasts_until_a_writer_opens_the_fifo() {
    let (fifo, path) = fifo("no-writer");
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
