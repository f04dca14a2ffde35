//! `Cargo.lock`, lent to a call and given back.
//!
//! ```text
//!                     alone                                             others still in
//! borrow ──gate──▶ save it ──▶ resolve ──prepared──▶ cargo runs ──gate──▶ leave
//!            └─ others in: it is saved already ─┘                  └─▶ last: restore, clear up
//! ```
//!
//! Calls in one workspace share what is lent, so that a server and its client can run side by side: the first saves the
//! file, the last restores it. What they know of each other lies in a folder under cargo's home, one for each workspace:
//!
//! | file | is |
//! |---|---|
//! | `gate` | locked by whoever comes in or goes out |
//! | `users` | locked shared by every call that is in; the kernel takes the lock off one that was killed |
//! | `before`, or `none` | `Cargo.lock` as it was, or that there was none |
//! | `lent` | `Cargo.lock` as we left it for cargo |
//! | `kept` | a `before` that could not be put back, see [`LockFileLoan::recover`] |
//!
//! A target folder would be a worse place: two calls may use two, and `cargo clean` empties it.

use std::env;
use std::fs::{self, File};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use crate::signals;

#[cfg(test)]
mod tests;

/// The right to have another `Cargo.lock` for a while.
pub struct LockFileLoan {
    lock_file: PathBuf,
    folder: PathBuf,
    users: File,
    /// Held while nobody else may come in or go out.
    gate: Option<File>,
    is_given_back: bool,
}

/// Saves the workspace's `Cargo.lock`, unless a call that is under way has done so.
pub fn borrow(workspace_root: &Path) -> Result<LockFileLoan, String> {
    borrow_in(&state_dir()?, workspace_root)
}

fn borrow_in(home: &Path, workspace_root: &Path) -> Result<LockFileLoan, String> {
    let lock_file = workspace_root.join("Cargo.lock");
    // Where it is a link, the file behind it is saved and restored.
    let lock_file = fs::canonicalize(&lock_file).unwrap_or(lock_file);
    let mut hasher = DefaultHasher::new();
    lock_file.hash(&mut hasher);
    let folder = home.join(format!("{:016x}", hasher.finish()));
    let in_folder = |error| error_text("use", &folder, &error);
    let gate = lock_gate(&folder, true).map_err(in_folder)?;
    let users = open(&folder.join("users")).map_err(in_folder)?;
    let is_alone = is_only_user(&users).map_err(in_folder)?;
    lock(&users, libc::LOCK_SH).map_err(in_folder)?;
    let lent = LockFileLoan { lock_file, folder, users, gate: Some(gate), is_given_back: false };
    if is_alone {
        lent.recover()?;
        lent.save()?;
    }
    Ok(lent)
}

impl LockFileLoan {
    /// The lock file is as cargo will read it; others may come in.
    pub fn mark_prepared(&mut self) -> Result<(), String> {
        let lent = self.folder.join("lent");
        copy_atomically(&self.lock_file, &lent)
            .map_err(|error| error_text("copy", &self.lock_file, &error))?;
        self.gate = None;
        Ok(())
    }

    /// Ends the loan. Whoever is last puts the file back.
    pub fn give_back(mut self) -> Result<(), String> {
        self.try_give_back()
    }

    fn try_give_back(&mut self) -> Result<(), String> {
        self.is_given_back = true;
        let in_folder = |error| error_text("use", &self.folder, &error);
        let gate = match self.gate.take() {
            Some(gate) => gate,
            None => lock_gate(&self.folder, false).map_err(in_folder)?,
        };
        if is_only_user(&self.users).map_err(in_folder)? {
            self.restore()?;
            self.remove_saved();
            for name in ["users", "gate"] {
                let _ = fs::remove_file(self.folder.join(name));
            }
            // It stays if there is a kept file in it.
            let _ = fs::remove_dir(&self.folder);
        }
        drop(gate);
        Ok(())
    }

    fn save(&self) -> Result<(), String> {
        let saved = if self.lock_file.exists() {
            copy_atomically(&self.lock_file, &self.folder.join("before"))
        } else {
            File::create(self.folder.join("none")).map(drop)
        };
        saved.map_err(|error| error_text("save", &self.lock_file, &error))
    }

    /// What is saved; `None` inside if there was no file.
    fn saved(&self) -> Result<Option<Vec<u8>>, String> {
        if self.folder.join("none").exists() {
            return Ok(None);
        }
        let before = self.folder.join("before");
        fs::read(&before).map(Some).map_err(|error| error_text("read", &before, &error))
    }

