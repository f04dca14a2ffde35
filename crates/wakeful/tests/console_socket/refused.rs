//! Where the socket is, which users may connect, and when there is none.

use crate::program::{Client, Folder, Program, is_program, ready};
use crate::{first_bytes, runtimes};
use std::fs::{self, Permissions};
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown, symlink};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

/// A user that is not root.
const NOBODY: u32 = 65_534;

/// The socket to which the program of a test is to connect.
const TO: &str = "WAKEFUL_TEST_SOCKET";

fn is_root() -> bool {
    let is_root = fs::metadata("/proc/self").unwrap().uid() == 0;
    if !is_root {
        println!("not tested: only root can become another user");
    }
    is_root
}

/// Copies this test program to where other users can run it.
fn copy_program(folder: &Folder) -> PathBuf {
    let copy = folder.path().join("program");
    // By another process: a child that a test starts meanwhile would inherit the descriptor, and a
    // file that is open for writing cannot be run.
    let original = std::env::current_exe().unwrap();
    assert!(Command::new("cp").arg(original).arg(&copy).status().unwrap().success());
    fs::set_permissions(&copy, Permissions::from_mode(0o755)).unwrap();
    fs::set_permissions(folder.path(), Permissions::from_mode(0o755)).unwrap();
    copy
}

fn idle() {
    let _runtimes = runtimes();
    ready();
}

#[test]
fn only_the_user_can_reach_the_socket_and_it_is_removed_at_the_end() {
    if is_program() {
        return idle();
    }
    let folder = Folder::new();
    let test = "refused::only_the_user_can_reach_the_socket_and_it_is_removed_at_the_end";
    let program = Program::start(test, &folder);
    let mode = |path: &PathBuf| fs::metadata(path).unwrap().mode() & 0o7777;
    let sockets = folder.sockets();
    assert_eq!(sockets.len(), 1);
    assert_eq!((mode(&folder.sockets_folder()), mode(&sockets[0])), (0o700, 0o600));
    assert_eq!(program.end(), "");
    assert_eq!(folder.sockets().len(), 0);
}

#[test]
fn sockets_of_programs_that_crashed_are_removed() {
    if is_program() {
        idle();
        std::process::exit(0);
    }
    let folder = Folder::new();
    let test = "refused::sockets_of_programs_that_crashed_are_removed";
    let mut crashed = Program::start(test, &folder);
    crashed.child.kill().unwrap();
    crashed.child.wait().unwrap();
    let left = folder.sockets();
    assert_eq!(left.len(), 1);
    // A socket that is open, whatever its name says, and files that are none.
    let alive = folder.sockets_folder().join("1-1.sock");
    let _listener = UnixListener::bind(&alive).unwrap();
    let file = folder.sockets_folder().join("2-2.sock");
    fs::write(&file, "").unwrap();
    let program = Program::start(test, &folder);
    let own = folder.sockets_folder().join(format!(
        "{}-{}.sock",
        program.child.id(),
        Client::connect_to(
            folder.sockets().iter().find(|path| **path != alive && **path != file).unwrap()
        )
        .hello["start"]
            .text()
    ));
    let mut expected = vec![alive.clone(), file.clone(), own];
    expected.sort();
    assert_eq!(folder.sockets(), expected);
    program.end();
    let mut expected = vec![alive, file];
    expected.sort();
    assert_eq!(folder.sockets(), expected);
}

#[test]
fn folders_that_others_could_change_are_refused() {
    if is_program() {
        return idle();
    }
    let test = "refused::folders_that_others_could_change_are_refused";
    let check = |folder: &Folder, reason: &str| {
        let errors = Program::start(test, folder).end();
        assert_eq!(errors.lines().count(), 1, "{errors}");
        assert!(errors.starts_with("wakeful: the console has no socket: "), "{errors}");
        assert!(errors.contains(reason) && errors.contains("XDG_RUNTIME_DIR"), "{errors}");
        let end = folder.sockets_folder();
        let is_empty = fs::read_dir(end).map_or(true, |mut entries| entries.next().is_none());
        assert!(is_empty, "a socket was made");
    };
    let folder = Folder::new();
    let elsewhere = Folder::new();
    symlink(elsewhere.path(), folder.sockets_folder()).unwrap();
    check(&folder, "symbolic link");
    let folder = Folder::new();
    fs::write(folder.sockets_folder(), "").unwrap();
    check(&folder, "is no folder");
    for mode in [0o755, 0o770, 0o701] {
        let folder = Folder::new();
        fs::create_dir(folder.sockets_folder()).unwrap();
        fs::set_permissions(folder.sockets_folder(), Permissions::from_mode(mode)).unwrap();
        check(&folder, "lets other users in");
    }
    if is_root() {
        let folder = Folder::new();
        fs::create_dir(folder.sockets_folder()).unwrap();
        chown(folder.sockets_folder(), Some(NOBODY), None).unwrap();
        check(&folder, "belongs to another user");
        let folder = Folder::new();
        chown(folder.path(), Some(NOBODY), None).unwrap();
        check(&folder, "belongs to another user");
        assert!(!folder.sockets_folder().exists(), "a folder was made in that of another user");
    }
}

