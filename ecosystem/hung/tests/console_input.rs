//! What the console is given, and when, does not matter: it answers with a line or with silence, and
//! the program goes on.

#![cfg(target_os = "linux")]

use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::Command;
use std::time::Duration;
use std::{fs, thread};

use driver::{CONSOLE, CONSOLE_THREAD, DUMP_BEGINS, DUMP_ENDS, DUMP_PATH, Program};

const HUNG: &str = env!("CARGO_BIN_EXE_hung");

const FLAVORS: [&str; 2] = ["mt", "ct"];

/// Long enough for a second dump to show up that should not.
const A_WHILE: Duration = Duration::from_secs(1);

fn start(name: &str, flavor: &str, variables: &[(&str, &str)]) -> Program {
    Program::start(HUNG, &[name, "--flavor", flavor], variables)
}

#[test]
fn dump_path_that_cannot_be_written() {
    let paths =
        ["/nonexistent/dump", "/", "/proc/version", "/dev/full", "no\u{1}such\nfolder/dump"];
    for path in paths {
        let mut program = start("relock", "mt", &[(CONSOLE, "1"), (DUMP_PATH, path)]);
        for _ in 0..2 {
            let seen = program.errors.get().len();
            program.signal(libc::SIGQUIT);
            program.errors.wait_until("message", |lines| lines.len() > seen);
            thread::sleep(A_WHILE);
            program.assert_alive();
        }
        let said = program.said();
        assert!(!said.contains("panicked"), "{said}");
        let names_it = |line: &&String| {
            line.starts_with(&format!(
                "wakeful: cannot write to {path:?}, the file that {DUMP_PATH}"
            ))
        };
        let errors = program.errors.get();
        // A dump for each signal, with the reason why it is not in the file.
        assert_eq!(errors.iter().filter(names_it).count(), 2, "{path:?}: {said}");
        let ends = errors.iter().filter(|line| *line == DUMP_ENDS).count();
        assert_eq!(ends, 2, "{path:?}: {said}");
    }
}

#[test]
fn variable_that_means_nothing() {
    for value in ["yes please", "0", "", "watch,nonsense"] {
        let mut program = start("relock", "mt", &[(CONSOLE, value)]);
        let errors = program.errors.get();
        assert!(errors.len() <= 1, "{value:?}: {errors:?}");
        assert!(errors.iter().all(|line| line.starts_with("wakeful: ")), "{value:?}: {errors:?}");
        program.assert_alive();
    }
}

#[test]
fn two_runtimes() {
    for flavor in FLAVORS {
        for variable in ["1", "watch"] {
            let program = start("two_runtimes", flavor, &[(CONSOLE, variable)]);
            program.output.wait_until("two deadlocks", |lines| lines.len() == 2);
            program.wait_until_settled();
            let dump = program.dump();
            let begun = dump.lines.iter().filter(|line| line.starts_with(DUMP_BEGINS)).count();
            let verdicts = dump.verdicts().expect("it hangs");
            assert_eq!(begun, 1, "{verdicts}");
            let has = |part: &str| assert!(verdicts.contains(part), "no {part:?} in {verdicts}");
            match variable {
                "1" => {
                    ["  1. deadlock (certain)", "waits for mutex 1", "waits for mutex 2"].map(has)
                }
                _ => ["  1. self-deadlock", "  2. self-deadlock (certain)", "held by itself"]
                    .map(has),
            };
            assert_eq!(program.threads().iter().filter(|name| *name == CONSOLE_THREAD).count(), 1);
        }
    }
}

#[test]
fn signals_while_runtimes_shut_down() {
    for flavor in FLAVORS {
        for variable in ["1", "watch"] {
            let mut program = start("shuts_down", flavor, &[(CONSOLE, variable)]);
            let status = loop {
                if let Some(status) = program.try_status() {
                    break status;
                }
                program.signal(libc::SIGQUIT);
                thread::sleep(Duration::from_millis(1));
                let errors = program.errors.get();
                if errors.iter().filter(|line| line.starts_with(DUMP_ENDS)).count() >= 5 {
                    program.close_input();
                }
            };
            let said = program.said();
            assert!(status.success(), "{status}\n{said}");
            assert!(!said.contains("panicked"), "{said}");
            assert_eq!(program.output.get(), ["ready", "done"]);
        }
    }
}

