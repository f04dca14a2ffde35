use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};
use std::{env, process};

use super::{LockFileLoan, SharedLoan, borrow_in};

/// A temporary workspace and home, deleted at the end of the test.
struct TestDirs(PathBuf);

impl TestDirs {
    fn new(test: &str) -> TestDirs {
        let root = env::temp_dir().join(format!("cargo-wakeful-{test}-{}", process::id()));
        fs::create_dir_all(root.join("workspace")).unwrap();
        TestDirs(root)
    }

    fn lock_file(&self) -> PathBuf {
        self.0.join("workspace/Cargo.lock")
    }

    fn home(&self) -> PathBuf {
        self.0.join("home")
    }

    fn borrow(&self) -> LockFileLoan {
        borrow_in(&self.home(), &self.0.join("workspace")).unwrap()
    }

    /// Ends a call as `kill -9` would: its locks are released and nothing else happens.
    fn killed(&self, mut lent: LockFileLoan) {
        lent.is_given_back = true;
    }

    fn left_at_home(&self) -> usize {
        fs::read_dir(self.home()).unwrap().count()
    }
}

impl Drop for TestDirs {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn text(path: &Path) -> String {
    fs::read_to_string(path).unwrap()
}

#[test]
fn contents_permissions_and_time_are_restored() {
    let dirs = TestDirs::new("comes-back");
    let path = dirs.lock_file();
    fs::write(&path, "before").unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).unwrap();
    let time = SystemTime::UNIX_EPOCH + Duration::from_secs(1_000_000);
    fs::File::options().append(true).open(&path).unwrap().set_modified(time).unwrap();

    let mut lent = dirs.borrow();
    fs::write(&path, "patched").unwrap();
    lent.mark_prepared().unwrap();
    lent.give_back().unwrap();

    assert_eq!(text(&path), "before");
    let metadata = fs::metadata(&path).unwrap();
    assert_eq!(metadata.permissions().mode() & 0o777, 0o640);
    assert_eq!(metadata.modified().unwrap(), time);
    assert_eq!(dirs.left_at_home(), 0);
    assert_eq!(fs::read_dir(path.parent().unwrap()).unwrap().count(), 1);
}

#[test]
fn a_missing_file_is_missing_afterwards() {
    let dirs = TestDirs::new("none-left");
    let lent = dirs.borrow();
    fs::write(dirs.lock_file(), "patched").unwrap();
    drop(lent);
    assert!(!dirs.lock_file().exists());
    assert_eq!(dirs.left_at_home(), 0);
}

#[test]
fn an_empty_file_is_not_a_missing_one() {
    let dirs = TestDirs::new("empty");
    fs::write(dirs.lock_file(), "").unwrap();
    let lent = dirs.borrow();
    fs::write(dirs.lock_file(), "patched").unwrap();
    lent.give_back().unwrap();
    assert_eq!(text(&dirs.lock_file()), "");
}

#[test]
fn the_last_of_several_calls_restores_the_file() {
    let dirs = TestDirs::new("last");
    let path = dirs.lock_file();
    fs::write(&path, "before").unwrap();
    let mut first = dirs.borrow();
    fs::write(&path, "patched").unwrap();
    first.mark_prepared().unwrap();
    let mut second = dirs.borrow();
    second.mark_prepared().unwrap();
    first.give_back().unwrap();
    assert_eq!(text(&path), "patched");
    second.give_back().unwrap();
    assert_eq!(text(&path), "before");
}

#[test]
fn the_next_call_restores_the_file_of_a_killed_one() {
    let dirs = TestDirs::new("killed");
    let path = dirs.lock_file();
    fs::write(&path, "before").unwrap();
    let mut lent = dirs.borrow();
    fs::write(&path, "patched").unwrap();
    lent.mark_prepared().unwrap();
    dirs.killed(lent);
    assert_eq!(text(&path), "patched");
    let next = dirs.borrow();
    assert_eq!(text(&path), "before");
    // Killed again, this time before the file was prepared.
    fs::write(&path, "half patched").unwrap();
    dirs.killed(next);
    dirs.borrow().give_back().unwrap();
    assert_eq!(text(&path), "before");
    assert_eq!(dirs.left_at_home(), 0);
}

