use std::fs;
use std::path::{Path, PathBuf};

use super::pieces::{PIECES, Piece};
use super::{CLIENTS, a_panic, a_task_that_blocks, run_program, this_thread, workers};
use crate::timeline::{Event, Timeline};

/// Of the whole repository.
fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().to_owned()
}

/// Whether `text` declares `item`, such as `struct Task`: the words themselves, and no longer name.
fn declares(text: &str, item: &str) -> bool {
    let is_part = |c: char| c.is_alphanumeric() || c == '_';
    let lines = text.lines().filter(|line| !line.trim_start().starts_with("//"));
    lines.into_iter().any(|line| {
        line.match_indices(item).any(|(at, _)| {
            !line[..at].ends_with(is_part) && !line[at + item.len()..].starts_with(is_part)
        })
    })
}

/// The code of a step.
fn step_code(number: u32) -> String {
    let step = crate::STEPS.iter().find(|step| step.number() == number).unwrap();
    let folder = root().join("tour").join(step.folder);
    let files = fs::read_dir(folder).unwrap().map(|file| file.unwrap().path());
    let code = files.filter(|file| file.extension().is_some_and(|extension| extension == "rs"));
    code.map(|file| fs::read_to_string(file).unwrap()).collect()
}

fn check_program(timeline: &Timeline) {
    for number in 1..=CLIENTS {
        for word in ["hello", "goodbye"] {
            let heard = Event::Note(format!("hears {word:?}"));
            assert_eq!(timeline.count(&format!("client {number}"), &heard), 1);
        }
        assert_eq!(
            timeline.story_of(&format!("echo {number}")).last().unwrap(),
            "returned Ready(Ok(()))"
        );
    }
    assert_eq!(timeline.story_of("main").last().unwrap(), "returned Ready(Ok(()))");
}

#[test]
fn the_program_runs_on_many_threads() {
    let timeline = Timeline::new();
    run_program(&timeline, &workers(2));
    check_program(&timeline);
}

#[test]
fn the_program_runs_on_one_thread() {
    let timeline = Timeline::new();
    run_program(&timeline, &this_thread());
    check_program(&timeline);
    let polled = timeline.entries().into_iter().filter(|entry| entry.event == Event::Polled);
    let mut threads: Vec<String> = polled.map(|entry| entry.thread).collect();
    threads.dedup();
    assert_eq!(threads.len(), 1, "{threads:?}");
}

#[test]
fn a_panic_reaches_whoever_awaits_the_task() {
    for runtime in [workers(1), this_thread()] {
        let timeline = Timeline::new();
        a_panic(&timeline, &runtime);
        assert_eq!(timeline.story_of("clumsy").last().unwrap(), "panicked: dropped the cup");
    }
}

#[test]
fn a_task_that_blocks_the_only_worker_does_not_stop_the_others() {
    let timeline = Timeline::new();
    // Would not return if it did: the one that blocks waits for one that has yet to run.
    a_task_that_blocks(&timeline);
    for task in ["rude", "polite"] {
        assert_eq!(timeline.story_of(task).last().unwrap(), "returned Ready()");
    }
    let last_thread = |task| {
        let entries = timeline.entries();
        entries.into_iter().rev().find(|entry| entry.who == task).unwrap().thread
    };
    assert_ne!(last_thread("rude"), last_thread("polite"));
}

#[test]
fn every_piece_is_in_the_step_that_is_named() {
    for Piece { step, here, .. } in PIECES {
        assert!(declares(&step_code(*step), here), "step {step} has no `{here}`");
    }
}

#[test]
fn every_counterpart_is_in_the_file_that_is_named() {
    for Piece { there, file, .. } in PIECES {
        let text = fs::read_to_string(root().join(file));
        let text = text.unwrap_or_else(|why| panic!("{file}: {why}"));
        assert!(declares(&text, there), "{file} has no `{there}`");
    }
}

#[test]
fn every_step_has_a_counterpart() {
    for step in crate::STEPS.iter().filter(|step| step.number() < 11) {
        assert!(PIECES.iter().any(|piece| piece.step == step.number()), "{}", step.folder);
    }
}

#[test]
fn the_pages_have_the_same_map() {
    for page in ["README.md", "README.zh-CN.md"] {
        let text = fs::read_to_string(root().join("tour/11-wakeful").join(page)).unwrap();
        let rows: Vec<&str> = text.lines().filter(|line| line.starts_with("| ")).collect();
        for Piece { step, here, there, file } in PIECES {
            let is_it = |row: &&str| {
                row.starts_with(&format!("| {step} | `{here}` |"))
                    && row.contains(&format!("[`{there}`](../../{file})"))
            };
            assert!(
                rows.iter().any(is_it),
                "{page} lacks step {step}: `{here}`, `{there}`, {file}"
            );
        }
        // And nothing that the map does not have: two rows are head and rule.
        let of_steps = rows.iter().filter(|row| row[2..].starts_with(|c: char| c.is_ascii_digit()));
        assert_eq!(of_steps.count(), PIECES.len(), "{page}");
    }
}

#[test]
fn a_longer_name_is_not_taken_for_the_declaration() {
    assert!(declares("pub struct Task<F> {", "struct Task"));
    assert!(declares("    pub(crate) fn run(&self) {", "fn run"));
    assert!(!declares("struct TaskCell {", "struct Task"));
    assert!(!declares("// a struct Task", "struct Task"));
}
