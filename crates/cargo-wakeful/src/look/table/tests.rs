use super::{Column, Kind, Table, fit, wrap};

const COLUMNS: [Column; 4] = [
    Column { title: "ID", kind: Kind::Number, rank: 0 },
    Column { title: "SITE", kind: Kind::Path, rank: 0 },
    Column { title: "NAME", kind: Kind::Long, rank: 2 },
    Column { title: "POLLS", kind: Kind::Number, rank: 1 },
];

fn lines(rows: &[[&str; 4]], width: Option<usize>) -> Vec<String> {
    let mut table = Table::new(&COLUMNS);
    rows.iter().for_each(|row| table.add(row.map(str::to_owned).to_vec()));
    table.lines(width)
}

const SITE: &str = "crates/some-crate/src/some/where/deep.rs:120:9";
const NAME: &str = "a name that is longer than its column";

#[test]
fn without_a_width_nothing_is_shortened() {
    let lines = lines(&[["7", SITE, NAME, "10"]], None);
    assert_eq!(lines[0].split_whitespace().collect::<Vec<_>>(), ["ID", "SITE", "NAME", "POLLS"]);
    assert_eq!(lines[1], format!(" 7  {SITE}  {NAME}     10"));
}

#[test]
fn paths_keep_their_end_and_texts_their_beginning() {
    let lines = lines(&[["7", SITE, NAME, "10"]], Some(60));
    assert!(lines.iter().all(|line| line.chars().count() <= 60), "{lines:#?}");
    assert!(lines[1].contains("…") && lines[1].contains("deep.rs:120:9"), "{lines:#?}");
    assert!(lines[1].contains("a name that is"), "{lines:#?}");
}

#[test]
fn columns_are_left_out_by_rank() {
    let narrow = lines(&[["7", SITE, NAME, "10"]], Some(40));
    assert_eq!(narrow[0].split_whitespace().collect::<Vec<_>>(), ["ID", "SITE", "POLLS"]);
    let narrowest = lines(&[["7", SITE, NAME, "10"]], Some(5));
    assert_eq!(narrowest[0].split_whitespace().collect::<Vec<_>>(), ["ID", "SITE"]);
}

#[test]
fn columns_without_content_are_left_out() {
    let lines = lines(&[["7", "", "", "10"], ["8", "", "", ""]], None);
    assert_eq!(lines[0].split_whitespace().collect::<Vec<_>>(), ["ID", "SITE", "POLLS"]);
}

#[test]
fn wide_letters_take_two_columns() {
    let lines = lines(&[["7", "s", "名称", "1"], ["8", "s", "name", "2"]], None);
    assert_eq!(lines[1], " 7  s     名称      1");
    assert_eq!(lines[2], " 8  s     name      2");
    assert_eq!(fit("名称名称", Some(5)), "名称…");
}

#[test]
fn a_name_cannot_command_the_terminal() {
    let lines = lines(&[["7", "s", "\x1b[2Jname\n", "1"]], None);
    assert!(lines[1].contains("\u{fffd}[2Jname\u{fffd}"), "{lines:#?}");
}

#[test]
fn sentences_break_between_words() {
    let text = "1. deadlock (certain): task 1 waits for mutex 1";
    let expected = ["1. deadlock (certain): task", "   1 waits for mutex 1"];
    assert_eq!(wrap(text, Some(31)), expected);
    assert_eq!(wrap(text, None), [text]);
}