#[test]
fn other_users_are_disconnected_and_root_is_not() {
    let test = "refused::other_users_are_disconnected_and_root_is_not";
    if is_program() {
        return match std::env::var_os(TO) {
            None => idle(),
            Some(socket) => {
                let bytes = first_bytes(UnixStream::connect(socket).unwrap());
                assert_eq!(bytes, b"", "the program answers a client of another user");
            }
        };
    }
    if !is_root() {
        return;
    }
    // As if the modes were of no use.
    let folder = Folder::new();
    let copy = copy_program(&folder);
    let program = Program::start(test, &folder);
    let socket = folder.sockets().remove(0);
    fs::set_permissions(folder.sockets_folder(), Permissions::from_mode(0o755)).unwrap();
    fs::set_permissions(&socket, Permissions::from_mode(0o666)).unwrap();
    let client = |user: &str| {
        let mut command = Command::new("setpriv");
        command.args(["--reuid", user, "--regid", user, "--clear-groups"]).arg(&copy);
        command.args(["--exact", test, "--nocapture"]);
        command.env("WAKEFUL_TEST_PART", test).env(TO, &socket).output().unwrap()
    };
    let output = client(&NOBODY.to_string());
    assert!(output.status.success(), "{output:?}");
    Client::connect(&folder).ask(r#"{"get":"summary"}"#);
    program.end();

    let folder = Folder::new();
    let copy = copy_program(&folder);
    chown(folder.path(), Some(NOBODY), None).unwrap();
    let program = Program::start_with(test, &folder, |command| {
        let run = |program: &std::ffi::OsStr| {
            let mut run = Command::new("setpriv");
            let user = NOBODY.to_string();
            run.args(["--reuid", &user, "--regid", &user, "--clear-groups"]).arg(program);
            run
        };
        Program::replace(command, run(copy.as_os_str()));
        command.env("WAKEFUL_CONSOLE", "1");
    });
    assert_eq!(fs::metadata(&folder.sockets()[0]).unwrap().uid(), NOBODY);
    Client::connect(&folder).ask(r#"{"get":"summary"}"#);
    program.end();
}

#[test]
fn programs_with_more_rights_than_their_user_have_no_socket() {
    if is_program() {
        return idle();
    }
    if !is_root() {
        return;
    }
    let folder = Folder::new();
    let copy = copy_program(&folder);
    chown(folder.path(), Some(NOBODY), None).unwrap();
    chown(&copy, Some(NOBODY), None).unwrap();
    fs::set_permissions(&copy, Permissions::from_mode(0o4755)).unwrap();
    let test = "refused::programs_with_more_rights_than_their_user_have_no_socket";
    let program = Program::start_with(test, &folder, |command| {
        Program::replace(command, Command::new(&copy));
        command.env("WAKEFUL_CONSOLE", "1");
    });
    let status = fs::read_to_string(format!("/proc/{}/status", program.child.id())).unwrap();
    let users = status.lines().find(|line| line.starts_with("Uid:")).unwrap().to_owned();
    if users.split_whitespace().nth(2) == Some(&*NOBODY.to_string()) {
        assert!(!folder.sockets_folder().exists(), "a program with {users} has a socket");
    } else {
        println!("not tested: set-user-id has no effect in the folder for temporary files");
    }
    program.end();
}

#[test]
fn without_the_variable_there_is_nothing() {
    if is_program() {
        let count = |what: &str| fs::read_dir(format!("/proc/self/{what}")).unwrap().count();
        // What the process keeps for all runtimes is made with the first one.
        drop(runtimes());
        let before = (count("fd"), count("task"));
        let runtimes = runtimes();
        for thread in fs::read_dir("/proc/self/task").unwrap() {
            // One of the runtime before may end meanwhile.
            let Ok(name) = fs::read_to_string(thread.unwrap().path().join("comm")) else {
                continue;
            };
            assert!(!name.starts_with("wakeful-console"), "there is a thread {name}");
        }
        ready();
        drop(runtimes);
        // Threads that have ended may be listed for a moment.
        for _ in 0..1000 {
            if before == (count("fd"), count("task")) {
                return;
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        panic!("{:?} descriptors and threads instead of {before:?}", (count("fd"), count("task")));
    }
    let test = "refused::without_the_variable_there_is_nothing";
    for value in [None, Some(""), Some("0")] {
        let folder = Folder::new();
        let program = Program::start_with(test, &folder, |command| {
            if let Some(value) = value {
                command.env("WAKEFUL_CONSOLE", value);
            }
        });
        let process = program.child.id();
        let sockets = fs::read_to_string(format!("/proc/{process}/net/unix")).unwrap();
        assert!(!sockets.contains(folder.path().to_str().unwrap()));
        assert!(!folder.sockets_folder().exists());
        assert_eq!(program.end(), "");
    }
}
