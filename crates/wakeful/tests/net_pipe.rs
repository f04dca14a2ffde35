//! Pipes and FIFOs.

mod support;

use std::ffi::CString;
use std::fs::File;
use std::io::{ErrorKind, Read, Write};
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering::*};
use support::{current_thread, each_flavor};
use wakeful::io::{AsyncReadExt, AsyncWriteExt, Interest};
use wakeful::net::unix::pipe::{self, Receiver, Sender};

struct Fifo(PathBuf);

impl Fifo {
    fn new() -> Fifo {
        static COUNT: AtomicUsize = AtomicUsize::new(0);
        let name = format!("wakeful-fifo-{}-{}", std::process::id(), COUNT.fetch_add(1, Relaxed));
        let path = std::env::temp_dir().join(name);
        let c_path = CString::new(path.to_str().unwrap()).unwrap();
        // SAFETY: `c_path` is a C string that lives through the call.
        assert_eq!(unsafe { libc::mkfifo(c_path.as_ptr(), 0o600) }, 0);
        Fifo(path)
    }
}

impl Drop for Fifo {
    fn drop(&mut self) {
        let _gone = std::fs::remove_file(&self.0);
    }
}

#[test]
fn bytes_and_the_end_of_the_stream_arrive() {
    for runtime in each_flavor() {
        runtime.block_on(async {
            let (mut sender, mut receiver) = pipe::pipe().unwrap();
            let sent: Vec<u8> = (0..1_000_000_u32).map(|n| n as u8).collect();
            let expected = sent.clone();
            let writer = wakeful::spawn(async move {
                sender.write_all(&sent).await.unwrap();
                // A shutdown does nothing: only the drop of the sender ends the stream.
                sender.shutdown().await.unwrap();
                sender.write_all(b"!").await.unwrap();
            });
            let mut received = Vec::new();
            receiver.read_to_end(&mut received).await.unwrap();
            writer.await.unwrap();
            assert!(received[..expected.len()] == expected && received.ends_with(b"!"));
            assert_eq!(receiver.try_read(&mut [0; 1]).unwrap(), 0);
        });
    }
}

#[test]
fn writing_without_a_receiver_fails() {
    for runtime in each_flavor() {
        runtime.block_on(async {
            let (mut sender, receiver) = pipe::pipe().unwrap();
            while sender.try_write(&[0; 4096]).is_ok() {}
            let waiting = wakeful::spawn(async move { sender.write_all(&[0; 1 << 20]).await });
            wakeful::task::yield_now().await;
            drop(receiver);
            assert_eq!(waiting.await.unwrap().unwrap_err().kind(), ErrorKind::BrokenPipe);
        });
    }
}

#[test]
fn try_operations_do_not_wait() {
    for runtime in each_flavor() {
        runtime.block_on(async {
            let (sender, receiver) = pipe::pipe().unwrap();
            let error = receiver.try_read(&mut [0; 4]).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::WouldBlock);
            sender.writable().await.unwrap();
            let slices = [std::io::IoSlice::new(b"ab"), std::io::IoSlice::new(b"cd")];
            assert_eq!(sender.try_write_vectored(&slices).unwrap(), 4);
            assert!(receiver.ready(Interest::READABLE).await.unwrap().is_readable());
            let mut grows = Vec::new();
            assert_eq!(receiver.try_read_buf(&mut grows).unwrap(), 4);
            assert_eq!(grows, b"abcd");
            let unasked: std::io::Result<()> =
                receiver.try_io(|| Err(ErrorKind::WouldBlock.into()));
            assert_eq!(unasked.unwrap_err().kind(), ErrorKind::WouldBlock);
        });
    }
}

#[test]
fn a_fifo_has_a_name() {
    for runtime in each_flavor() {
        runtime.block_on(async {
            let fifo = Fifo::new();
            let error = pipe::OpenOptions::new().open_sender(&fifo.0).unwrap_err();
            assert_eq!(error.raw_os_error(), Some(libc::ENXIO), "there is no reader yet");
            let mut receiver = pipe::OpenOptions::new().open_receiver(&fifo.0).unwrap();
            let mut sender = pipe::OpenOptions::new().open_sender(&fifo.0).unwrap();
            sender.write_all(b"named").await.unwrap();
            let mut buf = [0; 5];
            receiver.read_exact(&mut buf).await.unwrap();
            assert_eq!(&buf, b"named");
            drop(sender);
            assert_eq!(receiver.read(&mut buf).await.unwrap(), 0);

            // A receiver that is opened for reading and writing sees no end of the stream.
            let both = pipe::OpenOptions::new().read_write(true).open_receiver(&fifo.0).unwrap();
            let mut sender = pipe::OpenOptions::new().open_sender(&fifo.0).unwrap();
            sender.write_all(b"x").await.unwrap();
            drop(sender);
            both.readable().await.unwrap();
            assert_eq!(both.try_read(&mut buf).unwrap(), 1);
            assert_eq!(both.try_read(&mut buf).unwrap_err().kind(), ErrorKind::WouldBlock);
        });
    }
}

#[test]
fn files_that_are_not_pipes_are_refused() {
    current_thread().block_on(async {
        let file = || File::open(std::env::current_exe().unwrap()).unwrap();
        assert_eq!(Receiver::from_file(file()).unwrap_err().kind(), ErrorKind::InvalidInput);
        assert_eq!(Sender::from_file(file()).unwrap_err().kind(), ErrorKind::InvalidInput);
        let path = std::env::current_exe().unwrap();
        let error = pipe::OpenOptions::new().open_receiver(path).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidInput);

        // The end of the wrong direction.
        let (sender, receiver) = pipe::pipe().unwrap();
        let sender = sender.into_nonblocking_fd().unwrap();
        let receiver = receiver.into_nonblocking_fd().unwrap();
        let error = Receiver::from_owned_fd(sender.try_clone().unwrap()).unwrap_err();
        assert!(error.to_string().contains("O_RDONLY"));
        let error = Sender::from_owned_fd(receiver.try_clone().unwrap()).unwrap_err();
        assert!(error.to_string().contains("O_WRONLY"));
        let mut sender = Sender::from_owned_fd(sender).unwrap();
        let mut receiver = Receiver::from_owned_fd(receiver).unwrap();
        sender.write_all(b"x").await.unwrap();
        receiver.read_exact(&mut [0; 1]).await.unwrap();
    });
}

#[test]
fn into_blocking_fd_for_a_child_process() {
    current_thread().block_on(async {
        let (sender, receiver) = pipe::pipe().unwrap();
        let mut writer = File::from(sender.into_blocking_fd().unwrap());
        let mut reader = File::from(receiver.into_blocking_fd().unwrap());
        let thread = std::thread::spawn(move || writer.write_all(&[1; 1 << 20]));
        let mut received = Vec::new();
        reader.read_to_end(&mut received).unwrap();
        assert_eq!(received.len(), 1 << 20);
        thread.join().unwrap().unwrap();
    });
}
