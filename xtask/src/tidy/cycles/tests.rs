use super::*;

fn edges(files: &[(&str, &str)]) -> Vec<String> {
    let files: Files = files.iter().map(|(path, text)| (path.into(), text.to_string())).collect();
    let graph = graph(Path::new("src/lib.rs"), &files);
    let edges = graph.iter().flat_map(|(from, targets)| {
        targets
            .iter()
            .map(move |(to, (file, line))| format!("{from}>{to} {}:{line}", file.display()))
    });
    edges.collect()
}

fn problems(files: &[(&str, &str)]) -> Vec<String> {
    let mut files: Files =
        files.iter().map(|(path, text)| (path.into(), text.to_string())).collect();
    files.insert("Cargo.toml".into(), "[package]\nname = 'sample'".to_owned());
    let mut report = Report::default();
    check(&files, &crate::repo::packages(&files), &mut report);
    report.problems.iter().map(ToString::to_string).collect()
}

#[test]
fn use_trees_and_plain_paths_are_edges() {
    let found = edges(&[
        ("src/lib.rs", "mod a; mod b; mod c; mod d; mod e;"),
        (
            "src/a.rs",
            "use crate::{b::{X, Y}, c, self as top};\nfn f() { crate::d::g() }\n$crate::e!();",
        ),
        ("src/b.rs", "pub(in crate::a) struct X; use crate::*; use std::collections::c::x;"),
        ("src/c.rs", ""),
        ("src/d.rs", ""),
        ("src/e.rs", ""),
    ]);
    assert_eq!(found, ["a>b src/a.rs:1", "a>c src/a.rs:1", "a>d src/a.rs:2", "a>e src/a.rs:3"]);
}

#[test]
fn super_counts_only_where_it_leads_out_of_the_top_module() {
    let found = edges(&[
        ("src/lib.rs", "mod a; mod b; mod c { mod d { use super::super::b; use super::e; } }"),
        ("src/a.rs", "mod x; mod b;\nuse super::b::Y;"),
        ("src/a/x.rs", "use super::b;\nuse super::{super::c::Z, y};"),
        ("src/a/b.rs", ""),
        ("src/b.rs", ""),
    ]);
    assert_eq!(found, ["a>b src/a.rs:2", "a>c src/a/x.rs:2", "c>b src/lib.rs:1"]);
}

#[test]
fn a_name_re_exported_by_the_root_is_an_edge_to_its_module() {
    let found = edges(&[
        (
            "src/lib.rs",
            "mod a; mod b; mod c; pub use b::{Handle, y::Z as W}; pub use self::c::*; use std::fmt;",
        ),
        ("src/a.rs", "use crate::Handle;\nuse crate::fmt;"),
        ("src/b.rs", ""),
        ("src/c.rs", "fn f(_: crate::W) {}"),
    ]);
    assert_eq!(found, ["a>b src/a.rs:1", "c>b src/c.rs:1"]);
}

#[test]
fn tests_may_name_every_module() {
    let found = edges(&[
        ("src/lib.rs", "mod a; mod b;"),
        ("src/a.rs", "#[cfg(test)] use crate::b; #[cfg(test)] mod tests;"),
        ("src/a/tests.rs", "use crate::b;"),
        ("src/b.rs", "#[cfg(test)] mod tests { use crate::a; }"),
    ]);
    assert_eq!(found, Vec::<String>::new());
}

#[test]
fn each_group_is_reported_once_with_its_shortest_cycle() {
    let found = problems(&[
        ("src/lib.rs", "mod a; mod b; mod c; mod x; mod y; mod z;"),
        ("src/a.rs", "use crate::b;\nuse crate::x;"),
        ("src/b.rs", "use crate::c;"),
        ("src/c.rs", "use crate::a;\nuse crate::b;"),
        ("src/x.rs", "use crate::y;"),
        ("src/y.rs", "use crate::{x, z};"),
        ("src/z.rs", ""),
    ]);
    let expected = [
        "src/b.rs:1: top-level modules form a cycle: \
         b -> c (src/b.rs:1), c -> b (src/c.rs:2); all modules that depend on each other: a, b, c",
        "src/x.rs:1: top-level modules form a cycle: \
         x -> y (src/x.rs:1), y -> x (src/y.rs:1); all modules that depend on each other: x, y",
    ];
    assert_eq!(found, expected);
}

#[test]
fn layered_modules_form_no_cycle() {
    let found = problems(&[
        ("src/lib.rs", "mod a; mod b; mod c;"),
        ("src/a.rs", "use crate::{b, c};"),
        ("src/b.rs", "use crate::c;"),
        ("src/c.rs", ""),
    ]);
    assert_eq!(found, Vec::<String>::new());
}
