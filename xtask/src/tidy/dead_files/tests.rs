use super::*;
use crate::repo::packages;

fn dead(files: &[(&str, &str)]) -> Vec<String> {
    let files: Files = files.iter().map(|(path, text)| (path.into(), text.to_string())).collect();
    let mut report = Report::default();
    check(&files, &packages(&files), &mut report);
    report.problems.iter().map(|problem| problem.file.display().to_string()).collect()
}

#[test]
fn a_file_that_no_module_names_is_dead() {
    let found = dead(&[
        ("a/Cargo.toml", "[package]\nname = 'a'"),
        ("a/src/lib.rs", "mod x; // mod y;"),
        ("a/src/x.rs", ""),
        ("a/src/y.rs", "mod z;"),
        ("a/src/y/z.rs", ""),
        ("a/tests/it.rs", ""),
    ]);
    assert_eq!(found, ["a/src/y/z.rs", "a/src/y.rs"]);
}

#[test]
fn files_of_every_target_are_alive() {
    let found = dead(&[
        ("a/Cargo.toml", "[package]\nname = 'a'\n[[bin]]\npath = 'src/tool.rs'\n"),
        ("a/src/lib.rs", ""),
        ("a/src/main.rs", "mod used_by_main;"),
        ("a/src/used_by_main.rs", ""),
        ("a/src/tool.rs", ""),
        ("a/src/bin/one.rs", ""),
        ("a/src/bin/two/main.rs", "mod part;"),
        ("a/src/bin/two/part.rs", ""),
        ("a/src/bin/two/stray.rs", ""),
    ]);
    assert_eq!(found, ["a/src/bin/two/stray.rs"]);
}

#[test]
fn a_package_inside_a_package_is_checked_separately() {
    let found = dead(&[
        ("Cargo.toml", "[package]\nname = 'top'"),
        ("src/lib.rs", ""),
        ("src/inner/Cargo.toml", "[package]\nname = 'inner'"),
        ("src/inner/src/lib.rs", ""),
        ("src/inner/src/stray.rs", ""),
    ]);
    assert_eq!(found, ["src/inner/src/stray.rs"]);
}
