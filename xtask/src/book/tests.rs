use super::*;

const CHAPTER: &str = "# One\n\n[中文](01-one.zh-CN.md) · [Contents](README.md)\n\n## A `part`\n\n\
                       ```rust\nlet a = 1; // one\n```\n";
const CHAPTER_ZH: &str = "# 一\n\n[English](01-one.md) · [目录](README.zh-CN.md)\n\n## 一部分\n\n\
                          ```rust\nlet a = 1; // 壹\n```\n";
const SUMMARY: &str = "# Summary\n\n- [Guide](README.md)\n  - [One](01-one.md)\n\
                       - [指南](README.zh-CN.md)\n  - [一](01-one.zh-CN.md)\n";

/// A book without problems.
fn book() -> Files {
    let files = [
        ("docs/01-one.md", CHAPTER),
        ("docs/01-one.zh-CN.md", CHAPTER_ZH),
        ("docs/README.md", "# Guide\n[One](01-one.md#a-part)\n"),
        ("docs/README.zh-CN.md", "# 指南\n[一](01-one.zh-CN.md#一部分)\n"),
        ("docs/SUMMARY.md", SUMMARY),
    ];
    files.into_iter().map(|(path, text)| (path.into(), text.to_owned())).collect()
}

/// Returns the problems of the book in which `from` was replaced by `to` on `page`.
fn problems(page: &str, from: &str, to: &str) -> Vec<String> {
    let mut files = book();
    let text = files.get_mut(Path::new(page)).expect("there is such a page");
    assert!(text.contains(from), "{page}: {from}");
    *text = text.replace(from, to);
    check(&files).iter().map(Problem::to_string).collect()
}

#[track_caller]
fn assert_one(problems: &[String], expected: &str) {
    assert!(problems.len() == 1 && problems[0].contains(expected), "{problems:#?}");
}

#[test]
fn the_sample_has_no_problems() {
    assert_eq!(problems("docs/01-one.md", "One", "One"), [""; 0]);
}

#[test]
fn a_link_to_a_missing_file_is_found() {
    let found = problems("docs/SUMMARY.md", "- [Guide]", "[x](../none.md)\n- [Guide]");
    assert!(found.iter().any(|problem| problem.contains("no file `none.md`")), "{found:#?}");
}

#[test]
fn an_anchor_without_heading_is_found() {
    assert_one(&problems("docs/README.md", "#a-part", "#apart"), "no heading for `#apart`");
    assert_one(&problems("docs/README.zh-CN.md", "#一部分", "#部分"), "no heading for `#部分`");
}

#[test]
fn links_in_code_are_no_links() {
    let code = "\n```text\n[a](none.md)\n```\n";
    let found = problems("docs/README.md", "# Guide", &format!("# Guide\n`[a](none.md)`{code}"));
    assert_one(&found, "1 code blocks in English, 0 in Chinese");
}

#[test]
fn other_code_is_found_and_other_comments_are_not() {
    assert_one(&problems("docs/01-one.zh-CN.md", "a = 1", "a = 2"), "the code differs");
    assert_one(&problems("docs/01-one.zh-CN.md", "```rust", "```text"), "the code differs");
}

#[test]
fn missing_headings_and_links_are_found() {
    let found = problems("docs/01-one.zh-CN.md", "## 一部分", "## 一\n\n## 部分");
    assert!(found.iter().any(|problem| problem.contains("the headings differ")), "{found:#?}");
    let found = problems("docs/01-one.md", "## A", "[guide](README.md)\n\n## A");
    assert_one(&found, "only in the English page");
}

#[test]
fn a_missing_translation_is_found() {
    let mut files = book();
    files.remove(Path::new("docs/01-one.zh-CN.md"));
    let found = check(&files);
    assert!(found.iter().any(|problem| problem.message.contains("missing in this language")));
}

#[test]
fn the_summary_must_list_each_chapter_under_its_title() {
    let found = problems("docs/SUMMARY.md", "  - [One](01-one.md)\n", "");
    assert_one(&found, "`01-one.md` is not listed");
    assert_one(&problems("docs/SUMMARY.md", "[一]", "[二]"), "the page's title is `一`");
    assert_one(&problems("docs/SUMMARY.md", "  - [One]", "- [One]"), "indented");
}

#[test]
fn anchors_are_made_as_github_makes_them() {
    let page = Page::parse("# What's `new` in 1.0?\n## What's new in 1.0?\n## 一次 poll\n");
    let anchors = page.anchors();
    for anchor in ["whats-new-in-10", "whats-new-in-10-1", "一次-poll"] {
        assert!(anchors.contains(anchor), "{anchor}: {anchors:?}");
    }
}

/// Returns the problems of the book with `text` at the end of its contents page, in a repository with
/// a task, a package and a target.
fn problems_with(text: &str) -> Vec<String> {
    let mut files = book();
    let page = files.get_mut(Path::new("docs/README.md")).expect("there is such a page");
    page.push_str(text);
    let chinese = files.get_mut(Path::new("docs/README.zh-CN.md")).expect("there is such a page");
    chinese.push_str(text);
    for (path, text) in [
        ("xtask/src/main.rs", "[\"tidy\"] => tidy::run(),"),
        ("crates/one/Cargo.toml", "[package]\nname = \"one\"\n"),
        ("crates/one/src/bin/two.rs", ""),
    ] {
        files.insert(path.into(), text.to_owned());
    }
    check(&files).iter().map(Problem::to_string).collect()
}

#[test]
fn commands_that_name_what_exists_have_no_problem() {
    let right = "\n`cargo xtask tidy`, `cargo update -p CRATE`\n\n```sh\n\
                 cargo run -p one --bin two -- --path none   # a comment -p none\n\
                 cargo install --path ../wakeful/crates/one\n```\n\n\
                 ```toml\none = { path = \"../wakeful/crates/one\" }\n```\n";
    assert_eq!(problems_with(right), [""; 0]);
}

#[test]
fn commands_that_name_what_is_missing_are_found() {
    for (command, expected) in [
        ("cargo xtask clean", "does not know `clean`"),
        ("cargo test -p none", "no package `none`"),
        ("cargo run --bin three", "no `src/bin/three`"),
        ("cargo test --manifest-path crates/none/Cargo.toml", "no `crates/none/Cargo.toml`"),
        ("bash .ci/none", "no `.ci/none`"),
    ] {
        for text in [format!("\n`{command}`\n"), format!("\n```sh\n$ {command}\n```\n")] {
            let found = problems_with(&text);
            assert!(found.len() == 2 && found[0].contains(expected), "{text}: {found:#?}");
        }
    }
    let found = problems_with("\n```toml\none = { path = \"../wakeful/one\" }\n```\n");
    assert!(found.len() == 2 && found[0].contains("`one` is not the package `one`"), "{found:#?}");
}

#[test]
fn rust_code_that_no_test_compiles_is_found() {
    let found = problems_with("\n```rust\nlet a = 1;\n```\n");
    assert!(found.len() == 2 && found[0].contains("no test compiles this code"), "{found:#?}");
}
