use super::*;

fn notes(path: &str, text: &str) -> Vec<String> {
    let mut report = Report::default();
    check(&Source::new(Path::new(path), text), &mut report);
    assert!(report.problems.is_empty(), "size is never a failure");
    report.notes.iter().map(ToString::to_string).collect()
}

/// Returns a function of `lines` code lines, with comments between them.
fn function(lines: usize) -> String {
    format!("fn f() {{\n{}}}\n", "    // why\n    g();\n".repeat(lines - 2))
}

#[test]
fn a_long_function_is_noted_at_its_line() {
    assert_eq!(notes("src/a.rs", &function(70)), Vec::<String>::new());
    let text = format!("type F = fn(u8);\nfn declared(a: [u8; 2]);\n{}", function(71));
    let expected = "src/a.rs:3: function `f` of 71 code lines (aim: at most 70)";
    assert_eq!(notes("src/a.rs", &text), [expected]);
}

#[test]
fn a_long_file_is_noted_without_its_tests() {
    let text = "a!();\n".repeat(400);
    let with_tests = format!("{text}#[cfg(test)]\nmod tests {{\n b!();\n}}\n");
    assert_eq!(notes("src/a.rs", &with_tests), Vec::<String>::new());
    let expected = "src/a.rs:1: file of 401 code lines (aim: at most 400)";
    assert_eq!(notes("src/a.rs", &format!("{text}a!();")), [expected]);
}

#[test]
fn tests_may_be_long() {
    for path in ["src/a/tests.rs", "tests/a.rs", "src/a/tests/loom.rs"] {
        assert_eq!(notes(path, &function(500)), Vec::<String>::new());
    }
}
