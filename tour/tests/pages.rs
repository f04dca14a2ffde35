//! Every step is explained in both languages, no link is dead, and what the pages say about the
//! tests, the output and the exercises is true.
//!
//! 每一步都有中英文讲解，没有一个链接是断的；讲解里提到的测试、输出和练习，也都确有其事。

use std::fs;
use std::path::{Path, PathBuf};

use tour::lang::{Lang, to_chinese};

const PAGES: [&str; 2] = ["README.md", "README.zh-CN.md"];
/// Pages beside that of their step, in both languages.
const MORE_PAGES: [[&str; 2]; 1] = [["05-wakers/lost-waker.md", "05-wakers/lost-waker.zh-CN.md"]];
const SOLUTIONS: [&str; 2] = ["SOLUTIONS.md", "SOLUTIONS.zh-CN.md"];

fn tour() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn all_pages() -> Vec<PathBuf> {
    let folders = tour::STEPS.iter().map(|step| tour().join(step.folder));
    let folders = folders.chain([tour().to_owned()]);
    let pages = folders.flat_map(|folder| PAGES.map(|page| folder.join(page)));
    let more = MORE_PAGES.into_iter().flatten().chain(SOLUTIONS);
    pages.chain(more.map(|page| tour().join(page))).collect()
}

fn read(page: &Path) -> String {
    fs::read_to_string(page).unwrap_or_else(|why| panic!("{}: {why}", page.display()))
}

/// The targets of `[text](target)` that are files.
fn links(text: &str) -> Vec<&str> {
    let targets = text.split("](").skip(1).filter_map(|rest| rest.split_once(')'));
    let targets = targets.map(|(target, _)| target.split('#').next().unwrap_or(target));
    targets.filter(|target| !target.is_empty() && !target.contains("://")).collect()
}

