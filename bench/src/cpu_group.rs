//! A cgroup that limits the CPU time of a sample, as containers do.
//!
//! The group is made at the root of its hierarchy, which usually only root may do. The kernel's
//! documents describe the files: `admin-guide/cgroup-v2.rst`, and for version 1
//! `scheduler/sched-bwc.rst`.

use std::fs::{self, File};
use std::io::{self, Write};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread;
use std::time::Duration;

/// The limit: this much CPU time in each period, in microseconds. It is a fifth of a CPU.
const QUOTA_US: u32 = 20_000;
const PERIOD_US: u32 = 100_000;

/// The process that makes a group appends its number.
const NAME_PREFIX: &str = "wakeful-bench-";

/// The file with the members of a group. A process that writes 0 to it becomes a member.
const MEMBERS: &str = "cgroup.procs";

/// The file of a version 2 group that lists the controllers of the groups in it.
const SWITCHES: &str = "cgroup.subtree_control";

/// How often removing a group is tried, and how far apart: its last process may just be ending.
const REMOVE_TRIES: u32 = 50;
const REMOVE_TRIES_APART: Duration = Duration::from_millis(10);

/// A group with a CPU quota. It is removed when this is dropped.
pub struct CpuGroup {
    folder: PathBuf,
}

impl CpuGroup {
    /// Makes a group, or returns why that is impossible.
    pub fn make() -> Result<CpuGroup, String> {
        Version::V2.make_group().or_else(|not_v2| {
            let v1 = Version::V1.make_group();
            v1.map_err(|not_v1| format!("cgroup v2: {not_v2}; cgroup v1: {not_v1}"))
        })
    }

    /// Makes the process that the command starts a member, before it runs its program.
    pub fn admit(&self, command: &mut Command) -> io::Result<()> {
        let mut members = File::options().write(true).open(self.folder.join(MEMBERS))?;
        let join = move || members.write_all(b"0");
        // SAFETY: between fork and exec, `join` makes only the system call `write`, on a descriptor
        // that it owns. It neither allocates nor takes a lock.
        unsafe { command.pre_exec(join) };
        Ok(())
    }
}

impl Drop for CpuGroup {
    fn drop(&mut self) {
        for _ in 0..REMOVE_TRIES {
            if fs::remove_dir(&self.folder).is_ok() {
                return;
            }
            thread::sleep(REMOVE_TRIES_APART);
        }
        eprintln!("cannot remove the cgroup {}", self.folder.display());
    }
}

/// Moves this process out of such a group, if it is in one. Called by a load generator, which a
/// limited process has started.
pub fn leave() -> io::Result<()> {
    let own_groups = fs::read_to_string("/proc/self/cgroup")?;
    for version in [Version::V1, Version::V2] {
        let is_member = version
            .own_group(&own_groups)
            .is_some_and(|group| group.trim_start_matches('/').starts_with(NAME_PREFIX));
        if is_member {
            let root = version.root().ok_or(io::ErrorKind::NotFound)?;
            fs::write(root.join(MEMBERS), "0")?;
        }
    }
    Ok(())
}

#[derive(Clone, Copy, PartialEq)]
enum Version {
    V1,
    V2,
}

impl Version {
    fn make_group(self) -> Result<CpuGroup, String> {
        let root = self.root().ok_or("no hierarchy with the cpu controller is mounted")?;
        remove_left_over(&root);
        let folder = root.join(format!("{NAME_PREFIX}{}", std::process::id()));
        self.limit_new_group(&root, &folder)
            .map_err(|e| format!("cannot make a group in {}: {e}", root.display()))
    }

    fn limit_new_group(self, root: &Path, folder: &Path) -> io::Result<CpuGroup> {
        if self == Version::V2 {
            switch_on_cpu(root)?;
        }
        fs::create_dir(folder)?;
        // Removes the folder again if it cannot be limited.
        let group = CpuGroup { folder: folder.to_owned() };
        for (file, limit) in self.limits() {
            fs::write(folder.join(file), limit)?;
        }
        Ok(group)
    }

    /// Returns the files that limit a group, and their contents.
    fn limits(self) -> Vec<(&'static str, String)> {
        match self {
            Version::V1 => vec![
                ("cpu.cfs_period_us", PERIOD_US.to_string()),
                ("cpu.cfs_quota_us", QUOTA_US.to_string()),
            ],
            Version::V2 => vec![("cpu.max", format!("{QUOTA_US} {PERIOD_US}"))],
        }
    }

    /// Returns where the hierarchy with the CPU controller is mounted.
    fn root(self) -> Option<PathBuf> {
        let root = self.mount_point(&fs::read_to_string("/proc/self/mounts").ok()?)?;
        let has_cpu = match self {
            Version::V1 => true,
            Version::V2 => lists_cpu(&fs::read_to_string(root.join("cgroup.controllers")).ok()?),
        };
        has_cpu.then_some(root)
    }

