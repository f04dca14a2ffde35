//! Finds the sockets of programs.
//!
//! A program's folder depends on its own environment: one started by systemd may have no
//! `XDG_RUNTIME_DIR`, where the user's shell has one. So all folders that a program of the user
//! may have chosen are searched. A folder counts only if it belongs to the user and is closed to
//! all others: then only programs of this user have made the sockets in it.

use std::collections::BTreeSet;
use std::env;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

#[cfg(test)]
mod tests;

/// The socket of a process.
#[derive(Debug, Clone, PartialEq)]
pub struct Socket {
    pub path: PathBuf,
    pub pid: u32,
    /// When the process started, in clock ticks since boot.
    pub start: u64,
}

impl Socket {
    fn parse(path: PathBuf) -> Option<Socket> {
        let name = path.file_name()?.to_str()?.strip_suffix(".sock")?;
        let (pid, start) = name.split_once('-')?;
        Some(Socket { pid: pid.parse().ok()?, start: start.parse().ok()?, path })
    }

    /// Returns whether the process that has made the socket still exists.
    pub fn has_process(&self) -> bool {
        start_of(self.pid) == Some(self.start)
    }

    /// Removes the socket of a process that has ended.
    pub fn remove(&self) {
        let _is_gone_already = fs::remove_file(&self.path);
    }
}

/// Returns the sockets of the user's programs, or of all programs if the user is root.
pub fn list() -> Vec<Socket> {
    let user = own_user();
    let mut folders = folders_of(user);
    if user == 0 {
        folders.extend(all_folders());
    }
    let mut sockets: Vec<Socket> = folders.iter().flat_map(|folder| sockets_in(folder)).collect();
    sockets.sort_by_key(|socket| socket.pid);
    sockets
}

/// Returns the socket of a process, or why there is none.
pub fn of_process(pid: u32) -> Result<Socket, String> {
    let Some(start) = start_of(pid) else {
        return Err(format!("there is no process {pid}. `cargo wakeful ps` lists the programs"));
    };
    let owner = fs::metadata(format!("/proc/{pid}")).map_or(own_user(), |process| process.uid());
    if owner != own_user() && own_user() != 0 {
        return Err(format!(
            "process {pid} belongs to user {owner}, and only that user and root may watch it"
        ));
    }
    let environment = environment_of(pid);
    let mut folders = folders_of(owner);
    let runtime_folder = environment.iter().find_map(|line| line.strip_prefix("XDG_RUNTIME_DIR="));
    folders.extend(runtime_folder.map(|folder| Path::new(folder).join("wakeful")));
    let mut sockets =
        folders.iter().filter(|folder| is_private(folder, owner)).flat_map(|it| sockets_in(it));
    if let Some(socket) = sockets.find(|socket| (socket.pid, socket.start) == (pid, start)) {
        return Ok(socket);
    }
    if environment.iter().any(|line| line.starts_with("WAKEFUL_CONSOLE=")) {
        return Err(format!(
            "process {pid} has WAKEFUL_CONSOLE set, but does not listen. Either it is not a \
             program on Wakeful,\nor it has not built a runtime yet, or it has printed to standard \
             error why it cannot listen"
        ));
    }
    Err(format!(
        "process {pid} does not listen, because it runs without WAKEFUL_CONSOLE. Start it with \
         the variable,\nas in `WAKEFUL_CONSOLE=1 ./program`; it has to be a program on Wakeful"
    ))
}

/// Returns when a process started, or `None` if there is no such process.
pub fn start_of(pid: u32) -> Option<u64> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The second field is the program's name in parentheses, which may contain anything.
    let (_, fields) = stat.rsplit_once(')')?;
    fields.split_whitespace().nth(19)?.parse().ok()
}

/// Returns the environment that a process was started with, as far as it may be read.
fn environment_of(pid: u32) -> Vec<String> {
    let bytes = fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
    bytes.split(|&byte| byte == 0).map(|line| String::from_utf8_lossy(line).into_owned()).collect()
}

fn own_user() -> u32 {
    // SAFETY: `geteuid` has no arguments, accesses no memory of this process, and cannot fail.
    unsafe { libc::geteuid() }
}

/// Returns the folders in which programs of this user put their sockets.
fn folders_of(user: u32) -> BTreeSet<PathBuf> {
    let mut folders = vec![
        PathBuf::from(format!("/run/user/{user}/wakeful")),
        PathBuf::from(format!("/tmp/wakeful-{user}")),
    ];
    if user == own_user() {
        folders.extend(env::var_os("XDG_RUNTIME_DIR").map(|it| Path::new(&it).join("wakeful")));
    }
    folders.into_iter().filter(|folder| is_private(folder, user)).collect()
}

/// Returns the folders of all users.
fn all_folders() -> Vec<PathBuf> {
    let users = entries(Path::new("/run/user")).into_iter().map(|folder| folder.join("wakeful"));
    let is_ours = |path: &PathBuf| {
        let name = path.file_name().unwrap_or_default();
        name.to_string_lossy().starts_with("wakeful-")
    };
    let shared = entries(Path::new("/tmp")).into_iter().filter(is_ours);
    let owner = |path: &Path| fs::symlink_metadata(path).map(|folder| folder.uid());
    users.chain(shared).filter(|it| owner(it).is_ok_and(|owner| is_private(it, owner))).collect()
}

/// Returns whether `path` is a folder, and no link, that belongs to `user` alone.
fn is_private(path: &Path, user: u32) -> bool {
    fs::symlink_metadata(path)
        .is_ok_and(|it| it.is_dir() && it.uid() == user && it.mode() & 0o077 == 0)
}

fn sockets_in(folder: &Path) -> Vec<Socket> {
    entries(folder).into_iter().filter_map(Socket::parse).collect()
}

fn entries(folder: &Path) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(folder) else { return Vec::new() };
    entries.flatten().map(|entry| entry.path()).collect()
}
