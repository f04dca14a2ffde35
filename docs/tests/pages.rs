//! The guide exists in both languages, its links resolve, and its tables agree with the code.

use std::fs;
use std::path::{Path, PathBuf};

const ENGLISH: &str = ".md";
const CHINESE: &str = ".zh-CN.md";

fn docs() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn read(page: &Path) -> String {
    fs::read_to_string(page).unwrap_or_else(|why| panic!("{}: {why}", page.display()))
}

/// The chapters' names without what says the language, in order.
fn chapters() -> Vec<String> {
    let names = fs::read_dir(docs()).unwrap().map(|entry| entry.unwrap().file_name());
    let names = names.map(|name| name.into_string().unwrap());
    let names = names.filter(|name| name.starts_with(|first: char| first.is_ascii_digit()));
    let mut stems: Vec<_> = names
        .map(|name| name.strip_suffix(CHINESE).or(name.strip_suffix(ENGLISH)).unwrap().to_owned())
        .collect();
    stems.sort();
    stems.dedup();
    stems
}

fn all_pages() -> Vec<PathBuf> {
    let stems = chapters().into_iter().chain(["README".to_owned(), "../README".to_owned()]);
    stems
        .flat_map(|stem| [ENGLISH, CHINESE].map(|end| docs().join(format!("{stem}{end}"))))
        .collect()
}

/// The targets of `[text](target)` that are files.
fn links(text: &str) -> Vec<&str> {
    let targets = text.split("](").skip(1).filter_map(|rest| rest.split_once(')'));
    let targets = targets.map(|(target, _)| target.split('#').next().unwrap_or(target));
    targets.filter(|target| !target.is_empty() && !target.contains("://")).collect()
}

/// The Rust code on a page, without its comments.
fn examples(page: &str) -> Vec<Vec<String>> {
    let blocks = page.split("\n```").skip(1).step_by(2).filter(|block| block.starts_with("rust"));
    blocks.map(|block| block.lines().skip(1).map(without_comment).collect()).collect()
}

fn without_comment(line: &str) -> String {
    line.split("//").next().unwrap_or_default().trim_end().to_owned()
}

#[test]
fn no_link_leads_nowhere() {
    for page in all_pages() {
        let folder = page.parent().expect("a page lies in a folder");
        for link in links(&read(&page)) {
            assert!(folder.join(link).exists(), "{}: {link} is not there", page.display());
        }
    }
}

#[test]
fn each_chapter_leads_to_the_next_and_to_its_other_language() {
    let chapters = chapters();
    assert!(!chapters.is_empty());
    for (index, chapter) in chapters.iter().enumerate() {
        for (own, other) in [(ENGLISH, CHINESE), (CHINESE, ENGLISH)] {
            let text = read(&docs().join(format!("{chapter}{own}")));
            let links = links(&text);
            let mut wanted = vec![format!("{chapter}{other}"), format!("README{own}")];
            wanted.extend(chapters.get(index + 1).map(|next| format!("{next}{own}")));
            for link in &wanted {
                assert!(links.contains(&link.as_str()), "{chapter}{own} does not link {link}");
            }
        }
    }
}

#[test]
fn the_contents_name_every_chapter() {
    for language in [ENGLISH, CHINESE] {
        let text = read(&docs().join(format!("README{language}")));
        for chapter in chapters() {
            let link = format!("{chapter}{language}");
            assert!(links(&text).contains(&link.as_str()), "docs/README{language}: no {link}");
        }
    }
}

#[test]
fn every_chapter_is_tested_in_both_languages() {
    let modules = read(&docs().join("src/lib.rs"));
    for chapter in chapters() {
        for language in [ENGLISH, CHINESE] {
            let name = format!("\"{chapter}{language}\"");
            assert!(modules.contains(&name), "src/lib.rs does not include {name}");
        }
    }
}

#[test]
fn both_languages_show_the_same_code() {
    for chapter in chapters() {
        let [english, chinese] =
            [ENGLISH, CHINESE].map(|end| examples(&read(&docs().join(format!("{chapter}{end}")))));
        assert_eq!(english, chinese, "{chapter}");
    }
}