#[test]
fn listener_of_the_program() {
    for name in ["own_listener", "own_handler"] {
        for flavor in FLAVORS {
            let mut program = start(name, flavor, &[(CONSOLE, "1")]);
            for number in 1..=3 {
                program.dump();
                program.output.wait_until("its own signal", |lines| lines.len() == number + 1);
            }
            thread::sleep(A_WHILE);
            assert_eq!(program.output.count("tick"), 3, "{name} {flavor}");
            program.assert_alive();
        }
    }
}

/// A terminal sends the signal to the whole process group. The fork shares the console's
/// descriptors, but not its thread.
#[test]
fn fork_that_goes_on() {
    for flavor in FLAVORS {
        let mut command = Command::new(HUNG);
        command.args(["forks", "--flavor", flavor]).process_group(0);
        let mut program = Program::spawn(&mut command, &[(CONSOLE, "1")]);
        program.output.wait_until("ready", |lines| !lines.is_empty());
        program.signal_group(libc::SIGQUIT);
        program
            .errors
            .wait_until(DUMP_ENDS, |lines| lines.iter().any(|line| line.starts_with(DUMP_ENDS)));
        program.output.wait_until("end of the fork", |lines| lines.len() == 2);
        thread::sleep(A_WHILE);
        let errors = program.errors.get();
        let dumps = errors.iter().filter(|line| line.starts_with(DUMP_BEGINS)).count();
        assert_eq!(dumps, 1, "{}", errors.join("\n"));
        // As always if nothing listens for the signal, or not at all.
        let end = program.output.get().remove(1);
        assert!(["child exited with 7", "child ended by signal 3"].contains(&&*end), "{end}");
        program.assert_alive();
    }
}

/// What is started by a program gets nothing of the console: no descriptor, no blocked or ignored
/// signal.
#[test]
fn children_inherit_nothing() {
    for flavor in FLAVORS {
        let told = |variables: &[(&str, &str)]| {
            let mut program = start("children", flavor, variables);
            assert!(program.status().success(), "{}", program.said());
            program.output.wait_until("done", |lines| lines.iter().any(|line| line == "done"))
        };
        let without = told(&[]);
        assert!(without.len() >= 5, "{without:?}");
        assert_eq!(told(&[(CONSOLE, "1")]), without);
        assert_eq!(told(&[(CONSOLE, "watch")]), without);
    }
}

#[test]
fn nothing_is_there_without_the_variable() {
    for flavor in FLAVORS {
        let without = Footprint::of(&start("relock", flavor, &[]));
        let with = Footprint::of(&start("relock", flavor, &[(CONSOLE, "1")]));
        assert!(with.threads.contains(&CONSOLE_THREAD.to_owned()), "{with:?}");
        assert!(with.catches_quit, "{with:?}");
        assert!(!without.threads.contains(&CONSOLE_THREAD.to_owned()), "{without:?}");
        assert!(!without.catches_quit, "{without:?}");
        assert_eq!(without.threads.len() + 1, with.threads.len(), "{without:?} {with:?}");
        // The console has a pair of sockets; the runtime has none.
        let is_socket = |kind: &&String| *kind == "socket";
        assert!(!without.descriptors.iter().any(|kind| is_socket(&kind)), "{without:?}");
        let others = with.descriptors.iter().filter(|kind| !is_socket(kind));
        assert!(others.eq(&without.descriptors), "{without:?} {with:?}");
    }
}

