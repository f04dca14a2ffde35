use super::*;

fn in_code(path: &str, text: &str) -> Vec<usize> {
    let mut report = Report::default();
    check_code(&Source::new(Path::new(path), text), &mut report);
    report.problems.iter().map(|problem| problem.line).collect()
}

/// Replaces each `~` with a slash. The texts have no slashes in machine paths, so that this file
/// passes.
fn in_text(text: &str) -> Option<String> {
    machine_path(&text.replace('~', "/")).map(|found| found.replace('/', "~"))
}

#[test]
fn placeholders_are_found_in_code_and_comments() {
    let text =
        "fn a() { todo!() }\nfn b() { std::unimplemented![] }\n/// ```\n/// todo!()\n/// ```\n";
    assert_eq!(in_code("src/a.rs", text), [1, 2, 4]);
    assert_eq!(in_code("src/a.rs", "let todo = !x; \"todo!()\"; todo_list!()"), []);
}

#[test]
fn marks_are_found_as_words_in_comments() {
    let mark = MARKS[0];
    assert_eq!(in_code("src/a.rs", &format!("/* a\n {mark}: b */ c // {}", MARKS[1])), [2, 2]);
    assert_eq!(in_code("src/a.rs", &format!("// {}X {mark}S\n\"{mark}\"", MARKS[1])), []);
}

#[test]
fn ignored_tests_are_found() {
    assert_eq!(in_code("tests/a.rs", "#[test]\n#[ignore = \"slow\"]\nfn a() {}"), [2]);
    assert_eq!(in_code("tests/a.rs", "#[cfg_attr(miri, ignore)] fn a() { ignore[0]; }"), []);
}

#[test]
fn the_tour_may_be_unfinished() {
    assert_eq!(in_code("tour/src/step_1.rs", "fn a() { todo!() }"), []);
}

#[test]
fn machine_paths_are_found() {
    let found = |text| in_text(text).expect(text);
    assert_eq!(found("cd ~root~x && ls"), "~root~x");
    assert_eq!(found("path = \"~home~me~y\""), "~home~me~y");
    assert_eq!(found("file:~~~work~z, more"), "~work~z");
    assert_eq!(found("~Users~me"), "~Users~me");
}

#[test]
fn parts_of_longer_paths_are_fine() {
    for text in
        ["src~root~mod.rs", "..~work~x", "$HOME~work~x", "${X}~home~y", "~roots~x", "*~work~x"]
    {
        assert_eq!(in_text(text), None, "{text}");
    }
    assert_eq!(machine_path("https://example.org/home/page and ~/work/x"), None);
}
