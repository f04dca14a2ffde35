//! Reads of cached files: their cost beyond that of the system calls.

use crate::measure::{Sample, Scale, time_turns, time_turns_blocking};
use crate::runtime::FileReads;
use crate::suite::Case;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

pub const BLOCK: usize = 4096;

const SEQ: (&str, &str) = ("file/seq_4k", "read 4 KiB from an open file, cached, per read");
const OPEN_READ: (&str, &str) =
    ("file/open_read_4k", "open a cached file, read 4 KiB, close it, per file");

pub fn cases<R: FileReads>() -> Vec<Case> {
    vec![
        Case::new(SEQ.0, SEQ.1, |scale| {
            let blocks = scale.pick(10_000, 1_000);
            let file = CachedFile::new(blocks);
            let path = file.0.clone();
            R::run(
                async move { time_turns(blocks, || R::read_through(path.clone(), blocks)).await },
            )
        }),
        Case::new(OPEN_READ.0, OPEN_READ.1, |scale| {
            let times = scale.pick(10_000, 1_000);
            let file = CachedFile::new(1);
            let path = file.0.clone();
            R::run(async move { time_turns(times, || R::open_and_read(path.clone(), times)).await })
        }),
    ]
}

/// Returns the same cases with the standard library, which cost as much as the system calls.
pub fn std_cases() -> Vec<Case> {
    vec![Case::new(SEQ.0, SEQ.1, std_seq), Case::new(OPEN_READ.0, OPEN_READ.1, std_open_read)]
}

fn std_seq(scale: Scale) -> Sample {
    let blocks = scale.pick(10_000, 1_000);
    let cached = CachedFile::new(blocks);
    time_turns_blocking(blocks, || {
        let mut file = File::open(&cached.0).unwrap();
        let mut buffer = vec![0; BLOCK];
        for _ in 0..blocks {
            file.read_exact(&mut buffer).unwrap();
        }
    })
}

fn std_open_read(scale: Scale) -> Sample {
    let times = scale.pick(10_000, 1_000);
    let cached = CachedFile::new(1);
    time_turns_blocking(times, || {
        let mut buffer = vec![0; BLOCK];
        for _ in 0..times {
            File::open(&cached.0).unwrap().read_exact(&mut buffer).unwrap();
        }
    })
}

/// A new file, removed when dropped.
struct CachedFile(PathBuf);

impl CachedFile {
    fn new(blocks: usize) -> CachedFile {
        // Next to the program: a temporary directory may be in memory, where reads take another
        // path.
        let program = std::env::current_exe().unwrap();
        let folder = program.parent().unwrap_or(Path::new("."));
        let path = folder.join(format!("bench-file-{}", std::process::id()));
        std::fs::write(&path, vec![7; blocks * BLOCK]).unwrap();
        CachedFile(path)
    }
}

impl Drop for CachedFile {
    fn drop(&mut self) {
        let _it_is_only_litter = std::fs::remove_file(&self.0);
    }
}