/// Returns the names of the public methods in source files of the runtime.
fn public_methods(sources: &[&str]) -> Vec<String> {
    let mut names = Vec::new();
    for source in sources {
        let text = read(&docs().join("../crates/wakeful-runtime/src/runtime").join(source));
        let lines = text.lines().filter_map(|line| line.strip_prefix("    pub fn "));
        let before = names.len();
        names.extend(lines.filter_map(|line| Some(line.split(['(', '<']).next()?.to_owned())));
        assert!(names.len() > before + 4, "{source}: {names:?}");
    }
    names
}

#[track_caller]
fn assert_names_all(chapter: &str, names: &[String]) {
    for language in [ENGLISH, CHINESE] {
        let text = read(&docs().join(format!("{chapter}{language}")));
        for name in names {
            assert!(text.contains(&format!("`{name}`")), "{chapter}{language} lacks `{name}`");
        }
    }
}

#[test]
fn every_setting_is_listed() {
    assert_names_all("11-settings", &public_methods(&["builder.rs", "builder/metrics.rs"]));
}

#[test]
fn every_counter_is_listed() {
    let sources = ["runtime_metrics.rs", "histogram_metrics.rs"];
    assert_names_all("12-metrics", &public_methods(&sources));
}

/// The names of the kinds of verdicts, as the runtime prints them.
#[test]
fn every_kind_of_hang_is_listed() {
    let source = read(&docs().join("../crates/wakeful-runtime/src/census/verdict.rs"));
    let names = source.lines().filter_map(|line| {
        let (_, name) = line.trim().strip_prefix("VerdictKind::")?.split_once(" => \"")?;
        Some(name.trim_end_matches("\",").to_owned())
    });
    let names: Vec<String> = names.collect();
    assert!(names.len() > 10, "{names:?}");
    assert_names_all("19-hangs", &names);
}

/// The verdicts that pages quote are those that the hung programs get, word by word.
#[test]
fn quoted_verdicts_are_the_expected_ones() {
    let expected = fs::read_dir(docs().join("../ecosystem/hung/expected")).unwrap();
    let expected: String = expected.map(|file| read(&file.unwrap().path())).collect();
    for page in ["19-hangs", "../tour/05-wakers/lost-waker"] {
        for language in [ENGLISH, CHINESE] {
            let text = read(&docs().join(format!("{page}{language}")));
            let is_verdict = |line: &&str| {
                line.starts_with("  1. ")
                    && (line.contains("(certain)") || line.contains("(likely)"))
            };
            let quoted: Vec<_> = text.lines().filter(is_verdict).collect();
            assert!(!quoted.is_empty(), "{page}{language}");
            for line in quoted {
                let is_known = expected.lines().any(|expected| expected == line);
                assert!(is_known, "{page}{language}: no program gets this verdict: {line}");
            }
        }
    }
}

/// Returns the Rust files below `folder`, without tests.
fn sources(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            if !path.ends_with("tests") {
                sources(&path, found);
            }
        } else if path.extension().is_some_and(|extension| extension == "rs")
            && !path.ends_with("tests.rs")
            && !path.ends_with("testing.rs")
        {
            found.push(path);
        }
    }
}

#[test]
fn every_environment_variable_is_listed() {
    let mut files = Vec::new();
    for krate in fs::read_dir(docs().join("../crates")).unwrap() {
        sources(&krate.unwrap().path().join("src"), &mut files);
    }
    let is_name = |text: &&str| {
        (text.starts_with("WAKEFUL_") || text.starts_with("TOKIO_"))
            && text.chars().all(|c| c.is_ascii_uppercase() || c == '_')
    };
    let texts: Vec<String> = files.iter().map(|file| read(file)).collect();
    let names = texts.iter().flat_map(|text| text.split('"').filter(is_name));
    let names: Vec<String> = names.map(str::to_owned).collect();
    assert!(names.len() >= 4, "{names:?}");
    assert_names_all("11-settings", &names);
}

/// The program of the chapter on stalls, as it is printed there.
#[test]
fn the_listing_is_the_program() {
    let program = read(&docs().join("src/bin/stall.rs"));
    let program = program.split_once("\nasync fn reload").expect("it has such a function").1;
    for language in [ENGLISH, CHINESE] {
        let page = read(&docs().join(format!("06-stalls{language}")));
        let listed = examples(&page).remove(0).join("\n");
        let listed = listed.split_once("\nasync fn reload").expect("it comes first").1.trim_end();
        let code: Vec<_> = program.lines().map(without_comment).collect();
        assert_eq!(listed, code.join("\n").trim_end(), "06-stalls{language}");
    }
}
