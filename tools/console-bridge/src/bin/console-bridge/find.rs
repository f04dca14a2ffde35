//! Finds the console sockets of running programs.

use std::collections::BTreeSet;
use std::env;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// A process with a console socket.
#[derive(Debug, Clone, PartialEq)]
pub struct Process {
    /// Its number.
    pub pid: u32,
    /// When it started, in clock ticks since boot. With `pid`, this is never used twice.
    pub start: u64,
    /// Its socket.
    pub path: PathBuf,
}

impl Process {
    fn of_socket(path: PathBuf) -> Option<Process> {
        let name = path.file_name()?.to_str()?.strip_suffix(".sock")?;
        let (pid, start) = name.split_once('-')?;
        Some(Process { pid: pid.parse().ok()?, start: start.parse().ok()?, path })
    }

    /// Returns whether the process still exists.
    pub fn exists(&self) -> bool {
        start_of(self.pid) == Some(self.start)
    }

    /// Returns the last part of the path of the program, or an empty text.
    pub fn name(&self) -> String {
        let program = fs::read_link(format!("/proc/{}/exe", self.pid)).unwrap_or_default();
        program.file_name().unwrap_or_default().to_string_lossy().into_owned()
    }
}

/// Returns the process with this number or name, or the only one there is, or why there is none.
pub fn process(wanted: Option<&str>) -> Result<Process, String> {
    if let Some(pid) = wanted.and_then(|it| it.parse::<u32>().ok()) {
        return of_pid(pid);
    }
    let mut found = processes(user_of("self").unwrap_or_default());
    if let Some(name) = wanted {
        found.retain(|process| process.name() == name);
    }
    let what = wanted.map_or(String::new(), |name| format!(" of the name `{name}`"));
    match (found.len(), found.pop()) {
        (1, Some(process)) => Ok(process),
        (0, _) => Err(format!(
            "there is no program{what} that listens. Start one with `WAKEFUL_CONSOLE=1`; it has to be \
             on Wakeful"
        )),
        (several, _) => Err(format!(
            "there are {several} programs{what} that listen. Name one by its process number; `cargo \
             wakeful ps` lists them"
        )),
    }
}

fn of_pid(pid: u32) -> Result<Process, String> {
    let Some(owner) = user_of(&pid.to_string()) else {
        return Err(format!("there is no process {pid}. `cargo wakeful ps` lists the programs"));
    };
    processes(owner).into_iter().find(|process| process.pid == pid).ok_or_else(|| {
        format!(
            "process {pid} does not listen. Start it with `WAKEFUL_CONSOLE=1`, as the same user; it has \
             to be a program on Wakeful"
        )
    })
}

/// Returns the processes of a user that listen.
fn processes(user: u32) -> Vec<Process> {
    let sockets = folders(user).into_iter().flat_map(|folder| fs::read_dir(folder).ok());
    let paths = sockets.flatten().flatten().map(|entry| entry.path());
    paths.filter_map(Process::of_socket).filter(Process::exists).collect()
}

/// Returns the folders in which programs of this user put their sockets. A folder counts only if it
/// belongs to the user and is closed to all others: then no other user has made the sockets in it.
fn folders(user: u32) -> BTreeSet<PathBuf> {
    let own = env::var_os("XDG_RUNTIME_DIR").map(|folder| Path::new(&folder).join("wakeful"));
    let shared = [format!("/run/user/{user}/wakeful"), format!("/tmp/wakeful-{user}")];
    let is_private = |folder: &PathBuf| {
        fs::symlink_metadata(folder)
            .is_ok_and(|it| it.is_dir() && it.uid() == user && it.mode() & 0o077 == 0)
    };
    own.into_iter().chain(shared.map(PathBuf::from)).filter(is_private).collect()
}

/// Returns the user of a process.
fn user_of(process: &str) -> Option<u32> {
    fs::metadata(format!("/proc/{process}")).ok().map(|folder| folder.uid())
}

/// Returns when a process started.
fn start_of(pid: u32) -> Option<u64> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The second field is the program's name in parentheses, which may contain anything.
    let (_, fields) = stat.rsplit_once(')')?;
    fields.split_whitespace().nth(19)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_socket_names_its_process() {
        let path = PathBuf::from("/run/user/1000/wakeful/47-123.sock");
        let process = Process { pid: 47, start: 123, path: path.clone() };
        assert_eq!(Process::of_socket(path), Some(process));
        for other in ["47.sock", "47-123", "a-1.sock", "1-a.sock"] {
            assert_eq!(Process::of_socket(PathBuf::from(other)), None, "{other}");
        }
    }

    #[test]
    fn a_process_that_does_not_listen_is_an_error() {
        let own = std::process::id().to_string();
        assert!(process(Some(&own)).unwrap_err().contains("does not listen"));
        assert!(process(Some("4294967295")).unwrap_err().contains("there is no process"));
        assert!(process(Some("no such program")).unwrap_err().contains("`no such program`"));
    }
}
