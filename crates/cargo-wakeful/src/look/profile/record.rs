//! Records a profile: looks at the program again and again, and adds up what has changed.
//!
//! *Busy* time is exact for tasks that live: the difference of what the program has recorded for
//! each. Only tasks that were polled since the look before are fetched. What a task did between the
//! last look and its end is not known.
//!
//! *Waiting* time is sampled: a part of the waiting tasks is asked for its stack, and each stack
//! stands for its share of all that wait, for the time since tasks were asked before. The polls
//! that this takes are not part of busy time: the program is looked at before and after, and what
//! lies between is left out. The rest is scaled up to the whole time.

use std::collections::HashMap;
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::stacks::{Frame, Profile, Sums, Time};
use crate::invocation::look::Record;
use crate::look::client::Client;
use crate::output::print_note;

/// The time between two looks. What a task does in its last such interval is not seen.
const LOOK_INTERVAL: Duration = Duration::from_millis(250);

/// How many looks pass from one request for stacks to the next. A request costs the program some
/// 10 ms, so that this is 2 % of one CPU.
const LOOKS_PER_ASKING: u32 = 2;

/// How long to wait, in multiples of what the look took: most of the time is left to the program.
const PAUSE_FACTOR: u32 = 2;

/// How many tasks are asked. The program takes every n-th task, and always the same ones if the
/// number does not change; where tasks of two kinds are spawned in turn, that may be one kind.
const ASKED_MAX: u64 = 1000;
const ASKED_STEP: u64 = 13;
const ASKED_STEPS: u64 = 16;

/// How long to wait for a look that is not the one of a moment ago.
const FRESH_LOOK_INTERVAL: Duration = Duration::from_millis(10);

/// The greatest number of rows in an answer.
const PAGE: usize = 500;

/// Records for the time that the options say.
pub fn record(client: &mut Client, options: &Record) -> Result<Profile, String> {
    let (mut times, mut remarks) = (Vec::new(), Vec::new());
    times.extend((!options.without_busy).then_some(Time::Busy));
    times.extend((!options.without_waiting).then_some(Time::Waiting));
    let summary = client.ask(json!({ "get": "summary" }))?;
    if summary["asks"] == false && times.contains(&Time::Waiting) {
        if times.len() == 1 {
            return Err(format!("there are no stacks of waiting tasks: {NO_POLL}"));
        }
        times.retain(|&time| time == Time::Busy);
        remarks.push(format!("without waiting time: {NO_POLL}"));
    }
    if times.contains(&Time::Waiting) {
        // The first answer may take seconds, for the names of functions.
        client.ask(json!({ "get": "stacks", "limit": 100 }))?;
    }
    let mut recorder = Recorder::start(client, &times)?;
    print_note(format_args!("recording for {:?}", options.time));
    let ended = recorder.run(options.time);
    let us = recorder.begun.elapsed().as_micros() as u64;
    if let Err(why) = ended {
        if recorder.covered.is_zero() && recorder.asked == 0 {
            return Err(why);
        }
        remarks.push(format!("the profile ends here: {why}"));
    }
    let factor = us as f64 / (recorder.covered.as_micros() as f64).max(1.0);
    let mut samples = recorder.busy.samples(Time::Busy, factor);
    samples.extend(recorder.waiting.samples(Time::Waiting, 1.0));
    let workers_us = recorder.workers_us.1.saturating_sub(recorder.workers_us.0);
    let (asked, unknown_us) = (recorder.asked, recorder.unknown_us.round() as u64);
    Ok(Profile { times, samples, us, workers_us, asked, unknown_us, remarks })
}

const NO_POLL: &str = "the program runs with `nopoll` in WAKEFUL_CONSOLE, which forbids to ask \
                       tasks where they wait.\nStart it with WAKEFUL_CONSOLE=1, or with \
                       WAKEFUL_CONSOLE=watch, for a profile of waiting time";

struct Recorder<'a> {
    client: &'a mut Client,
    times: &'a [Time],
    begun: Instant,
    /// When recording began, by the program's clock.
    begun_us: u64,
    /// The tasks that were not polled since have been looked at.
    since_us: u64,
    /// What is known of each task: busy time and polls.
    tasks: HashMap<u64, (u64, u64)>,
    busy: Sums,
    waiting: Sums,
    /// The time of which `busy` tells.
    covered: Duration,
    looked_at: Instant,
    asked_at: Instant,
    /// How often tasks were asked, and how many have answered.
    askings: u64,
    asked: u64,
    unknown_us: f64,
    /// The busy time of all workers at the beginning and now.
    workers_us: (u64, u64),
}

