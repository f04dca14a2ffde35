use super::*;

const PHRASES: &[Entry<'_>] =
    &[Entry { old: "who", new: "\"that\"" }, Entry { old: "many a", new: "\"many\"" }];

fn in_comments(text: &str) -> Vec<String> {
    let mut report = Report::default();
    check_comments(&Source::new(Path::new("a.rs"), text), PHRASES, &mut report);
    report.problems.iter().map(ToString::to_string).collect()
}

#[test]
fn whole_words_in_any_case_are_found() {
    let expected = ["a.rs:2: \"who\" in prose: write \"that\""];
    assert_eq!(in_comments("// A.\n// Who waits"), expected);
    assert_eq!(in_comments("/* WHO */ f(); // who's").len(), 2);
    assert_eq!(in_comments("// whole, whoever, who_waits, `who`").len(), 0);
}

#[test]
fn phrases_go_over_lines_but_not_over_sentences() {
    let expected = ["a.rs:1: \"many a\" in prose: write \"many\""];
    assert_eq!(in_comments("/// Many\n/// a task"), expected);
    assert_eq!(in_comments("// many. A task\n// many `x` a\n// many an a").len(), 0);
}

#[test]
fn code_and_strings_are_not_prose() {
    assert_eq!(in_comments("fn who() { \"// who\" }\n/// ```\n/// who()\n/// ```").len(), 0);
}

#[test]
fn markdown_is_prose_without_its_code() {
    let mut report = Report::default();
    let text = "# Who\n\n```\nwho\n```\n\n`who` and\nwho";
    check_markdown(Path::new("a.md"), text, PHRASES, &mut report);
    let lines: Vec<usize> = report.problems.iter().map(|problem| problem.line).collect();
    assert_eq!(lines, [1, 8]);
}

#[test]
fn the_list_holds_words_that_can_match() {
    for Entry { old, .. } in list() {
        let words = prose::of_markdown(old, 1);
        assert!(starts_with(&words, old), "`{old}` never matches: lower case, single spaces");
    }
}
