//! A file beside one of the standard library: whatever is done to both, they stay the same.

mod support;

use std::future::Future;
use std::io::{IoSlice, Read, Seek, SeekFrom, Write};
use std::pin::pin;
use std::task::{Context, Poll, Waker};
use std::time::Instant;
use support::files::{TempDir, forget_pages};
use support::{current_thread, multi_thread, stress_time};
use wakeful::fs::File;
use wakeful::io::{AsyncReadExt, AsyncSeekExt, AsyncWriteExt};
use wakeful::runtime::Runtime;

/// Numbers that look random and come out the same for the same seed.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, end: usize) -> usize {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        ((self.0 >> 33) as usize) % end
    }

    fn bytes(&mut self, len: usize) -> Vec<u8> {
        (0..len).map(|_| self.below(256) as u8).collect()
    }

    /// Mostly small, at times some pages.
    fn len(&mut self) -> usize {
        match self.below(8) {
            0 => 0,
            1..5 => self.below(64),
            5..7 => self.below(5000),
            _ => self.below(60_000),
        }
    }
}

struct Pair {
    tested: File,
    /// Of the same file as `tested`, to see to what is in memory.
    pages: std::fs::File,
    model: std::fs::File,
}

impl Pair {
    async fn step(&mut self, numbers: &mut Numbers) {
        match numbers.below(14) {
            0..3 => self.read(numbers.len()).await,
            3 => self.give_up_reading(numbers.len()),
            4..6 => {
                let len = numbers.len();
                self.write(&numbers.bytes(len)).await;
            }
            6 => self.write_in_parts(numbers).await,
            7 => self.seek(SeekFrom::Start(numbers.below(100_000) as u64)).await,
            8 => self.seek(SeekFrom::Current(numbers.below(2000) as i64 - 1000)).await,
            9 => self.seek(SeekFrom::End(numbers.below(2000) as i64 - 1500)).await,
            10 => {
                let len = numbers.below(100_000) as u64;
                self.tested.set_len(len).await.unwrap();
                self.model.set_len(len).unwrap();
            }
            11 => self.tested.flush().await.unwrap(),
            12 => {
                // Reads of what is gone from memory take the other way.
                self.tested.sync_all().await.unwrap();
                let offset = numbers.below(30) as i64 * 4096;
                forget_pages(&self.pages, offset, numbers.below(3) as i64 * 8192);
            }
            _ => {
                self.tested.flush().await.unwrap();
                let expected = self.model.metadata().unwrap().len();
                assert_eq!(self.tested.metadata().await.unwrap().len(), expected);
            }
        }
    }

    async fn read(&mut self, len: usize) {
        let (mut read, mut expected) = (vec![0; len], vec![0; len]);
        let mut filled = 0;
        // What an earlier read brought comes first, and by itself.
        while filled < len {
            let n = self.tested.read(&mut read[filled..]).await.unwrap();
            if n == 0 {
                break;
            }
            filled += n;
        }
        let mut expected_len = 0;
        while expected_len < len {
            let n = self.model.read(&mut expected[expected_len..]).unwrap();
            if n == 0 {
                break;
            }
            expected_len += n;
        }
        assert_eq!(filled, expected_len);
        assert!(read == expected, "read {filled} other bytes");
    }

    /// Begins to read, and drops the future if it has to wait.
    fn give_up_reading(&mut self, len: usize) {
        let mut bytes = vec![0; len];
        let read = pin!(self.tested.read(&mut bytes)).poll(&mut Context::from_waker(Waker::noop()));
        // One that is answered at once has moved the cursor.
        if let Poll::Ready(n) = read {
            let n = n.unwrap();
            let mut expected = vec![0; n];
            self.model.read_exact(&mut expected).unwrap();
            assert!(bytes[..n] == expected, "read {n} other bytes");
        }
    }

    async fn write(&mut self, bytes: &[u8]) {
        self.tested.write_all(bytes).await.unwrap();
        self.model.write_all(bytes).unwrap();
    }

    async fn write_in_parts(&mut self, numbers: &mut Numbers) {
        let count = numbers.below(5);
        let parts: Vec<Vec<u8>> = (0..count)
            .map(|_| {
                let len = numbers.below(300);
                numbers.bytes(len)
            })
            .collect();
        let slices: Vec<_> = parts.iter().map(|part| IoSlice::new(part)).collect();
        let n = self.tested.write_vectored(&slices).await.unwrap();
        self.model.write_all(&parts.concat()[..n]).unwrap();
    }

    async fn seek(&mut self, position: SeekFrom) {
        let sought = self.tested.seek(position).await.map_err(|error| error.kind());
        let expected = self.model.seek(position).map_err(|error| error.kind());
        assert_eq!(sought, expected);
    }
}

/// Does the same things to a file and its model, in an order that the seed decides.
fn run(runtime: &Runtime, seed: u64, append: bool) {
    let dir = TempDir::new();
    let paths = ["tested", "model"].map(|name| dir.file(name, [1; 10_000]));
    let mut options = std::fs::File::options();
    options.read(true).write(!append).append(append);
    let mut numbers = Numbers(seed);
    let mut tested = File::from_std(options.open(&paths[0]).unwrap());
    if numbers.below(2) == 0 {
        tested.set_max_buf_size(1 + numbers.below(5000));
    }
    let pages = options.open(&paths[0]).unwrap();
    let mut pair = Pair { tested, pages, model: options.open(&paths[1]).unwrap() };
    runtime.block_on(async {
        for _ in 0..100 {
            pair.step(&mut numbers).await;
        }
        let position = pair.model.stream_position().unwrap();
        assert_eq!(pair.tested.stream_position().await.unwrap(), position);
        pair.tested.flush().await.unwrap();
    });
    let [tested, model] = paths.map(|path| std::fs::read(path).unwrap());
    assert!(tested == model, "the contents differ");
}

#[test]
fn a_file_does_what_one_of_std_does() {
    let runtimes = [current_thread(), multi_thread(2)];
    let until = Instant::now() + stress_time();
    let mut seed = 0;
    while seed < 20 || Instant::now() < until {
        let append = seed % 3 == 0;
        let outcome = std::panic::catch_unwind(|| run(&runtimes[seed % 2], seed as u64, append));
        if let Err(panic) = outcome {
            eprintln!("with seed {seed}");
            std::panic::resume_unwind(panic);
        }
        seed += 1;
    }
}