#[test]
fn a_file_changed_after_a_kill_is_kept_next_to_the_saved_one() {
    let dirs = TestDirs::new("changed");
    let path = dirs.lock_file();
    fs::write(&path, "before").unwrap();
    let mut lent = dirs.borrow();
    fs::write(&path, "patched").unwrap();
    lent.mark_prepared().unwrap();
    let kept = lent.folder.join("kept");
    dirs.killed(lent);
    fs::write(&path, "updated by the user").unwrap();
    dirs.borrow().give_back().unwrap();
    assert_eq!(text(&path), "updated by the user");
    assert_eq!(text(&kept), "before");
}

#[test]
fn a_symbolic_link_is_preserved() {
    let dirs = TestDirs::new("link");
    let real = dirs.0.join("real.lock");
    fs::write(&real, "before").unwrap();
    std::os::unix::fs::symlink(&real, dirs.lock_file()).unwrap();
    let lent = dirs.borrow();
    fs::write(dirs.lock_file(), "patched").unwrap();
    lent.give_back().unwrap();
    assert!(fs::symlink_metadata(dirs.lock_file()).unwrap().is_symlink());
    assert_eq!(text(&real), "before");
}

#[test]
fn a_change_by_another_program_during_a_loan_is_saved() {
    let dirs = TestDirs::new("another");
    let path = dirs.lock_file();
    fs::write(&path, "before").unwrap();
    let mut changed = Vec::new();
    for update in ["first update", "second update"] {
        let mut lent = dirs.borrow();
        fs::write(&path, "patched").unwrap();
        lent.mark_prepared().unwrap();
        let folder = lent.folder.clone();
        fs::write(&path, update).unwrap();
        lent.give_back().unwrap();
        assert_eq!(text(&path), "before");
        changed = vec![folder.join("changed"), folder.join("changed-2")];
    }
    assert_eq!(text(&changed[0]), "first update");
    assert_eq!(text(&changed[1]), "second update");
}

#[test]
fn a_file_that_is_restored_meanwhile_is_no_change() {
    let dirs = TestDirs::new("same");
    fs::write(dirs.lock_file(), "before").unwrap();
    let mut lent = dirs.borrow();
    fs::write(dirs.lock_file(), "patched").unwrap();
    lent.mark_prepared().unwrap();
    fs::write(dirs.lock_file(), "before").unwrap();
    lent.give_back().unwrap();
    assert_eq!(text(&dirs.lock_file()), "before");
    assert_eq!(dirs.left_at_home(), 0);
}

#[test]
fn a_loan_that_is_kept_leaves_the_changed_file() {
    let dirs = TestDirs::new("keep");
    fs::write(dirs.lock_file(), "before").unwrap();
    let lent = dirs.borrow();
    fs::write(dirs.lock_file(), "patched for good").unwrap();
    assert!(lent.is_only_one().unwrap());
    lent.keep();
    assert_eq!(text(&dirs.lock_file()), "patched for good");
    assert_eq!(dirs.left_at_home(), 0);
}

#[test]
fn a_shared_loan_ends_once() {
    let dirs = TestDirs::new("shared");
    fs::write(dirs.lock_file(), "before").unwrap();
    let mut lent = dirs.borrow();
    fs::write(dirs.lock_file(), "patched").unwrap();
    lent.mark_prepared().unwrap();
    let shared = SharedLoan::new(lent);
    shared.clone().end().unwrap();
    assert_eq!(text(&dirs.lock_file()), "before");
    fs::write(dirs.lock_file(), "changed later").unwrap();
    shared.end().unwrap();
    assert_eq!(text(&dirs.lock_file()), "changed later");
}
