//! The console: dumps on a signal, a socket for tools, and reports of deadlocks, for programs that
//! know nothing of it.
//!
//! | variable | effect |
//! |---|---|
//! | `WAKEFUL_CONSOLE` | `SIGQUIT` prints a dump, and the program goes on; tools may connect |
//! | `WAKEFUL_CONSOLE=500ms` | the same, and there is a dump every 500 ms |
//! | `WAKEFUL_DEADLOCK_REPORT` | each hang that only a moved guard could end is printed once |
//! | `WAKEFUL_DUMP` | the file to which both are appended, instead of standard error |
//!
//! The first runtime of the process starts the console's thread if a variable asks for it. Without
//! the variables there is no thread, no descriptor and no signal handler. In a program with more
//! rights than its user (set-user-id) the variables are ignored.

#[cfg(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64")))]
mod quit_signal;
#[cfg(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64")))]
mod serve;
mod settings;

use crate::census::{Ask, Dump, Hang, Observer};
use crate::scheduler::{SchedulerHandle, WeakScheduler};
use settings::Settings;
use std::fs::OpenOptions;
use std::io::{self, Write};
use std::mem::take;
use std::sync::atomic::{AtomicBool, Ordering::*};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};
use wakeful_base::catch_panic::contain_panic;
use wakeful_base::diagnostics;
use wakeful_base::threads::{self, ThreadRole};
use wakeful_base::waiting;

/// Over which time a dump looks at the process. What has changed meanwhile does not hang. Long
/// enough for all verdicts, short enough for a person to wait for.
pub(crate) const DUMP_GAP: Duration = Duration::from_millis(350);

/// The share of the time that is spent on looking for deadlocks, at most: one part in so many.
const REPORT_SHARE: u32 = 50;

/// For how long a hang has to be seen before it is reported. A program may let a task wait for
/// nothing for a moment, and then abort it.
const REPORT_AFTER: Duration = Duration::from_secs(1);

/// How many verdicts are remembered, so that none is reported twice.
const REPORTED_MAX: usize = 1000;

/// Called for each hang that is reported.
pub(crate) type HangCallback = Arc<dyn Fn(&Hang) + Send + Sync>;

/// Writes a text, in parts, by calls of its argument.
type WriteText<'a> = dyn FnMut(&mut dyn FnMut(&str)) + 'a;

/// What the console knows of the process.
struct Console {
    settings: Settings,
    runtimes: Mutex<Vec<WatchedRuntime>>,
    /// There is a thread that looks for deadlocks.
    reports: AtomicBool,
}

struct WatchedRuntime {
    scheduler: WeakScheduler,
    on_deadlock: Option<HangCallback>,
}

/// A runtime has been built, or is about to be.
static HAS_RUNTIME: AtomicBool = AtomicBool::new(false);

/// Holders of permits and users of channels have been recorded since before the first runtime.
static RECORDS_FROM_START: AtomicBool = AtomicBool::new(false);

/// Returns whether records of holders and users are complete.
pub(crate) fn records_from_start() -> bool {
    RECORDS_FROM_START.load(Relaxed)
}

/// The console of this process, once a runtime or a variable has asked for one.
static CONSOLE: Mutex<Option<Arc<Console>>> = Mutex::new(None);

/// Whether the environment asks for a console. Read once.
fn from_env() -> Option<&'static Settings> {
    static SETTINGS: std::sync::OnceLock<Option<Settings>> = std::sync::OnceLock::new();
    SETTINGS.get_or_init(Settings::from_env).as_ref()
}

/// Whether the program was built with `--cfg wakeful_no_console`, to be smaller: then no code of
/// the console is reachable, and the linker leaves it out.
const IS_LEFT_OUT: bool = cfg!(wakeful_no_console);