/// A program with more rights than its user must not write files or handle signals because of the
/// user's environment.
#[test]
fn set_user_id_program_ignores_the_variables() {
    // SAFETY: the call accesses no memory.
    if unsafe { libc::geteuid() } != 0 {
        println!("skipped: only root can make a program that runs as root for another user");
        return;
    }
    let folder = std::env::temp_dir().join(format!("wakeful-hung-{}", std::process::id()));
    // Another user has to be able to run it, and to write there.
    fs::create_dir(&folder).unwrap();
    fs::set_permissions(&folder, Permissions::from_mode(0o777)).unwrap();
    let copy = folder.join("hung");
    // By another process: a child that a test starts meanwhile would inherit the descriptor, and a
    // file that is open for writing cannot be run.
    assert!(Command::new("cp").arg(HUNG).arg(&copy).status().unwrap().success());
    let dumps = folder.join("dumps");
    let variables = [
        (CONSOLE, "watch,20ms"),
        ("WAKEFUL_DEADLOCK_REPORT", "50ms"),
        (DUMP_PATH, dumps.to_str().unwrap()),
    ];
    let start = |mode, flavor: &str| {
        fs::set_permissions(&copy, Permissions::from_mode(mode)).unwrap();
        let mut command = Command::new("setpriv");
        command.args(["--reuid", "65534", "--clear-groups"]).arg(&copy);
        let program = Program::spawn(command.args(["relock", "--flavor", flavor]), &variables);
        program.output.wait_until("ready", |lines| !lines.is_empty());
        program
    };
    for flavor in FLAVORS {
        // Without the mode bit, the same command has a console.
        let ordinary = start(0o755, flavor);
        assert!(Footprint::of(&ordinary).threads.contains(&CONSOLE_THREAD.to_owned()));
        while !dumps.exists() {
            thread::sleep(Duration::from_millis(10));
        }
        drop(ordinary);
        fs::remove_file(&dumps).unwrap();

        let mut program = start(0o4755, flavor);
        let folder = format!("/proc/{}", program.id());
        let status = fs::read_to_string(format!("{folder}/status")).unwrap();
        if !status.lines().any(|line| line.starts_with("Uid:\t65534\t0\t")) {
            println!("skipped: the file system of temporary files ignores the mode bit");
            break;
        }
        thread::sleep(A_WHILE);
        let footprint = Footprint::of(&program);
        let is_ours = |name: &&String| ["wakeful-console", "wakeful-deadlock"].contains(&&***name);
        assert_eq!(footprint.threads.iter().find(is_ours), None, "{footprint:?}");
        assert!(!footprint.catches_quit, "{footprint:?}");
        assert!(!footprint.descriptors.iter().any(|kind| kind == "socket"), "{footprint:?}");
        assert!(!dumps.exists(), "{}", fs::read_to_string(&dumps).unwrap());
        assert_eq!(program.errors.get(), [""; 0]);
        program.assert_alive();
    }
    fs::remove_dir_all(folder).unwrap();
}

#[test]
fn signal_ends_the_program_without_the_variable() {
    for flavor in FLAVORS {
        let mut command = Command::new("sh");
        let run = "ulimit -c 0; exec \"$0\" relock --flavor \"$1\"";
        let mut program = Program::spawn(command.args(["-c", run, HUNG, flavor]), &[]);
        program.output.wait_until("ready", |lines| !lines.is_empty());
        program.signal(libc::SIGQUIT);
        assert_eq!(program.status().signal(), Some(libc::SIGQUIT));
        assert_eq!(program.errors.get(), [""; 0]);
    }
}

/// What the kernel knows of a process.
#[derive(Debug)]
struct Footprint {
    threads: Vec<String>,
    /// The targets of the descriptors without inode numbers, sorted.
    descriptors: Vec<String>,
    catches_quit: bool,
}

impl Footprint {
    fn of(program: &Program) -> Footprint {
        program.wait_until_settled();
        let folder = format!("/proc/{}", program.id());
        let status = fs::read_to_string(format!("{folder}/status")).unwrap();
        let caught = status.lines().find_map(|line| line.strip_prefix("SigCgt:")).unwrap();
        let caught = u64::from_str_radix(caught.trim(), 16).unwrap();
        let descriptors = fs::read_dir(format!("{folder}/fd")).unwrap().flatten();
        let target = |fd: fs::DirEntry| fs::read_link(fd.path()).unwrap().display().to_string();
        let kind = |target: String| target.split(":[").next().unwrap_or_default().to_owned();
        let mut descriptors: Vec<String> = descriptors.map(target).map(kind).collect();
        descriptors.sort();
        Footprint {
            threads: program.threads(),
            descriptors,
            catches_quit: caught & (1 << (libc::SIGQUIT - 1)) != 0,
        }
    }
}
