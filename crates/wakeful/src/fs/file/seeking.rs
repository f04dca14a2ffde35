//! Moving the cursor of a file.

use super::in_flight::{Job, Outcome};
use super::{File, StdFile};
use crate::io::{AsyncSeek, Staging};
use std::io::{self, Seek, SeekFrom};
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use wakeful_runtime::runtime::expect_current;
use wakeful_runtime::task::spawn_blocking_or_run;

impl AsyncSeek for File {
    fn start_seek(self: Pin<&mut Self>, position: SeekFrom) -> io::Result<()> {
        let file = self.get_mut();
        let in_flight = file.in_flight.get_mut();
        if !matches!(in_flight.job, Job::None) {
            return Err(io::Error::other(
                "`start_seek` called while another operation on the file is under way: call \
                 `poll_complete` until it is ready first",
            ));
        }
        let is_running = expect_current("fs::File::seek");
        // A file system that is not local may have to ask a server for the length of the file. All
        // other seeks only change a number in the kernel's memory, so they run inline.
        if !is_running || matches!(position, SeekFrom::End(_)) && !file.is_local {
            let (std, mut staging) = (file.std.clone(), in_flight.take_staging());
            in_flight.job = Job::Running(spawn_blocking_or_run("fs::File::seek", move || {
                let result = seek(&std, &mut staging, position);
                (Outcome::Sought(result), staging)
            }));
        } else {
            in_flight.job = Job::SeekDone(seek(&file.std, &mut in_flight.staging, position));
        }
        Ok(())
    }

    fn poll_complete(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<u64>> {
        let in_flight = self.get_mut().in_flight.get_mut();
        loop {
            match ready!(in_flight.poll_settle(cx))? {
                None => return Poll::Ready(Ok(in_flight.position)),
                Some(Outcome::Sought(result)) => return Poll::Ready(result),
                Some(Outcome::Written(Err(error))) => in_flight.write_error = Some(error.kind()),
                Some(Outcome::Written(Ok(())) | Outcome::Read(_) | Outcome::Resized(_)) => {}
            }
        }
    }
}

/// Moves the cursor. `SeekFrom::Current` counts from the position that the caller has reached,
/// before the bytes that were read ahead. Discards these bytes, unless the seek fails.
fn seek(mut file: &StdFile, staging: &mut Staging, position: SeekFrom) -> io::Result<u64> {
    let read_ahead = staging.len() as i64;
    let position = match position {
        SeekFrom::Current(offset) => match offset.checked_sub(read_ahead) {
            Some(offset) => file.seek(SeekFrom::Current(offset))?,
            None => {
                file.seek(SeekFrom::Current(-read_ahead))?;
                staging.clear();
                file.seek(SeekFrom::Current(offset))?
            }
        },
        SeekFrom::Start(_) | SeekFrom::End(_) => file.seek(position)?,
    };
    staging.clear();
    Ok(position)
}
