//! Saving `Cargo.lock` before a call of cargo, and restoring it afterwards.
//!
//! ```text
//!                  only user                                       others use it
//! borrow ──gate──▶ save ──▶ resolve ──mark_prepared──▶ build ──gate──▶ give_back
//!              └─▶ others use it: saved already ─┘                 └─▶ last user: restore, delete
//! ```
//!
//! The loan ends when cargo has built everything, before it starts the program or the tests: see
//! [`runner`](crate::runner). If cargo starts nothing, the loan ends with cargo.
//!
//! Concurrent builds in one workspace share the loan: the first call saves the file, and the last
//! one restores it. Their shared state is in a folder under cargo's home, one for each workspace:
//!
//! | file | purpose |
//! |---|---|
//! | `gate` | locked by a call that starts or ends its loan |
//! | `users` | each call with a loan holds a shared lock; the kernel releases a killed call's |
//! | `before`, or `none` | the saved `Cargo.lock`, or a mark that there was no file |
//! | `lent` | `Cargo.lock` as it was prepared for cargo |
//! | `kept`, `kept-2`, … | a `before` that was not restored, see [`LockFileLoan::recover`] |
//! | `changed`, `changed-2`, … | what another program wrote during a loan |
//!
//! A target folder is not suitable: two calls may use different ones, and `cargo clean` empties it.

use std::env;
use std::fs::{self, File};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::output::print_note;
use crate::signals;

#[cfg(test)]
mod tests;

/// The right to change `Cargo.lock` until the loan ends. Dropping it restores the file.
pub struct LockFileLoan {
    lock_file: PathBuf,
    folder: PathBuf,
    users: File,
    /// The lock that keeps other calls from starting or ending a loan, while this call holds it.
    gate: Option<File>,
    is_given_back: bool,
}

/// Starts a loan: saves the workspace's `Cargo.lock`, unless a concurrent call has done so.
pub fn borrow(workspace_root: &Path) -> Result<LockFileLoan, String> {
    borrow_in(&state_dir()?, workspace_root)
}

fn borrow_in(home: &Path, workspace_root: &Path) -> Result<LockFileLoan, String> {
    let lock_file = workspace_root.join("Cargo.lock");
    // If it is a symbolic link, the file that it points to is saved and restored.
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
    /// Records that `Cargo.lock` is prepared for cargo, and lets other calls start a loan.
    pub fn mark_prepared(&mut self) -> Result<(), String> {
        let lent = self.folder.join("lent");
        copy_atomically(&self.lock_file, &lent)
            .map_err(|error| error_text("copy", &self.lock_file, &error))?;
        self.gate = None;
        Ok(())
    }

    /// Ends the loan. The last concurrent call restores the file.
    pub fn give_back(mut self) -> Result<(), String> {
        self.try_give_back()
    }

    /// Ends the loan and leaves the changed file in place. Only possible before
    /// [`mark_prepared`](Self::mark_prepared), and if there is no concurrent call, which would
    /// restore the file later.
    pub fn keep(mut self) {
        self.is_given_back = true;
        self.remove_saved();
        self.remove_folder();
    }

    /// Returns whether no concurrent call has a loan. None can start until this one is prepared.
    pub fn is_only_one(&self) -> Result<bool, String> {
        let alone = is_only_user(&self.users);
        alone.map_err(|error| error_text("use", &self.folder, &error))
    }

    fn remove_folder(&self) {
        for name in ["users", "gate"] {
            let _ = fs::remove_file(self.folder.join(name));
        }
        // Fails, and the folder stays, if it contains a file for the user.
        let _ = fs::remove_dir(&self.folder);
    }

    fn try_give_back(&mut self) -> Result<(), String> {
        self.is_given_back = true;
        let in_folder = |error| error_text("use", &self.folder, &error);
        let gate = match self.gate.take() {
            Some(gate) => gate,
            None => lock_gate(&self.folder, false).map_err(in_folder)?,
        };
        if is_only_user(&self.users).map_err(in_folder)? {
            self.keep_changes()?;
            self.restore()?;
            self.remove_saved();
            self.remove_folder();
        }
        drop(gate);
        Ok(())
    }

    /// Saves what another program wrote to `Cargo.lock` during the loan, such as `cargo update`,
    /// and tells the user where it is.
    fn keep_changes(&self) -> Result<(), String> {
        let lent = fs::read(self.folder.join("lent")).ok();
        let is = self.current();
        if lent.is_none() || is.is_none() || is == lent || is == self.saved()? {
            return Ok(());
        }
        let changed = unused_name(&self.folder, "changed");
        copy_atomically(&self.lock_file, &changed)
            .map_err(|error| error_text("copy", &self.lock_file, &error))?;
        print_note(format_args!(
            "another program changed Cargo.lock during the build. Cargo.lock is as it was before the build;\n\
             the changed content is in {}.\n\
             Repeat the command that changed it, such as `cargo update`.",
            changed.display()
        ));
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

    /// Returns the saved content, or `Ok(None)` if there was no file.
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
            format!("could not restore {path}: {error}. The saved copy is in {folder}")
        })
    }

    fn current(&self) -> Option<Vec<u8>> {
        fs::read(&self.lock_file).ok()
    }

    /// Restores the file that a killed call left changed. If `Cargo.lock` was changed again after
    /// that call was killed, the new content stays and the saved one is moved to `kept`.
    fn recover(&self) -> Result<(), String> {
        let before = self.folder.join("before");
        if !before.exists() && !self.folder.join("none").exists() {
            return Ok(());
        }
        let _ = fs::remove_file(temp_path(&self.lock_file));
        let lent = fs::read(self.folder.join("lent")).ok();
        let is = self.current();
        // Without `lent`, the call was killed before `mark_prepared`. The file is then restored
        // too, since only cargo writes it in this short time.
        if lent.is_none() || is.is_none() || lent == is {
            self.restore()?;
            print_note("restored Cargo.lock, which a killed call had left changed");
        } else if before.exists() && is != self.saved()? {
            let kept = unused_name(&self.folder, "kept");
            fs::rename(&before, &kept).map_err(|error| error_text("move", &before, &error))?;
            print_note(format_args!(
                "Cargo.lock was changed after a call of `cargo wakeful` was killed, and is kept;\n\
                 its content before that call is in {}",
                kept.display()
            ));
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
                print_note(message);
            }
        }
    }
}

