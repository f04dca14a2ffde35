//! Blocking calls, files, timers and sets of tasks.

use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};
use wakeful::fs::{self, File};
use wakeful::io::{AsyncReadExt, AsyncSeekExt, AsyncWriteExt};
use wakeful::task::{self, JoinSet, yield_now};
use wakeful::time::{interval, sleep, timeout};
use wakeful_torture::rng::Rng;

use crate::scene::{Flavour, Scene, join_all, moment};
use crate::sums::{Pair, SUMS, Token, finding, note};

const SLEEPERS: usize = 20;

/// Calls blocking functions on the pool, some without waiting for them, and on workers.
pub async fn blocking(mut scene: Scene) {
    let mut rng = scene.rng();
    while scene.should_continue() {
        let (token, pause) = (Token::new(rng.next_u64()), moment(&mut rng, 500));
        let id = token.id;
        SUMS.left(Pair::Blocking, 1);
        let ended = CountedEnd;
        let call = task::spawn_blocking(move || {
            thread::sleep(pause);
            drop(ended);
            token
        });
        match rng.below(4) {
            0 => drop(call),
            1 => match timeout(moment(&mut rng, 500), call).await {
                Ok(Ok(token)) if token.id == id => {}
                Err(_) => note("blocking calls not waited for"),
                other => finding(format!("a blocking call: {other:?}")),
            },
            _ if call.await.is_ok_and(|token| token.id == id) => {}
            _ => finding("a blocking call returned a wrong value"),
        }
        if scene.flavour == Flavour::MultiThread {
            in_place(&scene, pause).await;
        }
    }
}

/// Counts a closure when it has run or is dropped with its runtime.
struct CountedEnd;

impl Drop for CountedEnd {
    fn drop(&mut self) {
        SUMS.right(Pair::Blocking, 1);
    }
}

async fn in_place(scene: &Scene, pause: Duration) {
    SUMS.left(Pair::InPlace, 1);
    let task = scene.spawn(async move {
        task::block_in_place(|| thread::sleep(pause));
        yield_now().await;
        SUMS.right(Pair::InPlace, 1);
    });
    join_all([task]).await;
}

/// Writes, reads back, renames and removes files in `folder`.
pub async fn files(mut scene: Scene, folder: PathBuf) {
    let mut rng = scene.rng();
    while scene.should_continue() {
        let path = folder.join(format!("{:?}-{:x}", scene.flavour, rng.next_u64()));
        if let Err(error) = one_file(&path, &mut rng).await {
            finding(format!("{}: {error}", path.display()));
        }
    }
}

async fn one_file(path: &Path, rng: &mut Rng) -> std::io::Result<()> {
    let id = rng.next_u64();
    let bytes: Vec<u8> = (0..rng.below(100_000)).map(|at| (id >> (at % 8 * 8)) as u8).collect();
    SUMS.left(Pair::FileBytes, bytes.len() as u64);
    let renamed = path.with_extension("renamed");
    let read = if rng.chance(500) {
        fs::write(path, &bytes).await?;
        fs::rename(path, &renamed).await?;
        fs::read(&renamed).await?
    } else {
        let mut options = File::options();
        let mut file = options.read(true).write(true).create_new(true).open(path).await?;
        for piece in bytes.chunks(1 + rng.below(20_000)) {
            file.write_all(piece).await?;
        }
        file.flush().await?;
        file.rewind().await?;
        // A read that is dropped changes nothing but the position in the file.
        _ = timeout(Duration::ZERO, file.read(&mut [0; 100])).await;
        file.rewind().await?;
        let mut read = Vec::new();
        file.read_to_end(&mut read).await?;
        fs::rename(path, &renamed).await?;
        read
    };
    if read == bytes {
        SUMS.right(Pair::FileBytes, read.len() as u64);
    }
    fs::remove_file(&renamed).await
}

/// Sleeps that must not end early, sleeps that are dropped, and intervals.
pub async fn timers(mut scene: Scene) {
    let sleepers: Vec<_> = (0..SLEEPERS)
        .map(|_| {
            let (sleeper_scene, mut rng) = (scene.clone(), scene.rng());
            scene.spawn(async move {
                while sleeper_scene.should_continue() {
                    one_sleep(&mut rng).await;
                }
            })
        })
        .collect();
    join_all(sleepers).await;
}

async fn one_sleep(rng: &mut Rng) {
    let (start, time) = (Instant::now(), moment(rng, 8000));
    SUMS.left(Pair::Sleeps, 1);
    match rng.below(4) {
        0 => {
            if timeout(moment(rng, 8000), sleep(time)).await.is_err() {
                note("sleeps given up");
            }
        }
        1 => {
            let mut ticks = interval(time / 4 + Duration::from_micros(1));
            for _ in 0..4 {
                ticks.tick().await;
            }
        }
        _ => {
            sleep(time).await;
            if start.elapsed() < time {
                finding(format!("a sleep of {time:?} took {:?}", start.elapsed()));
            }
        }
    }
    SUMS.right(Pair::Sleeps, 1);
}

/// Sets of tasks that are joined, shut down, aborted or dropped.
pub async fn sets(mut scene: Scene) {
    let mut rng = scene.rng();
    while scene.should_continue() {
        let mut set = JoinSet::new();
        let count = rng.below(60);
        for number in 0..count {
            let (token, pause) = (Token::new(number as u64), moment(&mut rng, 1000));
            let future = async move {
                if number % 3 == 0 {
                    sleep(pause).await;
                }
                token
            };
            match scene.flavour {
                Flavour::CurrentThread | Flavour::MultiThread => set.spawn(future),
                Flavour::LocalSet | Flavour::LocalRuntime => set.spawn_local(future),
            };
        }
        let enough = rng.below(80);
        let mut joined = 0;
        while joined < enough {
            match set.join_next().await {
                Some(Ok(_)) => joined += 1,
                Some(Err(error)) => finding(format!("a task of a set: {error}")),
                None => break,
            }
        }
        match rng.below(3) {
            0 => set.shutdown().await,
            1 => set.abort_all(),
            _ => {}
        }
        drop(set);
    }
}
