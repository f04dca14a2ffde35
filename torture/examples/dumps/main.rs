//! Requests to a server that prints dumps all the time: none may fail, and the dumps must not hold
//! them up for long.
//!
//! Starts itself as the server, with `WAKEFUL_CONSOLE` set, and sends it SIGQUIT at intervals while
//! many connections make requests. Prints what the requests and the dumps took.

mod client;
mod server;

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitCode, Stdio};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use client::Load;
use wakeful_torture::args::Args;

const USAGE: &str = "\
usage: dumps [options]
  --for TIME         how long requests are made (default: 10s)
  --every TIME       the time between two dumps (default: 1s)
  --connections N    connections that make requests (default: 16)
  --pause TIME       the pause of a connection between two requests (default: 1ms)
  --idle N           tasks of the server that sleep (default: 0)
  --stacks N         tasks that wait at different places, at most 1024 (default: 0)
  --watch            record holders of locks, as with WAKEFUL_CONSOLE=watch";

/// A dump that takes longer is taken to be lost.
const DUMP_MAX: Duration = Duration::from_secs(60);

/// The server. It is killed when this is dropped, and its file of dumps removed.
struct Server {
    child: Child,
    dumps: PathBuf,
    port: u16,
}

impl Server {
    fn start(args: &Args) -> Server {
        let dumps = std::env::temp_dir().join(format!("wakeful-dumps-{}", std::process::id()));
        let number = |name| args.number(name).unwrap_or(0).to_string();
        let mut child = Command::new(std::env::current_exe().expect("it is running"))
            .args(["--serve", "--idle", &number("idle"), "--stacks", &number("stacks")])
            .env("WAKEFUL_CONSOLE", if args.has("watch") { "watch" } else { "1" })
            .env("WAKEFUL_DUMP", &dumps)
            .stdout(Stdio::piped())
            .spawn()
            .expect("the program can be started again");
        let mut line = String::new();
        let output = child.stdout.take().expect("it is piped");
        BufReader::new(output).read_line(&mut line).expect("the server prints its port");
        let port = line.trim().parse().expect("the server prints its port");
        Server { child, dumps, port }
    }

    /// Requests a dump and waits for its end. Returns the times to the verdicts and to the end, and
    /// the dump.
    fn dump(&self) -> Result<(Duration, Duration, String), String> {
        let begun = Instant::now();
        // SAFETY: the call accesses no memory. The child has not been waited for, so the id is its
        // own.
        unsafe { libc::kill(self.child.id() as i32, libc::SIGQUIT) };
        let mut verdicts = None;
        loop {
            thread::sleep(Duration::from_millis(1));
            let text = read(&self.dumps);
            if verdicts.is_none() && text.contains("\nTasks and threads, by where") {
                verdicts = Some(begun.elapsed());
            }
            if text.ends_with("== end ==\n") {
                // The next one is appended to an empty file.
                fs::write(&self.dumps, "").map_err(|error| error.to_string())?;
                let took = begun.elapsed();
                return Ok((verdicts.unwrap_or(took), took, text));
            }
            if begun.elapsed() > DUMP_MAX {
                return Err(format!("a dump has not ended after {DUMP_MAX:?}"));
            }
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // Fails if it has ended.
        let _ = self.child.kill();
        let _ = self.child.wait();
        let _ = fs::remove_file(&self.dumps);
    }
}

fn read(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_default()
}

fn main() -> ExitCode {
    let options = ["for", "every", "connections", "pause", "idle", "stacks"];
    let args = Args::from_env(USAGE, &options, &["serve", "watch"]);
    if args.has("serve") {
        server::run(args.number("idle").unwrap_or(0), args.number("stacks").unwrap_or(0));
        return ExitCode::SUCCESS;
    }
    match run(&args) {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => {
            eprintln!("dumps: {why}");
            ExitCode::FAILURE
        }
    }
}

fn run(args: &Args) -> Result<(), String> {
    let time = args.duration("for").unwrap_or(Duration::from_secs(10));
    let every = args.duration("every").unwrap_or(Duration::from_secs(1));
    let pause = args.duration("pause").unwrap_or(Duration::from_millis(1));
    let connections = args.number("connections").unwrap_or(16);
    let server = Server::start(args);
    let load = Arc::new(Load::new(server.port, pause));
    let clients = client::start(&load, connections);
    let begun = Instant::now();
    let waiting = args.number("idle").unwrap_or(0) + args.number("stacks").unwrap_or(0);
    let (mut to_verdicts, mut in_all, mut bytes) = (Vec::new(), Vec::new(), 0);
    while begun.elapsed() < time {
        thread::sleep(every);
        load.begin_dump();
        let dump = server.dump();
        load.end_dump();
        let (verdicts, took, text) = dump?;
        let tasks = text.split("\ntasks: ").nth(1).and_then(|rest| rest.split(',').next());
        if tasks.and_then(|tasks| tasks.parse().ok()).is_none_or(|tasks: u64| tasks < waiting) {
            return Err(format!("a dump lists {tasks:?} tasks, and there are {waiting} that wait"));
        }
        to_verdicts.push(verdicts);
        in_all.push(took);
        bytes = bytes.max(text.len());
    }
    load.stop();
    clients.join().map_err(|_| "the clients' thread has panicked")?;
    let failed = load.failed();
    println!("dumps: {}, of up to {bytes} bytes", in_all.len());
    println!("  to the verdicts: {}", client::figures(&mut to_verdicts));
    println!("  in all:          {}", client::figures(&mut in_all));
    let (mut during, mut between) = load.latencies();
    println!("requests: {}, failed: {}", during.len() + between.len(), failed.len());
    println!("  during dumps:    {}", client::figures(&mut during));
    println!("  between dumps:   {}", client::figures(&mut between));
    if let Some(first) = failed.first() {
        return Err(format!("{} requests failed, the first one: {first}", failed.len()));
    }
    if during.is_empty() || in_all.is_empty() {
        return Err("no request was made during a dump".to_owned());
    }
    Ok(())
}