impl<'a> Recorder<'a> {
    /// Takes the figures that all tasks have at the beginning.
    fn start(client: &'a mut Client, times: &'a [Time]) -> Result<Recorder<'a>, String> {
        let now = Instant::now();
        let mut recorder = Recorder {
            client,
            times,
            begun: now,
            begun_us: 0,
            since_us: 0,
            tasks: HashMap::new(),
            busy: Sums::default(),
            waiting: Sums::default(),
            covered: Duration::ZERO,
            looked_at: now,
            asked_at: now,
            askings: 0,
            asked: 0,
            unknown_us: 0.0,
            workers_us: (0, 0),
        };
        if recorder.times.contains(&Time::Busy) {
            recorder.look_at_all()?;
        }
        let now = Instant::now();
        (recorder.begun, recorder.looked_at, recorder.asked_at) = (now, now, now);
        let workers_us = recorder.workers_us()?;
        recorder.workers_us = (workers_us, workers_us);
        Ok(recorder)
    }

    /// Records until the time is over.
    fn run(&mut self, time: Duration) -> Result<(), String> {
        let mut pause = LOOK_INTERVAL;
        for look in 1.. {
            thread::sleep(pause.min(time.saturating_sub(self.begun.elapsed())));
            let begun = Instant::now();
            let is_last = self.begun.elapsed() >= time;
            if self.times.contains(&Time::Busy) {
                self.look(true)?;
            }
            if self.times.contains(&Time::Waiting) && (is_last || look % LOOKS_PER_ASKING == 0) {
                let asked_us = self.ask()?;
                if self.times.contains(&Time::Busy) && !is_last {
                    self.look_after(asked_us)?;
                }
            }
            self.workers_us.1 = self.workers_us()?;
            if is_last {
                break;
            }
            pause = LOOK_INTERVAL.max(begun.elapsed() * PAUSE_FACTOR);
        }
        Ok(())
    }

    /// Looks at all tasks, also at those of which nothing is recorded yet.
    fn look_at_all(&mut self) -> Result<(), String> {
        for page in 0.. {
            let answer = self.client.ask(json!({
                "get": "tasks", "offset": page * PAGE, "limit": PAGE,
            }))?;
            let rows = rows(&answer);
            for row in rows {
                self.tasks
                    .insert(number(row, "id"), (number(row, "busy_us"), number(row, "polls")));
            }
            if page == 0 {
                self.begun_us = number(&answer, "time_us");
                self.since_us = earliest_poll(rows, self.begun_us);
            } else {
                self.since_us = self.since_us.min(earliest_poll(rows, self.since_us));
            }
            if rows.len() < PAGE {
                break;
            }
        }
        Ok(())
    }

    /// Looks at tasks that were polled since the look before. What they did meanwhile is added to
    /// busy time if it `counts`. Returns the program's time.
    fn look(&mut self, counts: bool) -> Result<u64, String> {
        let (mut time_us, mut since_us) = (0, u64::MAX);
        let now = Instant::now();
        for page in 0.. {
            let answer = self.client.ask(json!({
                "get": "tasks", "sort": "last_poll_at_us", "descending": true,
                "offset": page * PAGE, "limit": PAGE,
            }))?;
            if page == 0 {
                time_us = number(&answer, "time_us");
                since_us = time_us;
            }
            let rows = rows(&answer);
            let was_polled = |row: &&Value| {
                row["last_poll_at_us"].as_u64().is_some_and(|at_us| at_us >= self.since_us)
            };
            let recent: Vec<&Value> = rows.iter().take_while(was_polled).collect();
            since_us = since_us.min(earliest_poll(recent.iter().copied(), since_us));
            recent.iter().for_each(|row| self.note(row, number(&answer, "time_us"), counts));
            if recent.len() < PAGE {
                break;
            }
        }
        self.since_us = since_us;
        if counts {
            self.covered += now - self.looked_at;
        }
        self.looked_at = now;
        Ok(time_us)
    }

    /// Looks at tasks after they were asked, for a look that sees the polls of that: the program
    /// may answer with one from a moment ago.
    fn look_after(&mut self, asked_us: u64) -> Result<(), String> {
        while self.look(false)? <= asked_us {
            thread::sleep(FRESH_LOOK_INTERVAL);
        }
        Ok(())
    }

    /// Notes the figures of a task, and what they have grown by.
    fn note(&mut self, row: &Value, time_us: u64, counts: bool) {
        let now = (number(row, "busy_us"), number(row, "polls"));
        let age_us = row["age_us"].as_u64();
        let is_new = age_us.is_some_and(|age_us| time_us.saturating_sub(age_us) >= self.begun_us);
        // A task that is not new, and was not seen before, was missed between two pages.
        let before = self.tasks.insert(number(row, "id"), now);
        let before = before.unwrap_or(if is_new { (0, 0) } else { now });
        let (us, polls) = (now.0.saturating_sub(before.0), now.1.saturating_sub(before.1));
        if counts && polls > 0 {
            self.busy.add(spawn_stack(row), us as f64, polls);
        }
    }

    /// Asks tasks where they wait. Returns the program's time.
    fn ask(&mut self) -> Result<u64, String> {
        let limit = ASKED_MAX - ASKED_STEP * (self.askings % ASKED_STEPS);
        let answer = self.client.ask(json!({ "get": "stacks", "limit": limit }))?;
        let interval = self.asked_at.elapsed();
        self.asked_at += interval;
        self.askings += 1;
        let (asked, waiting) = (number(&answer, "asked"), number(&answer, "waiting"));
        self.asked += asked;
        let waiting_us = waiting as f64 * interval.as_micros() as f64;
        if asked == 0 {
            self.unknown_us += waiting_us;
        }
        for row in rows(&answer) {
            let share = number(row, "tasks") as f64 / asked.max(1) as f64;
            self.waiting.add(await_stack(row), share * waiting_us, 0);
        }
        Ok(number(&answer, "time_us"))
    }

    /// Returns for how long workers have been busy since the start of the program.
    fn workers_us(&mut self) -> Result<u64, String> {
        let summary = self.client.ask(json!({ "get": "summary" }))?;
        let runtimes = summary["runtimes"].as_array().map_or(&[][..], Vec::as_slice);
        let workers = runtimes.iter().filter_map(|runtime| runtime["workers"].as_array()).flatten();
        Ok(workers.map(|worker| number(worker, "busy_us")).sum())
    }
}

