//! Every step is explained, in both languages, and no link on the way leads nowhere.

use std::fs;
use std::path::{Path, PathBuf};

const PAGES: [&str; 2] = ["README.md", "README.zh-CN.md"];

fn tour() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn all_pages() -> Vec<PathBuf> {
    let folders = tour::STEPS.iter().map(|step| tour().join(step.folder));
    let folders = folders.chain([tour().to_owned()]);
    folders.flat_map(|folder| PAGES.map(|page| folder.join(page))).collect()
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
