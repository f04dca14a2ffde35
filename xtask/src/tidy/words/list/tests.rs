use super::*;

#[test]
fn comments_and_blank_lines_are_skipped() {
    let entries = parse("a.txt", "# Comment.\n\nSeat -> Worker\n  many a -> many \n");
    let expected = [Entry { old: "Seat", new: "Worker" }, Entry { old: "many a", new: "many" }];
    assert_eq!(entries, expected);
}

#[test]
#[should_panic(expected = "a.txt:2: `Seat = Worker` is no entry: write `old -> new`")]
fn a_line_without_an_arrow_is_refused() {
    parse("a.txt", "# Comment.\nSeat = Worker");
}

#[test]
#[should_panic(expected = "a.txt:2: `a -> c` repeats an earlier entry")]
fn a_repeated_entry_is_refused() {
    parse("a.txt", "a -> b\na -> c");
}