/// Returns when the first of the polls began that are not over, or `now_us`.
fn earliest_poll<'a>(rows: impl IntoIterator<Item = &'a Value>, now_us: u64) -> u64 {
    let running = rows.into_iter().filter(|row| row["state"] == "running");
    running.filter_map(|row| row["last_poll_at_us"].as_u64()).fold(now_us, u64::min)
}

/// Returns where a task was spawned, and its future.
fn spawn_stack(row: &Value) -> Vec<Frame> {
    let site = match (row["site"].as_str(), row["kind"].as_str()) {
        (Some(site), _) => Frame::of_site(site),
        (None, Some("thread")) => Frame::named("block_on"),
        (None, _) => Frame::named("an unknown place"),
    };
    let future = row["type"].as_str().map(Frame::named);
    [site].into_iter().chain(future).collect()
}

/// Returns the functions that wait for each other, and what the innermost one waits for.
fn await_stack(row: &Value) -> Vec<Frame> {
    let stack = row["stack"].as_array().map_or(&[][..], Vec::as_slice);
    let frame = |frame: &Value| Frame {
        name: frame["function"].as_str().unwrap_or("an unknown function").to_owned(),
        file: frame["file"].as_str().map(str::to_owned),
        line: number(frame, "line"),
    };
    let waits_for = row["waits_for"].as_str().unwrap_or("something unknown");
    stack.iter().rev().map(frame).chain([Frame::named(waits_for)]).collect()
}

fn rows(answer: &Value) -> &[Value] {
    answer["rows"].as_array().map_or(&[], Vec::as_slice)
}

fn number(value: &Value, member: &str) -> u64 {
    value[member].as_u64().unwrap_or(0)
}
