use super::*;

const RETIRED: &[Entry<'_>] = &[
    Entry { old: "Seat", new: "Worker" },
    Entry { old: "take_seat", new: "take_over" },
    Entry { old: "bell", new: "event_notifier" },
    Entry { old: "stall/rest", new: "stall/monitor_alarm" },
];

fn in_code(text: &str) -> Vec<String> {
    let mut report = Report::default();
    check_code(&Source::new(Path::new("a.rs"), text), RETIRED, &mut report);
    report.problems.iter().map(ToString::to_string).collect()
}

fn in_path(path: &str) -> Vec<String> {
    let mut report = Report::default();
    check_path(Path::new(path), RETIRED, &mut report);
    report.problems.iter().map(ToString::to_string).collect()
}

#[test]
fn whole_identifiers_are_found() {
    assert_eq!(in_code("struct Seat;"), ["a.rs:1: `Seat` is a retired name: write `Worker`"]);
    assert_eq!(in_code("mod bell;\nuse x::{Seat, y};\nm!(a.take_seat());").len(), 3);
    assert_eq!(
        in_code("fn f(seat: &Seats) { Place::Seating; take_seats(); bell_rings() }").len(),
        0
    );
}

#[test]
fn a_line_reports_each_name_once() {
    assert_eq!(in_code("fn f(a: Seat, b: Seat) {}\nfn g(a: Seat) {}").len(), 2);
}

#[test]
fn strings_and_comments_are_not_code() {
    assert_eq!(
        in_code("// Seat\n/// [`Seat`]\nlet a = \"Seat\"; /* take_seat */ 'bell: loop {}").len(),
        0
    );
}

#[test]
fn names_of_files_and_folders_are_found() {
    let expected =
        "sys/linux/bell.rs:1: `bell` is a retired file name: rename it to `event_notifier`";
    assert_eq!(in_path("sys/linux/bell.rs"), [expected]);
    assert_eq!(in_path("src/bell/tests/loom.rs").len(), 1);
    assert_eq!(in_path("src/bells.rs").len(), 0);
}

#[test]
fn an_entry_with_a_slash_is_only_a_path() {
    assert_eq!(in_path("src/stall/rest.rs").len(), 1);
    assert_eq!(in_path("src/stall/rest/tests.rs").len(), 1);
    assert_eq!(in_path("src/install/rest.rs").len() + in_path("src/rest.rs").len(), 0);
    assert_eq!(in_code("mod rest; stall/rest").len(), 0);
}

#[test]
fn the_list_names_identifiers_and_paths() {
    for Entry { old, .. } in list() {
        let is_name = |c: char| c.is_ascii_alphanumeric() || "_/".contains(c);
        assert!(old.chars().all(is_name), "`{old}` can never match");
    }
}
