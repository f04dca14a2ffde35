use super::*;

fn problems(path: &str, text: &str) -> Vec<String> {
    let (path, words, mut report) = (Path::new(path), Words::new(), Report::default());
    words.check_file(path, text, &mut report);
    if path.extension().is_some_and(|extension| extension == "rs") {
        words.check_rust(&Source::new(path, text), text, &mut report);
    }
    report.problems.iter().map(ToString::to_string).collect()
}

#[test]
fn code_comments_and_names_under_crates_are_checked() {
    let text = format!("// Nobody\nstruct Sitter;\n// {}", "a".repeat(100));
    assert_eq!(problems("crates/a/src/sitter.rs", &text).len(), 4);
    assert_eq!(problems("crates/a/README.md", "nobody").len(), 0);
}

#[test]
fn other_programs_have_words_of_their_own() {
    for path in ["tour/src/sitter.rs", "xtask/src/sitter.rs", "bench/src/crates/sitter.rs"] {
        assert_eq!(problems(path, "// Nobody\nstruct Sitter;").len(), 0, "{path}");
    }
}

#[test]
fn documents_for_contributors_and_the_guide_are_checked() {
    let documents = ["CONTRIBUTING.md", "ARCHITECTURE.md", "docs/design/wheel.md"];
    for path in documents.into_iter().chain(["docs/README.md", "docs/01-flavours.md"]) {
        assert_eq!(problems(path, "nobody").len(), 1, "{path}");
    }
    let others = ["README.md", "docs/design/a/b.md", "docs/design/a.txt"];
    for path in others.into_iter().chain(["docs/01-flavours.zh-CN.md", "docs/01.txt"]) {
        assert_eq!(problems(path, "nobody").len(), 0, "{path}");
    }
}
