use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use super::phrases::PHRASES;
use super::{Lang, to_chinese};
use crate::STEPS;
use crate::timeline::Timeline;

#[test]
fn holes_are_filled_in_their_order() {
    assert_eq!(to_chinese("timer fired").as_deref(), Some("定时器到点"));
    assert_eq!(to_chinese("woken by worker 2").as_deref(), Some("被 worker 2 唤醒"));
    assert_eq!(to_chinese("clone, references: 2").as_deref(), Some("clone，引用数：2"));
    assert_eq!(to_chinese("made, references: 1").as_deref(), Some("造好了，引用数：1"));
    assert_eq!(to_chinese("lunch"), None);
}

#[test]
fn what_the_table_does_not_have_stays_english() {
    assert_eq!(Lang::Chinese.translate("lunch"), "lunch");
    assert_eq!(Lang::English.translate("timer fired"), "timer fired");
}

#[test]
fn all_that_steps_say_is_in_the_table() {
    let mut missing = BTreeSet::new();
    for step in STEPS {
        let timeline = Timeline::new();
        (step.run)(&timeline);
        for entry in timeline.entries() {
            // The map of step 11 is made of names in code.
            if entry.who.starts_with("step ") {
                continue;
            }
            if to_chinese(&entry.text()).is_none() {
                missing.insert(entry.text());
            }
        }
    }
    assert!(missing.is_empty(), "{missing:#?}");
}

#[test]
fn both_languages_have_the_same_holes_and_no_phrase_is_there_twice() {
    let mut seen = BTreeSet::new();
    for (english, chinese) in PHRASES {
        let count = |text: &str| text.matches("{}").count();
        assert_eq!(count(english), count(chinese), "{english}");
        assert!(seen.insert(english), "{english}");
    }
}

#[test]
fn every_phrase_is_in_the_code() {
    let tour = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut code = String::new();
    let folders = STEPS.iter().map(|step| step.folder).chain(["src", "src/timeline"]);
    for folder in folders {
        for file in fs::read_dir(tour.join(folder)).unwrap() {
            let path = file.unwrap().path();
            if path.extension().is_some_and(|extension| extension == "rs") {
                code.push_str(&without_names_in_holes(&fs::read_to_string(path).unwrap()));
            }
        }
    }
    // Made of several pieces in the code.
    let composed = [
        "{}, references: {}; USE AFTER FREE",
        "{}, references: {}; freed",
        "this {} times more, until {}",
        "these {} lines {} times more, until {}",
        "A task that panics",
    ];
    for (english, _) in PHRASES {
        assert!(composed.contains(english) || code.contains(english), "{english}");
    }
}

/// `{count:?}` as `{}`.
fn without_names_in_holes(code: &str) -> String {
    let mut pieces = code.split('{');
    let mut plain = pieces.next().unwrap_or_default().to_owned();
    for piece in pieces {
        plain.push('{');
        plain.push_str(match piece.find('}') {
            Some(end) if end < 40 && !piece[..end].contains('\n') => &piece[end..],
            _ => piece,
        });
    }
    plain
}