/// A loan that several threads can end. Only the first call of [`end`](Self::end) does so.
#[derive(Clone)]
pub struct SharedLoan {
    state: Arc<Mutex<SharedState>>,
}

struct SharedState {
    loan: Option<LockFileLoan>,
    /// How the loan ended.
    outcome: Result<(), String>,
}

impl SharedLoan {
    pub fn new(loan: LockFileLoan) -> SharedLoan {
        let state = SharedState { loan: Some(loan), outcome: Ok(()) };
        SharedLoan { state: Arc::new(Mutex::new(state)) }
    }

    /// Ends the loan, if no other thread has done so, and returns how it ended.
    pub fn end(&self) -> Result<(), String> {
        let mut state = self.lock();
        if let Some(loan) = state.loan.take() {
            state.outcome = loan.give_back();
        }
        state.outcome.clone()
    }

    fn lock(&self) -> MutexGuard<'_, SharedState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Returns the first of `name`, `name-2`, `name-3` and so on that does not exist.
fn unused_name(folder: &Path, name: &str) -> PathBuf {
    let names = (2..).map(|number| folder.join(format!("{name}-{number}")));
    let mut names = std::iter::once(folder.join(name)).chain(names);
    names.find(|path| !path.exists()).expect("the range of numbers does not end")
}

fn state_dir() -> Result<PathBuf, String> {
    let named = env::var_os("CARGO_HOME").filter(|dir| !dir.is_empty()).map(PathBuf::from);
    let usual = || env::var_os("HOME").map(|home| Path::new(&home).join(".cargo"));
    let home = named.or_else(usual).ok_or("neither CARGO_HOME nor HOME is set")?;
    Ok(home.join("wakeful"))
}

/// Locks the gate. The last call may delete the folder while this one waits; the lock then belongs
/// to a deleted file, so this tries again with a new one.
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

/// Returns whether no other call has a loan. If so, `users` is locked exclusively afterwards. May
/// be called only while holding the gate.
fn is_only_user(users: &File) -> io::Result<bool> {
    match lock(users, libc::LOCK_EX | libc::LOCK_NB) {
        Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(false),
        locked => locked.map(|()| true),
    }
}

fn lock(file: &File, operation: i32) -> io::Result<()> {
    // SAFETY: `flock` accesses no memory of this process, and `file` keeps the descriptor open.
    match unsafe { libc::flock(file.as_raw_fd(), operation) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

/// Copies content, permissions and modification time. At every moment `to` is the complete old or
/// the complete new file.
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

/// Returns the path of the temporary file that is then renamed to `path`. Only the holder of the
/// gate writes one, so a fixed name suffices.
fn temp_path(path: &Path) -> PathBuf {
    path.with_extension("wakeful")
}

fn error_text(verb: &str, path: &Path, error: &io::Error) -> String {
    format!("could not {verb} {}: {error}", path.display())
}
