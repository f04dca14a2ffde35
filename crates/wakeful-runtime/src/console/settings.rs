//! What the environment says about the console.

use std::env;
use std::ffi::{OsStr, OsString};
use std::path::PathBuf;
use std::time::Duration;
use wakeful_base::diagnostics;

/// How often deadlocks are looked for, unless `WAKEFUL_DEADLOCK_REPORT` names a time. Each look
/// costs some hundred nanoseconds for each task.
const REPORT_INTERVAL_DEFAULT: Duration = Duration::from_millis(500);

/// The shortest time between two looks or dumps.
const INTERVAL_MIN: Duration = Duration::from_millis(1);

/// The settings of a console that the environment asks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Settings {
    /// `SIGQUIT` prints a dump.
    pub(super) dumps: bool,
    /// The holders of permits and the users of channels are recorded from the start.
    pub(super) records: bool,
    /// Tasks are recorded from the start, and not only while a client is connected.
    pub(super) watches: bool,
    /// Tasks may be woken for a poll that reports what they wait for.
    pub(super) asks: bool,
    /// The time between two dumps that no signal has requested, if there are any.
    pub(super) dump_interval: Option<Duration>,
    /// The time between two looks for deadlocks, if they are reported.
    pub(super) report_interval: Option<Duration>,
    /// Hangs that are only likely are reported too.
    pub(super) reports_likely: bool,
    pub(super) dump_path: Option<PathBuf>,
}

impl Default for Settings {
    /// The settings if only a callback asks for a console.
    fn default() -> Settings {
        Settings {
            dumps: false,
            records: false,
            watches: false,
            asks: true,
            dump_interval: None,
            report_interval: None,
            reports_likely: false,
            dump_path: None,
        }
    }
}

impl Settings {
    /// Returns the time between two looks for deadlocks.
    pub(super) fn report_interval(&self) -> Duration {
        self.report_interval.unwrap_or(REPORT_INTERVAL_DEFAULT)
    }

    /// Returns the settings, or `None` if no console is asked for.
    pub(super) fn from_env() -> Option<Settings> {
        let (console, report) =
            (env::var_os("WAKEFUL_CONSOLE"), env::var_os("WAKEFUL_DEADLOCK_REPORT"));
        let is_set = |value: &Option<OsString>| value.as_ref().is_some_and(|value| is_on(value));
        if !is_set(&console) && !is_set(&report) || is_set_user_id() {
            return None;
        }
        let settings = Settings::parse(console.as_deref(), report.as_deref(), &mut |message| {
            diagnostics::print(format_args!("{message}"));
        });
        let dump_path = env::var_os("WAKEFUL_DUMP").filter(|path| !path.is_empty());
        Some(Settings { dump_path: dump_path.map(PathBuf::from), ..settings })
    }

    /// Parses the values of the variables. Passes what cannot be understood to `complain`.
    fn parse(
        console: Option<&OsStr>,
        report: Option<&OsStr>,
        complain: &mut dyn FnMut(String),
    ) -> Settings {
        let mut settings = Settings { dumps: console.is_some_and(is_on), ..Settings::default() };
        for_each_word(console, &mut |word| match word {
            "1" | "" => {}
            "watch" => (settings.records, settings.watches) = (true, true),
            "nopoll" => settings.asks = false,
            other => match interval(other) {
                Some(interval) => settings.dump_interval = Some(interval),
                None => complain(format!(
                    "WAKEFUL_CONSOLE contains {other:?}, which means nothing; it may be 1, or some \
                     of the words watch, nopoll, and the time between two dumps such as 500ms, with \
                     commas in between"
                )),
            },
        });
        for_each_word(report, &mut |word| {
            settings.records = true;
            let report_interval = settings.report_interval.get_or_insert(REPORT_INTERVAL_DEFAULT);
            match (word, interval(word)) {
                (_, Some(interval)) => *report_interval = interval,
                ("likely", None) => settings.reports_likely = true,
                ("1" | "", None) => {}
                (other, None) => complain(format!(
                    "WAKEFUL_DEADLOCK_REPORT contains {other:?}, which means nothing; it may be 1, \
                     the time between two looks such as 100ms, likely, or both with a comma in \
                     between"
                )),
            }
        });
        settings
    }
}

/// Calls `visit` with each of the words of a variable's value, which commas separate.
#[inline(never)]
fn for_each_word(value: Option<&OsStr>, visit: &mut dyn FnMut(&str)) {
    let Some(value) = value.filter(|value| is_on(value)) else { return };
    for word in value.to_string_lossy().split(',') {
        visit(word.trim());
    }
}

/// Parses a time such as `100ms`.
fn interval(word: &str) -> Option<Duration> {
    let ms = word.strip_suffix("ms")?.trim().parse().ok()?;
    Some(Duration::from_millis(ms).max(INTERVAL_MIN))
}

fn is_on(value: &OsStr) -> bool {
    !value.is_empty() && value != "0"
}

/// Returns whether the program has more rights than its user. Then the environment, which the user
/// controls, must not make it write files or handle signals.
#[cfg(target_os = "linux")]
fn is_set_user_id() -> bool {
    use std::ffi::c_ulong;

    const AT_SECURE: c_ulong = 23;

    unsafe extern "C" {
        safe fn getauxval(kind: c_ulong) -> c_ulong;
    }

    getauxval(AT_SECURE) != 0
}

#[cfg(not(target_os = "linux"))]
fn is_set_user_id() -> bool {
    false
}

#[cfg(all(test, not(wakeful_loom)))]
mod tests {
    use super::*;

    fn parse(console: &str, report: &str) -> (Settings, Vec<String>) {
        let mut complaints = Vec::new();
        let value = |text: &str| (!text.is_empty()).then(|| OsString::from(text));
        let (console, report) = (value(console), value(report));
        let settings = Settings::parse(console.as_deref(), report.as_deref(), &mut |message| {
            complaints.push(message);
        });
        (settings, complaints)
    }

    #[test]
    fn words_may_be_combined() {
        let (settings, complaints) = parse("watch,nopoll", "");
        assert!(settings.dumps && settings.records && !settings.asks);
        assert_eq!(parse("watch,20ms", "").0.dump_interval, Some(Duration::from_millis(20)));
        assert_eq!((settings.report_interval, complaints.len()), (None, 0));
        let (settings, complaints) = parse("1", "50ms");
        assert!(settings.dumps && settings.records && settings.asks);
        assert_eq!(settings.report_interval, Some(Duration::from_millis(50)));
        assert!(complaints.is_empty());
        let (settings, complaints) = parse("", "20ms,likely");
        assert!(settings.reports_likely && complaints.is_empty());
        assert_eq!(settings.report_interval, Some(Duration::from_millis(20)));
        let (settings, _) = parse("0", "1");
        assert!(!settings.dumps);
        assert_eq!(settings.report_interval, Some(REPORT_INTERVAL_DEFAULT));
    }

    #[test]
    fn values_that_mean_nothing_are_named() {
        let (settings, complaints) = parse("yes", "soon");
        assert!(settings.dumps && settings.report_interval.is_some());
        assert_eq!(complaints.len(), 2);
        assert!(complaints[0].contains("\"yes\"") && complaints[0].contains("watch"));
        assert!(complaints[1].contains("\"soon\"") && complaints[1].contains("100ms"));
    }
}