    fn restore(&self) -> Result<(), String> {
        let was = self.saved()?;
        let is = self.current();
        let restored = if is == was {
            Ok(())
        } else if was.is_none() {
            fs::remove_file(&self.lock_file)
        } else {
            copy_atomically(&self.folder.join("before"), &self.lock_file)
        };
        restored.map_err(|error| {
            let (path, folder) = (self.lock_file.display(), self.folder.display());
            format!("{path} could not be put back: {error}. What it was is in {folder}")
        })
    }

    fn current(&self) -> Option<Vec<u8>> {
        fs::read(&self.lock_file).ok()
    }

    /// Puts back what a call left that was killed. If somebody has changed `Cargo.lock` since, theirs stays, and the one
    /// from before is kept aside.
    fn recover(&self) -> Result<(), String> {
        let before = self.folder.join("before");
        if !before.exists() && !self.folder.join("none").exists() {
            return Ok(());
        }
        let _ = fs::remove_file(temp_path(&self.lock_file));
        let lent = fs::read(self.folder.join("lent")).ok();
        let is = self.current();
        // Without `lent` it was killed within the moment in which cargo writes the file.
        if lent.is_none() || is.is_none() || lent == is {
            self.restore()?;
            eprintln!("cargo wakeful: Cargo.lock is as it was before a call that was killed");
        } else if before.exists() && is != self.saved()? {
            let kept = self.folder.join("kept");
            fs::rename(&before, &kept).map_err(|error| error_text("move", &before, &error))?;
            eprintln!(
                "cargo wakeful: Cargo.lock has changed since a call of `cargo wakeful` was killed, and stays;\n\
                 what it was before that call is in {}",
                kept.display()
            );
        }
        self.remove_saved();
        Ok(())
    }

    fn remove_saved(&self) {
        for name in ["before", "none", "lent"] {
            let _ = fs::remove_file(self.folder.join(name));
        }
    }
}

impl Drop for LockFileLoan {
    fn drop(&mut self) {
        if !self.is_given_back {
            if let Err(message) = self.try_give_back() {
                eprintln!("cargo wakeful: {message}");
            }
        }
    }
}

fn state_dir() -> Result<PathBuf, String> {
    let named = env::var_os("CARGO_HOME").filter(|dir| !dir.is_empty()).map(PathBuf::from);
    let usual = || env::var_os("HOME").map(|home| Path::new(&home).join(".cargo"));
    let home = named.or_else(usual).ok_or("neither CARGO_HOME nor HOME is set")?;
    Ok(home.join("wakeful"))
}

/// The folder may be cleared up while we wait at its gate; then there is another gate.
fn lock_gate(folder: &Path, may_be_interrupted: bool) -> io::Result<File> {
    let path = folder.join("gate");
    loop {
        fs::create_dir_all(folder)?;
        let gate = match open(&path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
            opened => opened?,
        };
        match lock(&gate, libc::LOCK_EX) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {
                if may_be_interrupted && signals::received().is_some() {
                    return Err(error);
                }
                continue;
            }
            locked => locked?,
        }
        if fs::metadata(&path)
            .is_ok_and(|there| gate.metadata().is_ok_and(|ours| ours.ino() == there.ino()))
        {
            return Ok(gate);
        }
    }
}

fn open(path: &Path) -> io::Result<File> {
    File::options().read(true).write(true).create(true).truncate(false).open(path)
}

/// Whether no other call is in. If so, the lock is held so that none can be; the gate's holder alone may ask.
fn is_only_user(users: &File) -> io::Result<bool> {
    match lock(users, libc::LOCK_EX | libc::LOCK_NB) {
        Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(false),
        locked => locked.map(|()| true),
    }
}

fn lock(file: &File, operation: i32) -> io::Result<()> {
    // SAFETY: the descriptor is open as long as `file` is, and no memory is involved.
    match unsafe { libc::flock(file.as_raw_fd(), operation) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

/// Copies contents, permissions and time of change; `to` is the old or the new file at every moment, never a part of one.
fn copy_atomically(from: &Path, to: &Path) -> io::Result<()> {
    let temp = temp_path(to);
    let copied = fs::copy(from, &temp).and_then(|_| {
        let modified = fs::metadata(from)?.modified()?;
        File::options().append(true).open(&temp)?.set_modified(modified)?;
        fs::rename(&temp, to)
    });
    if copied.is_err() {
        let _ = fs::remove_file(&temp);
    }
    copied
}

/// Where a file is written before it takes its place. Whoever writes holds the gate, so one name is enough.
fn temp_path(path: &Path) -> PathBuf {
    path.with_extension("wakeful")
}

fn error_text(verb: &str, path: &Path, error: &io::Error) -> String {
    format!("could not {verb} {}: {error}", path.display())
}
