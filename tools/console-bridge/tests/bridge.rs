//! The bridge between a real program and a client of console-api, as tokio-console is one.

use std::collections::HashMap;
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::{self, Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use std::time::Duration;

use console_api::async_ops::{self, AsyncOp};
use console_api::instrument::instrument_client::InstrumentClient;
use console_api::instrument::{
    InstrumentRequest, PauseRequest, ResumeRequest, StateRequest, TaskDetailsRequest, Temporality,
    Update,
};
use console_api::resources::{self, Resource};
use console_api::tasks::task_details::PollTimesHistogram;
use console_api::tasks::{DurationHistogram, Stats, Task, TaskDetails};
use console_api::{Field, Id};
use hdrhistogram::Histogram;
use hdrhistogram::serialization::Deserializer;
use tokio::time::timeout;
use tonic::transport::Channel;
use tonic::{Code, Streaming};

/// How long anything may take on a busy machine.
const PATIENCE: Duration = Duration::from_secs(30);

/// A started process, which is ended with this.
struct Process {
    child: Child,
    stdin: Option<ChildStdin>,
    stdout: BufReader<ChildStdout>,
}

impl Process {
    fn start(command: &mut Command) -> Process {
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let stdout = BufReader::new(child.stdout.take().unwrap());
        Process { stdin: child.stdin.take(), child, stdout }
    }

    fn line(&mut self) -> String {
        let mut line = String::new();
        self.stdout.read_line(&mut line).unwrap();
        line.trim_end().to_owned()
    }

    fn say(&mut self, line: &str) {
        writeln!(self.stdin.as_mut().unwrap(), "{line}").unwrap();
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.stdin = None;
        let _has_ended = self.child.kill();
        let _status = self.child.wait();
    }
}

/// A program, the bridge to it, and what the program says of its tasks.
struct Watched {
    bridge: Process,
    program: Process,
    folder: PathBuf,
    /// The ids of the tasks and where they were spawned, by their names.
    tasks: HashMap<String, (u64, String)>,
    client: InstrumentClient<Channel>,
}

impl Watched {
    /// Starts a program with this value of `WAKEFUL_CONSOLE`, and the bridge.
    async fn start(console: &str) -> Watched {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let number = COUNT.fetch_add(1, Relaxed);
        let folder = format!("console-bridge-{}-{number}", process::id());
        let folder = std::env::temp_dir().join(folder);
        fs::create_dir(&folder).unwrap();
        fs::set_permissions(&folder, fs::Permissions::from_mode(0o700)).unwrap();
        let command = |path: &str| {
            let mut command = Command::new(path);
            command.env("XDG_RUNTIME_DIR", &folder).env("WAKEFUL_CONSOLE", console);
            command
        };
        let mut program = Process::start(&mut command(env!("CARGO_BIN_EXE_watched")));
        let mut tasks = HashMap::new();
        loop {
            let line = program.line();
            match line.split(' ').collect::<Vec<_>>()[..] {
                ["task", name, id, site] => {
                    tasks.insert(name.to_owned(), (id.parse().unwrap(), site.to_owned()));
                }
                ["ready"] => break,
                _ => panic!("the program says `{line}`"),
            }
        }
        let pid = program.child.id().to_string();
        let mut bridge = command(env!("CARGO_BIN_EXE_console-bridge"));
        // It is on Wakeful itself, and is not to listen.
        bridge.env_remove("WAKEFUL_CONSOLE").args(["--port", "0", &pid]);
        let mut bridge = Process::start(&mut bridge);
        let line = bridge.line();
        let (_, address) = line.trim_end_matches('`').split_once("tokio-console ").unwrap();
        assert!(address.starts_with("http://127.0.0.1:"), "{line}");
        let client = InstrumentClient::connect(address.to_owned()).await.unwrap();
        Watched { bridge, program, folder, tasks, client }
    }

    fn id(&self, name: &str) -> u64 {
        self.tasks[name].0
    }

    async fn updates(&mut self) -> View {
        let stream = self.client.watch_updates(InstrumentRequest {}).await.unwrap().into_inner();
        View {
            stream,
            tasks: HashMap::new(),
            resources: HashMap::new(),
            operations: HashMap::new(),
        }
    }
}

impl Drop for Watched {
    fn drop(&mut self) {
        let _left_behind = fs::remove_dir_all(&self.folder);
    }
}

/// What a client knows.
struct View {
    stream: Streaming<Update>,
    tasks: HashMap<u64, (Task, Stats)>,
    resources: HashMap<u64, (Resource, resources::Stats)>,
    operations: HashMap<u64, (AsyncOp, async_ops::Stats)>,
}

impl View {
    /// Receives updates until `is_enough` returns true.
    async fn until(&mut self, what: &str, is_enough: impl Fn(&View) -> bool) {
        let receiving = async {
            while !is_enough(self) {
                let update = self.stream.message().await.unwrap().expect("the stream has ended");
                self.add(update);
            }
        };
        let in_time = timeout(PATIENCE, receiving).await.is_ok();
        assert!(in_time, "{what}: {:#?}", self.tasks);
    }

    fn add(&mut self, update: Update) {
        let (tasks, resources) = (update.task_update.unwrap(), update.resource_update.unwrap());
        add(&mut self.tasks, tasks.new_tasks, |it| it.id, tasks.stats_update);
        add(&mut self.resources, resources.new_resources, |it| it.id, resources.stats_update);
        let operations = update.async_op_update.unwrap();
        add(&mut self.operations, operations.new_async_ops, |it| it.id, operations.stats_update);
    }

    fn is_dropped(&self, id: u64) -> bool {
        self.tasks.get(&id).is_some_and(|(_, stats)| stats.dropped_at.is_some())
    }
}

/// Adds new things, and new figures of all that are known, as tokio-console does.
fn add<T, S>(
    known: &mut HashMap<u64, (T, S)>,
    new: Vec<T>,
    id: impl Fn(&T) -> Option<Id>,
    mut stats: HashMap<u64, S>,
) {
    for new in new {
        let id = id(&new).unwrap().id;
        known.insert(id, (new, stats.remove(&id).expect("something new has no figures")));
    }
    for (id, new) in stats {
        known.get_mut(&id).expect("there are figures of something unknown").1 = new;
    }
}

fn field(task: &Task, name: &str) -> String {
    let texts = task.fields.iter().map(Field::to_string);
    let value =
        texts.into_iter().find_map(|text| Some(text.strip_prefix(name)?.get(1..)?.to_owned()));
    value.unwrap_or_default()
}

fn polls(stats: &Stats) -> u64 {
    stats.poll_stats.unwrap().polls
}

fn busy_us(stats: &Stats) -> f64 {
    let busy = stats.poll_stats.unwrap().busy_time.unwrap();
    busy.seconds as f64 * 1e6 + f64::from(busy.nanos) / 1e3
}

/// Asserts that two times differ by at most 5 %.
fn assert_near(shown_us: f64, known_us: u64) {
    let ratio = shown_us / known_us as f64;
    assert!((0.95..=1.05).contains(&ratio), "{shown_us} µs are shown, {known_us} µs are right");
}

#[tokio::test]
async fn tasks_have_the_figures_that_the_program_knows() {
    // No task is polled to ask it: the polls are those that the program has counted.
    let mut watched = Watched::start("nopoll").await;
    let mut view = watched.updates().await;
    view.until("all tasks", |view| view.tasks.len() >= 7).await;
    for (name, (id, site)) in &watched.tasks {
        let (task, stats) = &view.tasks[id];
        assert_eq!((&field(task, "task.name"), field(task, "task.id")), (name, id.to_string()));
        assert_eq!(&task.location.as_ref().unwrap().to_string(), site);
        assert_eq!(field(task, "kind"), "task");
        assert!(field(task, "future").contains("watched::"), "{task:?}");
        assert_eq!(stats.dropped_at, None);
    }
    let kinds = |kind| view.tasks.values().filter(|it| field(&it.0, "kind") == kind).count();
    assert_eq!((kinds("task"), kinds("blocking"), kinds("block_on")), (5, 1, 1));

    // Recording has begun: the stream has a connection to the program.
    watched.program.say("start");
    let busy = watched.id("busy");
    view.until("work", |view| polls(&view.tasks[&busy].1) > 100).await;
    watched.program.say("stop");
    let figures = watched.program.line();
    let figures = figures.strip_prefix("figures ").unwrap().split(' ');
    let figures: Vec<u64> = figures.map(|number| number.parse().unwrap()).collect();
    view.until("the last poll", |view| polls(&view.tasks[&busy].1) >= figures[0]).await;
    let stats = &view.tasks[&busy].1;
    assert_eq!(polls(stats), figures[0]);
    assert_near(busy_us(stats), figures[1]);
    let tasks = view.tasks.values().filter(|it| field(&it.0, "kind") == "task");
    assert_near(tasks.map(|(_, stats)| busy_us(stats)).sum(), figures[2]);
    assert!(stats.wakes >= figures[0] - 1, "{stats:?}");
    let yields = &view.tasks[&watched.id("yields")].1;
    assert!(yields.self_wakes >= 20 && yields.wakes >= yields.self_wakes, "{yields:?}");
    assert!(yields.scheduled_time.unwrap().nanos > 0, "{yields:?}");
    // It waits for what never comes, and nothing can wake it.
    view.until("the lost waker", |view| view.tasks[&busy].1.waker_clones == 0).await;
    assert!(view.tasks[&watched.id("waiter")].1.waker_clones > 0);
}

#[tokio::test]
async fn a_task_that_ends_is_dropped() {
    let mut watched = Watched::start("1").await;
    let mut view = watched.updates().await;
    let (short, busy) = (watched.id("short"), watched.id("busy"));
    view.until("the task", |view| view.tasks.contains_key(&short)).await;
    watched.program.say("end");
    view.until("its end", |view| view.is_dropped(short)).await;
    assert!(!view.is_dropped(busy));
    let request = TaskDetailsRequest { id: Some(Id { id: short }) };
    let refused = watched.client.watch_task_details(request).await.unwrap_err();
    assert_eq!(refused.code(), Code::NotFound, "{refused}");
}

#[tokio::test]
async fn a_lock_has_its_holder_and_its_queue() {
    let mut watched = Watched::start("watch").await;
    let mut view = watched.updates().await;
    let (holder, waiter) = (watched.id("holder"), watched.id("waiter"));
    let wait = |view: &View| {
        let mut operations = view.operations.values();
        let (operation, _) = operations.find(|it| it.1.task_id == Some(Id { id: waiter }))?;
        let lock = view.resources.get(&operation.resource_id?.id)?;
        Some((operation.clone(), lock.clone()))
    };
    let attributes = |stats: &resources::Stats| -> Vec<String> {
        stats.attributes.iter().map(|it| it.field.as_ref().unwrap().to_string()).collect()
    };
    let is_held = |view: &View| {
        wait(view)
            .is_some_and(|(_, lock)| attributes(&lock.1).contains(&format!("held_by={holder}")))
    };
    view.until("the holder of the lock", is_held).await;
    let (operation, (lock, stats)) = wait(&view).unwrap();
    assert!(lock.concrete_type.starts_with("mutex"), "{lock:?}");
    assert!(attributes(&stats).contains(&"waiting=1".to_owned()), "{stats:?}");
    assert_eq!(operation.source, lock.concrete_type);
}

#[tokio::test]
async fn the_details_of_a_task_are_histograms() {
    let mut watched = Watched::start("1").await;
    let request = TaskDetailsRequest { id: Some(Id { id: watched.id("busy") }) };
    let details = watched.client.watch_task_details(request).await.unwrap();
    let mut details = details.into_inner();
    watched.program.say("start");
    let enough = async {
        loop {
            let update = details.message().await.unwrap().expect("the stream has ended");
            let [polls, scheduled] = histograms(update);
            if polls.len() > 50 {
                break (polls, scheduled);
            }
        }
    };
    let (polls, scheduled) = timeout(PATIENCE, enough).await.unwrap();
    // Each poll takes 5 ms, unless the thread does not get a CPU.
    let (least, half) = (polls.value_at_quantile(0.1), polls.value_at_quantile(0.5));
    assert!(least >= 4_900_000 && half < 20_000_000, "{least} and {half} ns");
    assert!(scheduled.len() > 50 && scheduled.value_at_quantile(0.1) < 5_000_000);
}

/// Reads the histograms of poll times and of scheduled times.
fn histograms(details: TaskDetails) -> [Histogram<u64>; 2] {
    let Some(PollTimesHistogram::Histogram(polls)) = details.poll_times_histogram else {
        panic!("there is no histogram of polls");
    };
    [polls, details.scheduled_times_histogram.unwrap()].map(|histogram: DurationHistogram| {
        Deserializer::new().deserialize(&mut &histogram.raw_histogram[..]).unwrap()
    })
}

#[tokio::test]
async fn a_pause_stops_updates() {
    let mut watched = Watched::start("1").await;
    let mut states = watched.client.watch_state(StateRequest {}).await.unwrap().into_inner();
    let state = |number: i32| Temporality::try_from(number).unwrap();
    assert_eq!(state(states.message().await.unwrap().unwrap().temporality), Temporality::Live);
    watched.client.pause(PauseRequest {}).await.unwrap();
    assert_eq!(state(states.message().await.unwrap().unwrap().temporality), Temporality::Paused);
    let mut view = watched.updates().await;
    let during = timeout(Duration::from_secs(3), view.stream.message()).await;
    assert!(during.is_err(), "an update came in a pause");
    watched.client.resume(ResumeRequest {}).await.unwrap();
    assert_eq!(state(states.message().await.unwrap().unwrap().temporality), Temporality::Live);
    view.until("updates again", |view| view.tasks.len() >= 7).await;
}

#[tokio::test]
async fn the_bridge_ends_with_the_program() {
    let mut watched = Watched::start("1").await;
    let mut view = watched.updates().await;
    view.until("a task", |view| !view.tasks.is_empty()).await;
    watched.program.stdin = None;
    let error = loop {
        match timeout(PATIENCE, view.stream.message()).await.unwrap() {
            Ok(update) => assert!(update.is_some(), "the stream has ended without a reason"),
            Err(error) => break error,
        }
    };
    assert_eq!(error.code(), Code::Unavailable, "{error}");
    assert!(watched.program.child.wait().unwrap().success());
    assert_eq!(watched.bridge.line(), format!("process {} has ended", watched.program.child.id()));
    assert!(watched.bridge.child.wait().unwrap().success());
}