#[test]
fn steps_are_numbered_in_order() {
    let numbers: Vec<u32> = tour::STEPS.iter().map(|step| step.number()).collect();
    assert_eq!(numbers, (1..=tour::STEPS.len() as u32).collect::<Vec<_>>());
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
fn each_page_leads_to_the_next_and_to_its_other_language() {
    for (index, step) in tour::STEPS.iter().enumerate() {
        for (page, other) in [(PAGES[0], PAGES[1]), (PAGES[1], PAGES[0])] {
            let text = read(&tour().join(step.folder).join(page));
            let links = links(&text);
            assert!(links.contains(&other), "{}/{page} does not link {other}", step.folder);
            if let Some(next) = tour::STEPS.get(index + 1) {
                let next = format!("../{}/{page}", next.folder);
                assert!(links.contains(&next.as_str()), "{}/{page}: no {next}", step.folder);
            }
        }
    }
}

#[test]
fn the_way_through_names_every_step() {
    for page in PAGES {
        let text = read(&tour().join(page));
        for step in tour::STEPS {
            let link = format!("{}/{page}", step.folder);
            assert!(links(&text).contains(&link.as_str()), "tour/{page} does not link {link}");
        }
    }
}

/// The anchors of a page: its headings as GitHub writes them in links.
fn anchors(text: &str) -> Vec<String> {
    let headings = text.lines().filter(|line| line.starts_with('#'));
    let anchor = |heading: &str| {
        let words = heading.trim_start_matches('#').trim().to_lowercase().replace(' ', "-");
        words.chars().filter(|c| c.is_alphanumeric() || matches!(c, '-' | '_')).collect()
    };
    headings.map(anchor).collect()
}

#[test]
fn every_anchor_is_a_heading() {
    for page in all_pages() {
        let text = read(&page);
        let targets = text.split("](").skip(1).filter_map(|rest| rest.split_once(')'));
        for (target, _) in targets.filter(|(target, _)| !target.contains("://")) {
            let Some((file, anchor)) = target.split_once('#') else { continue };
            let there = anchors(&read(&page.parent().unwrap().join(file)));
            assert!(
                there.contains(&anchor.to_owned()),
                "{}: {target}, of {there:?}",
                page.display()
            );
        }
    }
}

/// The lines of timelines on a page.
fn timeline_lines(text: &str) -> Vec<&str> {
    let is_event = |line: &&str| {
        line.trim_start().split_once(" ms  ").is_some_and(|(time, _)| time.parse::<f64>().is_ok())
    };
    text.lines().filter(|line| is_event(line) || line.contains("...  ")).collect()
}

/// What begins where a column of a timeline may begin: after two spaces or more.
fn columns(line: &str) -> impl Iterator<Item = (&str, &str)> {
    let starts = line.match_indices(' ').map(|(at, _)| at + 1);
    let parts = starts.map(|at| line.split_at(at));
    parts.filter(|(before, after)| before.ends_with("  ") && !after.starts_with(' '))
}

/// Whether `chinese` is the line `english`, with its last column translated.
fn is_translation(english: &str, chinese: &str) -> bool {
    if english == chinese {
        return true;
    }
    columns(english).any(|(before, what)| {
        to_chinese(what).is_some_and(|text| format!("{before}{text}") == chinese)
    })
}

#[test]
fn both_languages_show_the_same_timelines() {
    let folders =
        tour::STEPS.iter().map(|step| tour().join(step.folder)).chain([tour().to_owned()]);
    let pairs = folders.map(|folder| PAGES.map(|page| folder.join(page)));
    for pages in pairs.chain(MORE_PAGES.map(|pages| pages.map(|page| tour().join(page)))) {
        let [english, chinese] = pages.each_ref().map(|page| read(page));
        let (english, chinese) = (timeline_lines(&english), timeline_lines(&chinese));
        assert_eq!(english.len(), chinese.len(), "{}", pages[0].display());
        for (english, chinese) in english.iter().zip(chinese) {
            assert!(is_translation(english, chinese), "{english}\n{chinese}");
        }
    }
}

/// The scenes that a page shows are those that the program prints.
#[test]
fn what_timelines_on_pages_say_is_what_steps_say() {
    let pages = tour::STEPS.iter().map(|step| format!("{}/{}", step.folder, Lang::English.page()));
    for page in pages.chain(MORE_PAGES.map(|pages| pages[0].to_owned())) {
        for line in timeline_lines(&read(&tour().join(&page))) {
            let is_known = columns(line).any(|(_, what)| to_chinese(what).is_some());
            assert!(is_known, "{page}: no step says {line:?}");
        }
    }
}

/// How many items a list has under the heading that begins with `heading`.
fn items_under(text: &str, heading: &str, is_item: fn(&str) -> bool) -> usize {
    let lines = text.lines().skip_while(|line| !line.starts_with(heading)).skip(1);
    lines.take_while(|line| !line.starts_with("## ")).filter(|line| is_item(line)).count()
}

#[test]
fn every_exercise_has_a_solution() {
    let headings = [("## What to try", "## Step"), ("## 动手试试", "## 第")];
    for ((page, solutions), (exercises, of_step)) in PAGES.iter().zip(SOLUTIONS).zip(headings) {
        let solutions = read(&tour().join(solutions));
        for step in tour::STEPS {
            let text = read(&tour().join(step.folder).join(page));
            let asked = items_under(&text, exercises, |line| line.starts_with("- "));
            let heading = format!("{of_step} {}", step.number());
            let is_this = |line: &&str| line.trim_end_matches(" 步") == heading;
            let heading = solutions.lines().find(is_this).expect("each step has a section");
            let is_item = |line: &str| line.starts_with(|c: char| c.is_ascii_digit());
            let answered = items_under(&solutions, heading, is_item);
            assert!(
                asked > 0 && asked == answered,
                "{page} of {}: {asked} {answered}",
                step.folder
            );
        }
    }
}

/// All code of the tour, with its tests.
fn code() -> String {
    let files = tour::STEPS.iter().flat_map(|step| fs::read_dir(tour().join(step.folder)).unwrap());
    let paths = files.map(|file| file.unwrap().path());
    paths
        .filter(|path| path.extension().is_some_and(|e| e == "rs"))
        .map(|path| read(&path))
        .collect()
}

#[test]
fn the_tests_that_pages_name_are_there() {
    let code = code();
    let mut named = 0;
    for page in all_pages() {
        let text = read(&page);
        // Names of tests are sentences, so they have more words than other names in code.
        let is_name =
            |word: &&str| word.chars().all(|c| c.is_ascii_lowercase() || "_0123456789".contains(c));
        let names = text.split('`').filter(is_name).filter(|word| word.matches('_').count() >= 5);
        for name in names {
            assert!(code.contains(&format!("fn {name}()")), "{}: `{name}`", page.display());
            named += 1;
        }
    }
    assert!(named > 0);
}

#[test]
fn four_mistakes_are_on_the_front_page_with_a_test_each() {
    let headings = ["## Four mistakes", "## 有名的教程会犯的四个错误"];
    for (page, heading) in PAGES.iter().zip(headings) {
        let text = read(&tour().join(page));
        assert_eq!(items_under(&text, heading, |line| line.starts_with("| **")), 4, "{page}");
    }
}

#[test]
fn the_head_of_every_file_is_in_chinese_too() {
    let folders =
        tour::STEPS.iter().map(|step| step.folder).chain(["src", "src/lang", "src/timeline"]);
    for folder in folders {
        for file in fs::read_dir(tour().join(folder)).unwrap() {
            let path = file.unwrap().path();
            let name = path.file_name().unwrap().to_str().unwrap();
            if !name.ends_with(".rs") || name == "tests.rs" {
                continue;
            }
            let text = read(&path);
            let mut head = text.lines().take_while(|line| line.starts_with("//!"));
            let is_chinese = |c: char| matches!(c, '\u{4e00}'..='\u{9fff}');
            assert!(head.any(|line| line.contains(is_chinese)), "{}", path.display());
        }
    }
}

/// Terms that the glossary replaces by others.
#[test]
fn chinese_pages_keep_to_the_glossary() {
    for page in all_pages().iter().filter(|page| page.to_str().unwrap().contains("zh-CN")) {
        let text = read(page);
        for term in ["叫醒", "幕", "Mini Tokio 之", "一个字的", "一个字说", "滴答", "移交"]
        {
            assert!(!text.contains(term), "{}: {term}", page.display());
        }
    }
}

#[test]
fn lines_of_english_pages_are_at_most_100_columns_wide() {
    for page in all_pages().iter().filter(|page| !page.to_str().unwrap().contains("zh-CN")) {
        let text = read(page);
        let mut is_code = false;
        for line in text.lines() {
            is_code ^= line.trim_start().starts_with("```");
            let is_prose = !is_code && !line.starts_with(['|', ' ']);
            // A link cannot be broken.
            let words = line.split(' ').count();
            assert!(!is_prose || words < 4 || line.chars().count() <= 100, "{line}");
        }
    }
}

/// The Rust code on a page: its blocks, each line without comments.
fn rust_blocks(text: &str) -> Vec<Vec<String>> {
    let mut blocks = Vec::new();
    let mut block: Option<Vec<String>> = None;
    for line in text.lines() {
        match (line.trim_start(), &mut block) {
            ("```rust", _) => block = Some(Vec::new()),
            ("```", open) => blocks.extend(open.take()),
            (code, Some(lines)) => {
                let code = code.split("//").next().unwrap_or_default().trim_end();
                lines.extend((!code.is_empty()).then(|| code.to_owned()));
            }
            _ => {}
        }
    }
    blocks
}

/// Without what rustfmt may write in one way or another.
fn bare(code: &str) -> String {
    code.chars().filter(|c| !c.is_whitespace() && !"{}(),;".contains(*c)).collect()
}

/// Blocks that are not in the code of their step, by their first lines: the trait of the standard
/// library, a macro without its `$`s, and a delay without its timeline.
const SHORTENED: [&str; 3] = ["pub trait Future {", "loop {", "async fn delay(length: Duration) {"];

#[test]
fn code_on_pages_is_code_of_the_step_and_the_same_in_both_languages() {
    for step in tour::STEPS {
        let [english, chinese] =
            PAGES.map(|page| rust_blocks(&read(&tour().join(step.folder).join(page))));
        assert_eq!(english, chinese, "{}", step.folder);
        let files = fs::read_dir(tour().join(step.folder)).unwrap();
        let paths = files.map(|file| file.unwrap().path());
        let code: String = paths
            .filter(|path| path.extension().is_some_and(|e| e == "rs"))
            .flat_map(|path| read(&path).lines().map(str::to_owned).collect::<Vec<_>>())
            .map(|line| bare(line.split("//").next().unwrap_or_default()))
            .collect();
        for block in english.iter().filter(|block| !SHORTENED.contains(&block[0].as_str())) {
            for line in block {
                assert!(code.contains(&bare(line)), "{}: no code has `{line}`", step.folder);
            }
        }
    }
}
