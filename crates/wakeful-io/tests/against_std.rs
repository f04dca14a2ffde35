//! Compares readers and writers with those of std, step by step, for random bytes, chunks and
//! errors.
//!
//! Both sides run the same script. `Pending` steps in it affect only the asynchronous side.

mod support;

use std::fmt::Debug;
use std::io::{self, BufRead, Cursor, ErrorKind, Read, Seek, SeekFrom, Write};

use support::{Odds, Scripted, Step, random_bytes, random_steps, run};
use wakeful_base::FastRng;
use wakeful_io::{AsyncBufReadExt, AsyncReadExt, AsyncSeekExt, AsyncWriteExt};

const ROUNDS: u64 = if cfg!(miri) { 5 } else { 400 };
const STEPS: usize = 60;
const ODDS: Odds = Odds { pending: 20, interrupted: 10, failed: 5 };

/// Calls `test` in many rounds with different seeds, and prints the round if it panics.
fn each_round(test: impl Fn(&FastRng)) {
    struct Round(u64);
    impl Drop for Round {
        fn drop(&mut self) {
            if std::thread::panicking() {
                eprintln!("this was round {}", self.0);
            }
        }
    }
    for round in 0..ROUNDS {
        let _round = Round(round);
        test(&FastRng::from_seed(round.wrapping_mul(0x9E37_79B9_7F4A_7C15)));
    }
}

fn same<T: PartialEq + Debug>(ours: io::Result<T>, stds: io::Result<T>) {
    assert_eq!(ours.map_err(|e| e.kind()), stds.map_err(|e| e.kind()));
}

fn script(rng: &FastRng, odds: Odds) -> Vec<Step> {
    random_steps(rng, 2 * STEPS, 20, odds)
}

fn cursor(rng: &FastRng, len: usize) -> Cursor<Vec<u8>> {
    Cursor::new(random_bytes(rng, len, 5, 2))
}

/// Returns the two sides of a comparison, for Wakeful and for std.
fn pair<T: Clone>(inner: T, steps: Vec<Step>) -> (Scripted<T>, Scripted<T>) {
    (Scripted::new(inner.clone(), steps.clone()), Scripted::new(inner, steps))
}

fn random_read<A, B>(rng: &FastRng, ours: &mut A, stds: &mut B)
where
    A: wakeful_io::AsyncBufRead + Unpin,
    B: BufRead,
{
    match rng.below(5) {
        0 | 1 => {
            let len = rng.below(40) as usize;
            let (mut a, mut b) = (vec![0; len], vec![0; len]);
            same(run(ours.read(&mut a)), stds.read(&mut b));
            assert_eq!(a, b);
        }
        2 => {
            let (mut a, mut b) = (Vec::new(), Vec::new());
            same(run(ours.read_until(b'\n', &mut a)), stds.read_until(b'\n', &mut b));
            assert_eq!(a, b);
        }
        3 => {
            let (mut a, mut b) = (String::new(), String::new());
            same(run(ours.read_line(&mut a)), stds.read_line(&mut b));
            assert_eq!(a, b);
        }
        _ => {
            let a = run(ours.fill_buf()).map(<[u8]>::to_vec);
            let b = stds.fill_buf().map(<[u8]>::to_vec);
            let n = a.as_ref().map_or(0, |bytes| rng.below(bytes.len() as u32 + 1)) as usize;
            same(a, b);
            AsyncBufReadExt::consume(ours, n);
            stds.consume(n);
        }
    }
}

#[test]
fn buf_reader() {
    each_round(|rng| {
        let capacity = 1 + rng.below(30) as usize;
        let (ours, stds) = pair(cursor(rng, 500), script(rng, ODDS));
        let mut ours = wakeful_io::BufReader::with_capacity(capacity, ours);
        let mut stds = io::BufReader::with_capacity(capacity, stds);
        for _ in 0..STEPS {
            random_read(rng, &mut ours, &mut stds);
            assert_eq!(ours.buffer(), stds.buffer());
        }
    });
}

#[test]
fn buf_reader_that_seeks() {
    each_round(|rng| {
        let capacity = 1 + rng.below(30) as usize;
        let odds = Odds { interrupted: 0, failed: 0, ..ODDS };
        let (ours, stds) = pair(cursor(rng, 300), script(rng, odds));
        let mut ours = wakeful_io::BufReader::with_capacity(capacity, ours);
        let mut stds = io::BufReader::with_capacity(capacity, stds);
        for _ in 0..STEPS {
            if rng.below(3) > 0 {
                random_read(rng, &mut ours, &mut stds);
                continue;
            }
            let way = i64::from(rng.below(200)) - 100;
            let target = match rng.below(4) {
                0 => SeekFrom::Start(rng.below(320).into()),
                1 => SeekFrom::End(way),
                2 => SeekFrom::Current(way),
                // Does not fit one seek of the inner reader.
                _ => SeekFrom::Current(i64::MIN),
            };
            // Seeks consume `Pending` steps only on the asynchronous side, so later reads agree.
            same(run(ours.seek(target)), stds.seek(target));
            assert_eq!(ours.buffer(), stds.buffer());
        }
    });
}

#[test]
fn buf_writer() {
    each_round(|rng| {
        let capacity = rng.below(30) as usize;
        let (ours, stds) = pair(Vec::new(), script(rng, ODDS));
        let mut ours = wakeful_io::BufWriter::with_capacity(capacity, ours);
        let mut stds = io::BufWriter::with_capacity(capacity, stds);
        for _ in 0..STEPS {
            if rng.below(8) == 0 {
                same(run(ours.flush()), stds.flush());
            } else {
                let len = rng.below(40) as usize;
                let bytes = random_bytes(rng, len, 0, 0);
                same(run(ours.write(&bytes)), stds.write(&bytes));
            }
            assert_eq!(ours.buffer(), stds.buffer());
            assert_eq!(ours.get_ref().inner, stds.get_ref().inner);
        }
        // Dropping std's writer would write its buffer.
        _ = stds.into_parts();
    });
}

