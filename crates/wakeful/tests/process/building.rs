//! The settings of a command.

use crate::support::{current_thread, panic_of};
use std::collections::HashMap;
use std::io::ErrorKind;
use std::panic::AssertUnwindSafe;
use wakeful::process::{Child, ChildStderr, ChildStdin, ChildStdout, Command};
use wakeful::runtime::Builder;

/// Runs `command` and returns its standard output.
fn output_of(command: &mut Command) -> String {
    let output = current_thread().block_on(async { command.output().await.unwrap() });
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout).unwrap()
}

fn shell(script: &str) -> Command {
    let mut command = Command::new("sh");
    command.arg("-c").arg(script);
    command
}

#[test]
fn arguments_are_passed_unchanged() {
    let mut command = Command::new("printf");
    command.arg("%s|").args(["a b", "$HOME", "\"", ""]);
    assert_eq!(output_of(&mut command), "a b|$HOME|\"||");
    assert_eq!(output_of(&mut command), "a b|$HOME|\"||", "a command can be used again");
    assert_eq!(output_of(shell("echo $0").arg0("another")), "another\n");
}

#[test]
fn the_environment_can_be_set_and_cleared() {
    let mut command = shell("echo $ONE,$TWO,$THREE,$HOME");
    command.env("ONE", "1").envs(HashMap::from([("TWO", "2"), ("THREE", "3")]));
    command.env_remove("TWO").env_remove("HOME");
    assert_eq!(output_of(&mut command), "1,,3,\n");
    let path = std::env::var_os("PATH").unwrap();
    let mut command = Command::new("env");
    command.env_clear().env("PATH", path).env("ONLY", "this");
    assert_eq!(
        output_of(&mut command).lines().filter(|line| !line.starts_with("PATH=")).count(),
        1
    );
}

#[test]
fn the_working_directory_can_be_set() {
    assert_eq!(output_of(Command::new("pwd").current_dir("/")), "/\n");
}

#[test]
fn a_child_can_have_its_own_process_group() {
    let group = output_of(shell("ps -o pgid= -p $$; echo $$").process_group(0));
    let numbers: Vec<_> = group.split_whitespace().collect();
    assert_eq!(numbers[0], numbers[1]);
}

#[test]
fn a_child_can_run_as_another_user() {
    // SAFETY: these calls only return integers.
    let (user, group) = unsafe { (libc::getuid(), libc::getgid()) };
    // Only the superuser may change the ids; other users can only set their own.
    let (user, group) = if user == 0 { (12345, 23456) } else { (user, group) };
    let mut command = shell("id -u; id -g");
    command.uid(user).gid(group).current_dir("/");
    assert_eq!(output_of(&mut command), format!("{user}\n{group}\n"));
}

#[test]
fn pre_exec_runs_before_the_program() {
    let mut command = shell("umask");
    // SAFETY: `umask` is async-signal-safe, so it may be called between `fork` and `exec`.
    unsafe {
        command.pre_exec(|| {
            libc::umask(0o123);
            Ok(())
        });
    }
    assert_eq!(output_of(&mut command).trim().trim_start_matches('0'), "123");

    let mut command = Command::new("true");
    // SAFETY: the closure only creates an error from a number, which does not allocate.
    unsafe { command.pre_exec(|| Err(std::io::Error::from_raw_os_error(libc::ERANGE))) };
    let error = current_thread().block_on(async { command.spawn().unwrap_err() });
    assert_eq!(error.raw_os_error(), Some(libc::ERANGE));
}

#[test]
fn a_command_converts_from_and_to_std() {
    let mut command = Command::from(std::process::Command::new("echo"));
    assert!(!command.get_kill_on_drop());
    assert!(command.kill_on_drop(true).get_kill_on_drop());
    command.as_std_mut().arg("hi");
    assert_eq!(command.as_std().get_program(), "echo");
    assert_eq!(command.as_std().get_args().collect::<Vec<_>>(), ["hi"]);
    assert!(format!("{command:?}").contains("echo"));
    assert_eq!(command.into_std().output().unwrap().stdout, b"hi\n");
}

#[test]
fn spawn_with_starts_the_child_with_a_function() {
    current_thread().block_on(async {
        let mut command = Command::new("false");
        let mut child = command.spawn_with(|_| std::process::Command::new("true").spawn()).unwrap();
        assert!(child.wait().await.unwrap().success());
        let refused = command.spawn_with(|_| Err(ErrorKind::Unsupported.into())).unwrap_err();
        assert_eq!(refused.kind(), ErrorKind::Unsupported);
    });
}

#[test]
fn a_missing_program_is_an_error() {
    current_thread().block_on(async {
        let error = Command::new("/no/such/program").spawn().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::NotFound);
        let error = Command::new("/no/such/program").status().await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::NotFound);
        let error = Command::new("/").output().await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::PermissionDenied);
    });
}

#[test]
fn a_command_starts_immediately_even_if_it_is_not_awaited() {
    let (mut reader, writer) = std::os::unix::net::UnixStream::pair().unwrap();
    current_thread().block_on(async {
        let mut command = Command::new("echo");
        command.arg("started").stdout(std::os::fd::OwnedFd::from(writer));
        let _not_awaited = command.status();
        drop(command);
        let mut text = String::new();
        std::io::Read::read_to_string(&mut reader, &mut text).unwrap();
        assert_eq!(text, "started\n");
    });
}

#[test]
fn without_io_or_a_runtime_spawn_panics_and_starts_nothing() {
    let start = || {
        let mut command = Command::new("true");
        drop(command.spawn_with(|_| unreachable!("a process must not be started")));
    };
    let (text, file) = panic_of(start);
    assert_eq!(file, file!());
    assert!(text.contains("`Command::spawn` called"), "{text}");
    assert!(text.contains("no runtime on this thread"), "{text}");
    for mut builder in [Builder::new_current_thread(), Builder::new_multi_thread()] {
        let runtime = builder.build().unwrap();
        let (text, file) = runtime.block_on(async { panic_of(start) });
        assert_eq!(file, file!());
        assert!(text.contains("`Command::spawn` called"), "{text}");
        assert!(text.contains("`enable_io`"), "{text}");
        let calls: [fn(); 3] = [
            || drop(Command::new("true").spawn()),
            || drop(Command::new("true").status()),
            || drop(Command::new("true").output()),
        ];
        for call in calls {
            let (_, file) = runtime.block_on(async { panic_of(AssertUnwindSafe(call)) });
            assert_eq!(file, file!());
        }
        let runtime = builder.enable_io().build().unwrap();
        runtime.block_on(async { Command::new("true").status().await.unwrap() });
    }
}

#[test]
fn the_types_are_send_and_sync() {
    fn is_send_sync_unpin<T: Send + Sync + Unpin>() {}
    fn is_send_sync<T: Send + Sync>(_: &T) {}
    is_send_sync_unpin::<Child>();
    is_send_sync_unpin::<ChildStderr>();
    is_send_sync_unpin::<ChildStdin>();
    is_send_sync_unpin::<ChildStdout>();
    is_send_sync_unpin::<Command>();
    current_thread().block_on(async {
        let mut child = Command::new("true").spawn().unwrap();
        is_send_sync(&child.wait());
        is_send_sync(&child.kill());
        is_send_sync(&child.wait_with_output());
    });
}