    fn mount_point(self, mounts: &str) -> Option<PathBuf> {
        let point = |line: &str| {
            let mut fields = line.split(' ').skip(1);
            let (point, kind, options) = (fields.next()?, fields.next()?, fields.next()?);
            let is_wanted = match self {
                Version::V1 => kind == "cgroup" && options.split(',').any(|option| option == "cpu"),
                Version::V2 => kind == "cgroup2",
            };
            is_wanted.then(|| PathBuf::from(point))
        };
        mounts.lines().find_map(point)
    }

    /// Returns the group of the process whose `/proc/PID/cgroup` this is.
    fn own_group(self, groups: &str) -> Option<&str> {
        groups.lines().find_map(|line| {
            let (controllers, group) = line.split_once(':')?.1.split_once(':')?;
            let is_wanted = match self {
                Version::V1 => controllers.split(',').any(|controller| controller == "cpu"),
                Version::V2 => controllers.is_empty(),
            };
            is_wanted.then_some(group)
        })
    }
}

/// Switches the CPU controller on for groups in this one. It stays on, which limits nothing.
fn switch_on_cpu(root: &Path) -> io::Result<()> {
    let switches = root.join(SWITCHES);
    if lists_cpu(&fs::read_to_string(&switches)?) {
        return Ok(());
    }
    fs::write(switches, "+cpu")
}

fn lists_cpu(controllers: &str) -> bool {
    controllers.split_whitespace().any(|controller| controller == "cpu")
}

/// Removes the groups of processes that were killed before they could.
fn remove_left_over(root: &Path) {
    let Ok(entries) = fs::read_dir(root) else { return };
    for entry in entries.flatten() {
        let name = entry.file_name();
        let maker = name.to_str().and_then(|name| name.strip_prefix(NAME_PREFIX));
        if maker.is_some_and(|pid| !Path::new("/proc").join(pid).exists()) {
            // A group that still has members stays.
            let _ = fs::remove_dir(entry.path());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MOUNTS: &str = "proc /proc proc rw 0 0\n\
                          cgroup /groups/pids cgroup rw,relatime,pids 0 0\n\
                          cgroup /groups/cpu cgroup rw,relatime,cpuacct,cpu 0 0\n\
                          cgroup2 /groups/unified cgroup2 rw,relatime 0 0\n";

    #[test]
    fn the_hierarchies_are_found() {
        let points = [Version::V1, Version::V2].map(|version| version.mount_point(MOUNTS));
        assert_eq!(points, [Some("/groups/cpu".into()), Some("/groups/unified".into())]);
        assert_eq!(Version::V2.mount_point("proc /proc proc rw 0 0\n"), None);
    }

    #[test]
    fn the_own_group_is_found() {
        let groups = "3:cpuset:/a\n2:cpu,cpuacct:/b\n0::/c/d\n";
        assert_eq!(Version::V1.own_group(groups), Some("/b"));
        assert_eq!(Version::V2.own_group(groups), Some("/c/d"));
        assert_eq!(Version::V2.own_group("2:cpu:/b\n"), None);
    }

    #[test]
    fn limits_are_written_as_each_version_wants_them() {
        let root = std::env::temp_dir().join(format!("wakeful-bench-test-{}", std::process::id()));
        fs::create_dir(&root).unwrap();
        fs::write(root.join(SWITCHES), "memory\n").unwrap();
        let written = |version: Version, name: &str| {
            let folder = root.join(name);
            let group = version.limit_new_group(&root, &folder).unwrap();
            let contents = |(file, _)| fs::read_to_string(folder.join(file)).unwrap();
            let written = version.limits().into_iter().map(contents).collect::<Vec<String>>();
            // A real group is removed with its files.
            fs::remove_dir_all(&folder).unwrap();
            fs::create_dir(&folder).unwrap();
            drop(group);
            assert!(!folder.exists());
            written
        };
        assert_eq!(written(Version::V1, "v1"), ["100000", "20000"]);
        assert_eq!(written(Version::V2, "v2"), ["20000 100000"]);
        assert_eq!(fs::read_to_string(root.join(SWITCHES)).unwrap(), "+cpu");
        fs::remove_dir_all(root).unwrap();
    }

    #[test]
    fn a_process_is_admitted_where_the_machine_permits_groups() {
        let group = match CpuGroup::make() {
            Ok(group) => group,
            Err(why) => return println!("not tested: {why}"),
        };
        let folder = group.folder.clone();
        let mut command = Command::new("cat");
        command.arg("/proc/self/cgroup");
        group.admit(&mut command).unwrap();
        let output = command.output().unwrap();
        let groups = String::from_utf8(output.stdout).unwrap();
        assert!(groups.contains(&format!("{NAME_PREFIX}{}", std::process::id())), "{groups}");
        drop(group);
        assert!(!folder.exists());
    }
}