#[test]
fn buf_writer_that_seeks() {
    each_round(|rng| {
        let capacity = 1 + rng.below(30) as usize;
        let odds = Odds { interrupted: 0, failed: 0, ..ODDS };
        let (ours, stds) = pair(Cursor::new(vec![0; 100]), script(rng, odds));
        let mut ours = wakeful_io::BufWriter::with_capacity(capacity, ours);
        let mut stds = io::BufWriter::with_capacity(capacity, stds);
        for _ in 0..STEPS {
            if rng.below(3) == 0 {
                let target = match rng.below(2) {
                    0 => SeekFrom::Start(rng.below(120).into()),
                    _ => SeekFrom::Current(i64::from(rng.below(200)) - 100),
                };
                same(run(ours.seek(target)), stds.seek(target));
            } else {
                let bytes = random_bytes(rng, rng.below(40) as usize, 0, 0);
                same(run(ours.write_all(&bytes)), stds.write_all(&bytes));
            }
        }
        same(run(ours.flush()), stds.flush());
        assert_eq!(ours.get_ref().inner, stds.get_ref().inner);
    });
}

#[test]
fn take_and_chain() {
    each_round(|rng| {
        let capacity = 1 + rng.below(30) as usize;
        let limit = rng.below(200).into();
        let (first, stds_first) = pair(cursor(rng, 100), script(rng, ODDS));
        let (second, stds_second) = pair(cursor(rng, 100), script(rng, ODDS));
        let ours = |inner| wakeful_io::BufReader::with_capacity(capacity, inner);
        let stds = |inner| io::BufReader::with_capacity(capacity, inner);
        let mut ours = AsyncReadExt::take(AsyncReadExt::chain(ours(first), ours(second)), limit);
        let mut stds = Read::take(Read::chain(stds(stds_first), stds(stds_second)), limit);
        for _ in 0..STEPS {
            random_read(rng, &mut ours, &mut stds);
            assert_eq!(ours.limit(), stds.limit());
        }
    });
}

#[test]
fn lines_and_segments() {
    each_round(|rng| {
        // No errors: after one, std discards an incomplete line and Wakeful does not.
        let odds = Odds { failed: 0, ..ODDS };
        let bytes = random_bytes(rng, 300, 10, 1);
        let capacity = 1 + rng.below(30) as usize;
        let ours = Scripted::new(&bytes[..], script(rng, odds));
        let mut ours = AsyncBufReadExt::lines(wakeful_io::BufReader::with_capacity(capacity, ours));
        for line in BufRead::lines(&bytes[..]) {
            same(run(ours.next_line()).map(Option::unwrap), line);
        }
        assert_eq!(run(ours.next_line()).unwrap(), None);

        let ours = Scripted::new(&bytes[..], script(rng, odds));
        let ours = wakeful_io::BufReader::with_capacity(capacity, ours);
        let mut ours = AsyncBufReadExt::split(ours, b'a');
        for segment in BufRead::split(&bytes[..], b'a') {
            same(run(ours.next_segment()).map(Option::unwrap), segment);
        }
        assert_eq!(run(ours.next_segment()).unwrap(), None);
    });
}

#[test]
fn copies() {
    each_round(|rng| {
        let odds = Odds { failed: rng.below(2), ..ODDS };
        let bytes = random_bytes(rng, rng.below(2000) as usize, 0, 0);
        let mut reader = Scripted::new(&bytes[..], random_steps(rng, 200, 300, odds));
        let mut writer = Scripted::new(Vec::new(), random_steps(rng, 200, 300, odds));
        let result = match rng.below(2) {
            0 => run(wakeful_io::copy(&mut reader, &mut writer)),
            _ => {
                let capacity = 1 + rng.below(100) as usize;
                let mut reader = wakeful_io::BufReader::with_capacity(capacity, reader);
                run(wakeful_io::copy_buf(&mut reader, &mut writer))
            }
        };
        match result {
            Ok(n) => {
                assert_eq!(n, io::copy(&mut &bytes[..], &mut io::sink()).unwrap());
                assert_eq!(writer.inner, bytes);
                assert!(writer.flushes > 0);
            }
            Err(error) => {
                assert_eq!(error.kind(), ErrorKind::TimedOut);
                assert!(odds.failed > 0 && bytes.starts_with(&writer.inner));
            }
        }
    });
}

#[test]
fn reading_all() {
    each_round(|rng| {
        let (mut ours, mut stds) = pair(cursor(rng, rng.below(400) as usize), Vec::new());
        ours.steps = script(rng, Odds { failed: 0, ..ODDS }).into();
        let room = rng.below(100) as usize;
        let (mut a, mut b) = (Vec::with_capacity(room), Vec::with_capacity(room));
        a.extend_from_slice(b"before");
        b.extend_from_slice(b"before");
        same(
            run(AsyncReadExt::read_to_end(&mut ours, &mut a)),
            Read::read_to_end(&mut stds, &mut b),
        );
        assert_eq!(a, b);
        let (mut a, mut b) = ("before".to_owned(), "before".to_owned());
        ours.inner.set_position(0);
        stds.inner.set_position(0);
        let result = run(AsyncReadExt::read_to_string(&mut ours, &mut a));
        same(result, Read::read_to_string(&mut stds, &mut b));
        assert_eq!(a, b);
    });
}