/// Starts what is asked for, before a runtime is built.
pub(crate) fn prepare(has_callback: bool) {
    if IS_LEFT_OUT {
        return;
    }
    let is_first = !HAS_RUNTIME.swap(true, Relaxed);
    let settings = from_env();
    if settings.is_none() && !has_callback {
        return;
    }
    let mut console = lock(&CONSOLE);
    let is_new = console.is_none();
    let console = console.get_or_insert_with(|| {
        Arc::new(Console {
            settings: settings.cloned().unwrap_or_default(),
            runtimes: Mutex::default(),
            reports: AtomicBool::new(false),
        })
    });
    let settings = &console.settings;
    if settings.records || has_callback {
        waiting::holdings::watch();
        RECORDS_FROM_START.fetch_or(is_first, Relaxed);
    }
    let dumps = if is_new && settings.dumps { console.start_dumps() } else { Ok(()) };
    let wants_reports = has_callback || settings.report_interval.is_some();
    let reports = if wants_reports { console.start_reports() } else { Ok(()) };
    if let Err(error) = dumps.and(reports) {
        diagnostics::print(format_args!(
            "the console cannot start: {error}. The program runs without dumps and deadlock reports"
        ));
    }
}

/// Lets the console know of a new runtime.
pub(crate) fn add_runtime(runtime: &SchedulerHandle, on_deadlock: Option<HangCallback>) {
    if IS_LEFT_OUT || (from_env().is_none() && on_deadlock.is_none()) {
        return;
    }
    let Some(console) = lock(&CONSOLE).clone() else { return };
    let watched = WatchedRuntime { scheduler: runtime.downgrade(), on_deadlock };
    let mut runtimes = lock(&console.runtimes);
    let (live, gone): (Vec<_>, Vec<_>) =
        take(&mut *runtimes).into_iter().partition(|runtime| !runtime.scheduler.is_gone());
    *runtimes = live;
    runtimes.push(watched);
    drop(runtimes);
    // Outside the lock: the drop of a callback is user code.
    contain_panic(|| drop(gone));
}

impl Console {
    #[cfg(not(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64"))))]
    fn start_dumps(&self) -> io::Result<()> {
        Err(io::Error::new(
            io::ErrorKind::Unsupported,
            "dumps on SIGQUIT are only supported on Linux, x86-64 and aarch64",
        ))
    }

    #[cfg(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64")))]
    fn start_dumps(self: &Arc<Self>) -> io::Result<()> {
        let mut requests = quit_signal::install()?;
        let (mut server, opened) = serve::Server::new();
        if let Err(error) = opened {
            diagnostics::print(format_args!(
                "the console has no socket: {error}. The program runs without it"
            ));
        }
        let console = self.clone();
        start_thread("wakeful-console", move || {
            let mut observer = Observer::new(records_from_start());
            loop {
                server.serve(&mut requests, &console, &mut observer);
                contain_panic(|| console.dump(&mut observer));
            }
        })
    }

    fn start_reports(self: &Arc<Self>) -> io::Result<()> {
        if self.reports.swap(true, AcqRel) {
            return Ok(());
        }
        let console = self.clone();
        start_thread("wakeful-deadlock", move || {
            let mut observer = Observer::new(records_from_start());
            let mut known = KnownHangs::default();
            loop {
                let begun = Instant::now();
                contain_panic(|| console.report(&mut observer, &mut known));
                let interval = console.settings.report_interval();
                thread::sleep(interval.max(begun.elapsed() * REPORT_SHARE));
            }
        })
    }

    fn schedulers(&self) -> Vec<SchedulerHandle> {
        let runtimes = lock(&self.runtimes);
        runtimes.iter().filter_map(|runtime| runtime.scheduler.upgrade()).collect()
    }

    fn dump(&self, observer: &mut Observer) {
        let ask = if self.settings.asks { Ask::All } else { Ask::None };
        let gap = self.settings.dump_interval.map_or(DUMP_GAP, |interval| interval.min(DUMP_GAP));
        let dump = Dump::new(observer.observe(&self.schedulers(), gap, ask));
        self.print(&mut |out| dump.write(out));
    }

