//! The console's socket, as `docs/design/console-protocol.md` defines it.

#![cfg(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64")))]

mod support {
    pub mod json;
}

#[path = "console_socket/program.rs"]
mod program;

use program::{Client, Folder, Program, is_program, ready};
use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::sync::Arc;
use std::time::Duration;
use support::json::Json;
use wakeful::runtime::{Builder, Runtime};
use wakeful::sync::{Mutex, Notify, mpsc};

fn runtimes() -> [Runtime; 2] {
    let mut builders = [Builder::new_multi_thread(), Builder::new_current_thread()];
    builders.each_mut().map(|builder| builder.enable_all().worker_threads(2).build().unwrap())
}

/// Starts a runtime of each flavor with a deadlock in it, and tasks that wait for other things.
fn hang() {
    let [many, one] = runtimes();
    for runtime in [&many, &one] {
        let locks = [Arc::new(Mutex::new(())), Arc::new(Mutex::new(()))];
        for (first, second) in [(0, 1), (1, 0)] {
            let (first, second) = (locks[first].clone(), locks[second].clone());
            runtime.spawn(async move {
                let _first = first.lock().await;
                wakeful::time::sleep(Duration::from_millis(20)).await;
                let _second = second.lock().await;
            });
        }
        runtime.spawn(async {
            wakeful::time::sleep(Duration::from_secs(1000)).await;
        });
        let (sender, mut receiver) = mpsc::channel::<()>(1);
        runtime.spawn(async move { receiver.recv().await });
        std::mem::forget(sender);
    }
    many.spawn_blocking(|| std::thread::sleep(Duration::from_secs(1000)));
    std::thread::spawn(move || one.block_on(std::future::pending::<()>()));
    ready();
    many.shutdown_background();
}

#[test]
fn requests_are_answered() {
    if is_program() {
        return hang();
    }
    let folder = Folder::new();
    let program = Program::start("requests_are_answered", &folder);
    let mut client = Client::connect(&folder);
    let mut out = format!("{:?}\n", client.hello);
    for get in ["summary", "tasks", "groups", "graph", "objects", "dump"] {
        client.send(&format!("{{\"id\":1,\"get\":\"{get}\"}}\n"));
        let mut line = String::new();
        std::io::BufRead::read_line(&mut client.stream, &mut line).unwrap();
        out += &line;
    }
    print!("{out}");
    let errors = program.end();
    assert_eq!(errors, "");
}
