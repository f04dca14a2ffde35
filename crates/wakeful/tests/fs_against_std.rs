//! Compares a file with one of the standard library under random operations.

mod support;

use std::future::Future;
use std::io::{IoSlice, Read, Seek, SeekFrom, Write};
use std::pin::pin;
use std::task::{Context, Poll, Waker};
use std::time::Instant;
use support::files::{TempDir, evict_pages};
use support::{current_thread, multi_thread, stress_time};
use wakeful::fs::File;
use wakeful::io::{AsyncReadExt, AsyncSeekExt, AsyncWriteExt};
use wakeful::runtime::Runtime;

/// A pseudo-random number generator, deterministic for a seed.
struct Random(u64);

impl Random {
    fn below(&mut self, end: usize) -> usize {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        ((self.0 >> 33) as usize) % end
    }

    fn bytes(&mut self, len: usize) -> Vec<u8> {
        (0..len).map(|_| self.below(256) as u8).collect()
    }

    /// Returns a length that is mostly small and sometimes several pages.
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
    /// Another descriptor of the tested file, to evict its pages.
    pages: std::fs::File,
    model: std::fs::File,
}

impl Pair {
    async fn step(&mut self, random: &mut Random) {
        match random.below(14) {
            0..3 => self.read(random.len()).await,
            3 => self.start_and_cancel_read(random.len()),
            4..6 => {
                let len = random.len();
                self.write(&random.bytes(len)).await;
            }
            6 => self.write_in_parts(random).await,
            7 => self.seek(SeekFrom::Start(random.below(100_000) as u64)).await,
            8 => self.seek(SeekFrom::Current(random.below(2000) as i64 - 1000)).await,
            9 => self.seek(SeekFrom::End(random.below(2000) as i64 - 1500)).await,
            10 => {
                let len = random.below(100_000) as u64;
                self.tested.set_len(len).await.unwrap();
                self.model.set_len(len).unwrap();
            }
            11 => self.tested.flush().await.unwrap(),
            12 => {
                // Reads of evicted pages go to the pool.
                self.tested.sync_all().await.unwrap();
                let offset = random.below(30) as i64 * 4096;
                evict_pages(&self.pages, offset, random.below(3) as i64 * 8192);
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
        // A read returns bytes that were read ahead first, and no others with them.
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

    /// Starts a read and drops the future if it is pending.
    fn start_and_cancel_read(&mut self, len: usize) {
        let mut bytes = vec![0; len];
        let read = pin!(self.tested.read(&mut bytes)).poll(&mut Context::from_waker(Waker::noop()));
        // A read that completed has moved the cursor.
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

    async fn write_in_parts(&mut self, random: &mut Random) {
        let count = random.below(5);
        let parts: Vec<Vec<u8>> = (0..count)
            .map(|_| {
                let len = random.below(300);
                random.bytes(len)
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

/// Applies the same operations, which depend on the seed, to a file and its model.
fn run(runtime: &Runtime, seed: u64, append: bool) {
    let dir = TempDir::new();
    let paths = ["tested", "model"].map(|name| dir.file(name, [1; 10_000]));
    let mut options = std::fs::File::options();
    options.read(true).write(!append).append(append);
    let mut random = Random(seed);
    let mut tested = File::from_std(options.open(&paths[0]).unwrap());
    if random.below(2) == 0 {
        tested.set_max_buf_size(1 + random.below(5000));
    }
    let pages = options.open(&paths[0]).unwrap();
    let mut pair = Pair { tested, pages, model: options.open(&paths[1]).unwrap() };
    runtime.block_on(async {
        for _ in 0..100 {
            pair.step(&mut random).await;
        }
        let position = pair.model.stream_position().unwrap();
        assert_eq!(pair.tested.stream_position().await.unwrap(), position);
        pair.tested.flush().await.unwrap();
    });
    let [tested, model] = paths.map(|path| std::fs::read(path).unwrap());
    assert!(tested == model, "the contents differ");
}

#[test]
fn a_file_behaves_as_one_of_std() {
    let runtimes = [current_thread(), multi_thread(2)];
    let until = Instant::now() + stress_time();
    let mut seed = 0;
    while seed < 20 || Instant::now() < until {
        let append = seed % 3 == 0;
        let outcome = std::panic::catch_unwind(|| run(&runtimes[seed % 2], seed as u64, append));
        if let Err(panic) = outcome {
            eprintln!("the seed is {seed}");
            std::panic::resume_unwind(panic);
        }
        seed += 1;
    }
}