    /// Looks for deadlocks, and reports those that are new.
    fn report(&self, observer: &mut Observer, known: &mut KnownHangs) {
        let schedulers = self.schedulers();
        let ask = if self.settings.asks { Ask::Suspects } else { Ask::None };
        let look = Dump::new(observer.observe(&schedulers, Duration::ZERO, ask));
        let is_worth = |hang: &Hang| hang.is_reported() || self.settings.reports_likely;
        let now = Instant::now();
        let suspects = known.update(look.hangs().iter().filter(|hang| is_worth(hang)), now);
        if suspects.is_empty() {
            return;
        }
        // Answers may be old: a hang is only reported if new ones say the same.
        let ids: Vec<u64> = suspects.iter().flat_map(Hang::actors).collect();
        let ask = if self.settings.asks { Ask::These(&ids) } else { Ask::None };
        let confirmed = Dump::new(observer.observe(&schedulers, Duration::ZERO, ask));
        drop(schedulers);
        for hang in confirmed.hangs().iter().filter(|hang| is_worth(hang)) {
            if suspects.iter().any(|suspect| suspect.is_same_as(hang)) {
                known.note_reported(hang);
                self.report_one(hang);
            }
        }
    }

    fn report_one(&self, hang: &Hang) {
        if self.settings.report_interval.is_some() {
            self.print(&mut |out| out(&format!("wakeful: {hang}\n")));
        }
        if !hang.is_reported() {
            return;
        }
        let callback = |runtime: &WatchedRuntime| runtime.on_deadlock.clone();
        let callbacks: Vec<_> = lock(&self.runtimes).iter().filter_map(callback).collect();
        for callback in callbacks {
            contain_panic(|| callback(hang));
        }
    }

    /// Appends what `write` writes to the file of `WAKEFUL_DUMP`, or prints it to standard error.
    fn print(&self, write: &mut WriteText<'_>) {
        let Some(path) = &self.settings.dump_path else {
            return write(&mut diagnostics::print_raw);
        };
        let opened = OpenOptions::new().create(true).append(true).open(path);
        let result = opened.and_then(|mut file| {
            let mut result = Ok(());
            write(&mut |text| {
                if result.is_ok() {
                    result = file.write_all(text.as_bytes());
                }
            });
            result
        });
        if let Err(error) = result {
            diagnostics::print(format_args!(
                "cannot write to {path:?}, the file that WAKEFUL_DUMP names: {error}. Here is what \
                 it was to contain"
            ));
            write(&mut diagnostics::print_raw);
        }
    }
}

/// The hangs of the last look, with the times when they were first seen, and those reported.
#[derive(Default)]
struct KnownHangs {
    suspected: Vec<(Hang, Instant)>,
    reported: Vec<Hang>,
}

impl KnownHangs {
    /// Notes the hangs of a look. Returns those that have been seen for long enough to be reported.
    fn update<'a>(&mut self, hangs: impl Iterator<Item = &'a Hang>, now: Instant) -> Vec<Hang> {
        let mut suspected = Vec::new();
        for hang in hangs {
            if self.reported.iter().any(|reported| reported.is_same_as(hang)) {
                continue;
            }
            let before = self.suspected.iter().find(|(before, _)| before.is_same_as(hang));
            suspected.push((hang.clone(), before.map_or(now, |before| before.1)));
        }
        self.suspected = suspected;
        let is_due = |suspect: &&(Hang, Instant)| now - suspect.1 >= REPORT_AFTER;
        self.suspected.iter().filter(is_due).map(|suspect| suspect.0.clone()).collect()
    }

    fn note_reported(&mut self, hang: &Hang) {
        if self.reported.len() == REPORTED_MAX {
            self.reported.remove(0);
        }
        self.reported.push(hang.clone());
    }
}

fn start_thread(name: &str, run: impl FnOnce() + Send + 'static) -> io::Result<()> {
    let run: Box<dyn FnOnce() + Send> = Box::new(move || {
        threads::set_role(ThreadRole::Helper, 0);
        run();
    });
    thread::Builder::new().name(name.into()).spawn(run)?;
    Ok(())
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
