use std::time::Duration;

use super::{Look, Record, Request, Serve, Table, Target, Topic, parse};

fn look(topic: Topic, line: &str) -> Result<Look, String> {
    match parse(topic, line.split_whitespace().map(str::to_owned).collect())? {
        Request::Look(look) => Ok(look),
        other => panic!("not a look: {other:?}"),
    }
}

fn tasks(line: &str) -> Table {
    match look(Topic::Ps, &format!("4711 {line}")) {
        Ok(Look::Tasks(Target::Pid(4711), table)) => table,
        other => panic!("not tasks: {other:?}"),
    }
}

#[test]
fn ps_lists_programs_or_tasks() {
    assert_eq!(look(Topic::Ps, ""), Ok(Look::List(Table::default())));
    assert_eq!(
        look(Topic::Ps, "api"),
        Ok(Look::Tasks(Target::Name("api".into()), Table::default()))
    );
    assert!(look(Topic::Ps, "--sort busy").unwrap_err().contains("cargo wakeful ps PID"));
    assert!(look(Topic::Ps, "4711 4712").unwrap_err().contains("does not know `4712`"));
}

#[test]
fn options_of_ps_are_read_in_either_form() {
    let table = tasks("--sort busy -r --filter=db --state waiting -n 7 --json -w -g");
    assert_eq!(table.sort.unwrap().member, "busy_us");
    assert!(table.is_reversed && table.prints_json && table.watches && table.groups);
    assert_eq!(table.filter.as_deref(), Some("db"));
    assert_eq!(table.state.as_deref(), Some("waiting"));
    assert_eq!(table.limit, 7);
    assert_eq!(tasks("--limit all").limit, usize::MAX);
}

#[test]
fn wrong_values_are_answered_with_the_right_ones() {
    let error = |line: &str| look(Topic::Ps, &format!("4711 {line}")).unwrap_err();
    assert!(error("--sort size").contains("busy, last, wakes"), "{}", error("--sort size"));
    assert!(error("--state asleep").contains("waiting, queued, running"));
    assert!(error("--limit 0").contains("--limit all"));
    assert!(error("--limit some").contains("--limit all"));
    assert!(error("--sort").contains("needs a value"));
    assert!(error("--json=yes").contains("takes no value"));
    assert!(error("--no-ask").contains("cargo wakeful ps --help"));
}

#[test]
fn dump_and_console_need_a_program() {
    let target = || Target::Pid(4711);
    let dump = Look::Dump { target: target(), asks: false };
    assert_eq!(look(Topic::Dump, "--no-ask 4711"), Ok(dump));
    assert!(look(Topic::Dump, "").unwrap_err().contains("needs a program"));
    let serve = Serve { port: 8123, opens_no_browser: true };
    let console = look(Topic::Console, "4711 --port 8123 --no-open");
    assert_eq!(console, Ok(Look::Console(target(), serve)));
    assert!(look(Topic::Console, "4711 --port 70000").unwrap_err().contains("0 to 65535"));
    assert!(look(Topic::Console, "").unwrap_err().contains("cargo wakeful ps"));
}

#[test]
fn the_time_of_a_profile_has_a_unit() {
    let record = |line: &str| match look(Topic::Profile, &format!("4711 {line}")) {
        Ok(Look::Profile(Target::Pid(4711), record)) => Ok(record),
        Ok(other) => panic!("not a profile: {other:?}"),
        Err(message) => Err(message),
    };
    assert_eq!(record(""), Ok(Record::default()));
    for (text, ms) in [("10s", 10_000), ("7", 7_000), ("500ms", 500), ("2min", 120_000)] {
        assert_eq!(record(&format!("--for {text}")).unwrap().time, Duration::from_millis(ms));
    }
    for text in ["0", "0s", "s", "5h", "-3s", "1.5s", "25000min", "99999999999999999999s"] {
        let message = record(&format!("--for={text}")).unwrap_err();
        assert!(message.contains("write 10s, 500ms or 2min"), "{message}");
    }
    let both = record("--busy --waiting").unwrap();
    assert!(!both.without_busy && !both.without_waiting);
    assert!(record("--busy").unwrap().without_waiting);
    assert!(record("--waiting --pprof=p --folded -").unwrap().prints_folded());
}
