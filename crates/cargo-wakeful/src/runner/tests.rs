use std::fs;
use std::sync::mpsc;
use std::{env, process};

use super::{RunnerLink, config_files, is_harmless, mentions_runner, report_built};

#[test]
fn a_runner_goes_on_once_the_loan_is_over_and_later_ones_at_once() {
    let (sender, receiver) = mpsc::channel();
    let link = RunnerLink::new(move || sender.send("over").unwrap()).unwrap();
    let address = link.address().unwrap();
    for _ in 0..2 {
        // SAFETY: `dup` accesses no memory. `report_built` becomes the owner of the result.
        let inherited = unsafe { libc::dup(link.descriptor()) };
        let (_, inode) = address.split_once(':').unwrap();
        report_built(&format!("{inherited}:{inode}")).unwrap();
    }
    assert_eq!(receiver.try_recv(), Ok("over"));
    assert!(receiver.try_recv().is_err(), "the loan ends once");
}

#[test]
fn a_descriptor_that_is_closed_or_is_something_else_is_an_error() {
    assert!(report_built(&format!("{}:1", i32::MAX)).is_err());
    assert!(report_built("0:1").is_err());
    assert!(report_built("").is_err());
}

#[test]
fn the_runner_is_an_option_for_each_target() {
    let link = RunnerLink::new(|| ()).unwrap();
    let options = link.cargo_options(&["a-b-c".to_owned(), "d".to_owned()]).unwrap();
    assert_eq!(options.len(), 4);
    assert!(options[1].starts_with("target.a-b-c.runner=[\""), "{}", options[1]);
}

#[test]
fn a_runner_of_the_user_is_noticed() {
    let folder = env::temp_dir().join(format!("cargo-wakeful-runner-{}", process::id()));
    fs::create_dir_all(folder.join(".cargo")).unwrap();
    fs::create_dir_all(folder.join("member")).unwrap();
    let file = folder.join(".cargo/config.toml");
    fs::write(&file, "[target.'cfg(unix)']\nrunner = 'valgrind'\n").unwrap();
    assert!(config_files(&folder.join("member")).contains(&file));
    assert!(mentions_runner(&file));
    fs::write(&file, "[net]\nretry = 3\n").unwrap();
    assert!(!mentions_runner(&file));
    fs::remove_dir_all(&folder).unwrap();
    assert!(is_harmless("net.retry=3"));
    assert!(!is_harmless("target.x.runner='a'") && !is_harmless("some.toml"));
}
