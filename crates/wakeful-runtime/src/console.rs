//! The console: dumps on a signal, and reports of deadlocks, for programs that know nothing of it.
//!
//! | variable | effect |
//! |---|---|
//! | `WAKEFUL_CONSOLE` | `SIGQUIT` prints a dump, and the program goes on |
//! | `WAKEFUL_DUMP` | the file to which dumps are appended, instead of standard error |
//! | `WAKEFUL_DEADLOCK_REPORT` | each certain verdict is printed once, when it is found |
//!
//! The first runtime of the process starts the console's thread if a variable asks for it. Without
//! the variables there is no thread, no descriptor and no signal handler. In a program with more
//! rights than its user (set-user-id) the variables are ignored.

mod quit_signal;
mod settings;

use crate::census::{Ask, Dump, Observer};
use crate::scheduler::{SchedulerHandle, WeakScheduler};
use settings::Settings;
use std::fs::OpenOptions;
use std::io::{self, Write};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::thread;
use std::time::Duration;
use wakeful_base::catch_panic::contain_panic;
use wakeful_base::diagnostics;
use wakeful_base::threads::{self, ThreadRole};

/// Over which time a dump looks at the process. What has changed meanwhile does not hang.
const DUMP_GAP: Duration = Duration::from_millis(150);

/// The same for each look that searches for deadlocks: it asks only what stood still since the look
/// before.
const REPORT_GAP: Duration = Duration::from_millis(10);

/// The console of this process, if a variable asks for one.
struct Console {
    settings: Settings,
    runtimes: Mutex<Vec<WeakScheduler>>,
}

static CONSOLE: OnceLock<Option<Arc<Console>>> = OnceLock::new();

/// Reads the settings when the first runtime is about to be built.
pub(crate) fn prepare() {
    CONSOLE.get_or_init(|| {
        let settings = Settings::from_env()?;
        if settings.records {
            // waiting::watch();
        }
        let console = Arc::new(Console { settings, runtimes: Mutex::default() });
        if let Err(error) = console.start() {
            diagnostics::print(format_args!(
                "the console that the environment asks for cannot start: {error}. The program runs \
                 without it"
            ));
        }
        Some(console)
    });
}

/// Lets the console know of a new runtime.
pub(crate) fn add_runtime(runtime: &SchedulerHandle) {
    let Some(Some(console)) = CONSOLE.get() else { return };
    let mut runtimes = lock(&console.runtimes);
    runtimes.retain(|runtime| runtime.upgrade().is_some());
    runtimes.push(runtime.downgrade());
}

impl Console {
    fn start(self: &Arc<Self>) -> io::Result<()> {
        let requests = if self.settings.dumps { Some(quit_signal::install()?) } else { None };
        let console = self.clone();
        let thread_main: Box<dyn FnOnce() + Send> = Box::new(move || {
            threads::set_role(ThreadRole::Helper, 0);
            console.run(requests);
        });
        thread::Builder::new().name("wakeful-console".into()).spawn(thread_main)?;
        Ok(())
    }

    /// Serves requests for dumps, and looks for deadlocks, as long as the process lives.
    fn run(&self, mut requests: Option<quit_signal::Requests>) {
        let mut observer = Observer::default();
        let interval = self.settings.report_interval;
        loop {
            let is_requested = match &mut requests {
                Some(requests) => requests.wait(interval),
                None => {
                    thread::sleep(interval.unwrap_or(Duration::MAX));
                    false
                }
            };
            contain_panic(|| match is_requested {
                true => self.dump(&mut observer),
                false => self.report(&mut observer),
            });
        }
    }

    fn runtimes(&self) -> Vec<SchedulerHandle> {
        lock(&self.runtimes).iter().filter_map(WeakScheduler::upgrade).collect()
    }

    fn dump(&self, observer: &mut Observer) {
        let ask = if self.settings.asks { Ask::Everybody } else { Ask::Nobody };
        let runtimes = self.runtimes();
        let snapshot = observer.observe(&runtimes, DUMP_GAP, ask);
        drop(runtimes);
        let dump = Dump::new(snapshot);
        self.print(&dump.verdicts_text());
        // Names are resolved after that, which may take long.
        self.print(&dump.rest_text());
    }

    fn report(&self, observer: &mut Observer) {
        let ask = if self.settings.asks { Ask::Suspects } else { Ask::Nobody };
        let _snapshot = observer.observe(&self.runtimes(), REPORT_GAP, ask);
    }

    /// Appends `text` to the file of `WAKEFUL_DUMP`, or prints it to standard error.
    fn print(&self, text: &str) {
        if let Some(path) = &self.settings.dump_path {
            let file = OpenOptions::new().create(true).append(true).open(path);
            match file.and_then(|mut file| file.write_all(text.as_bytes())) {
                Ok(()) => return,
                Err(error) => diagnostics::print(format_args!(
                    "the dump cannot be written to {}, as WAKEFUL_DUMP says: {error}. Here it is \
                     instead",
                    path.display()
                )),
            }
        }
        diagnostics::print_raw(text);
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
