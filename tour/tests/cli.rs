//! What a visitor types, and what comes of it.

use std::process::{Command, Output};

fn tour(words: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_tour")).args(words).output().expect("the tour starts")
}

fn stdout(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).expect("the tour speaks UTF-8")
}

#[test]
fn without_a_word_the_steps_are_listed() {
    let output = tour(&[]);
    assert!(output.status.success());
    for step in tour::STEPS {
        assert!(stdout(&output).contains(step.about.en), "step {} is missing", step.folder);
    }
}

#[test]
fn a_step_is_found_by_number_name_and_folder() {
    let step = &tour::STEPS[0];
    for word in ["1", "01", step.name(), step.folder] {
        let output = tour(&[word]);
        assert!(output.status.success(), "{word}");
        assert!(stdout(&output).contains("polled"), "no timeline for {word}");
        assert!(output.stderr.is_empty(), "{}", String::from_utf8_lossy(&output.stderr));
    }
}

#[test]
fn all_runs_every_step() {
    let output = tour(&["all"]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    for step in tour::STEPS {
        let title = format!("Step {}: ", step.number());
        assert!(stdout(&output).contains(&title), "{} did not run", step.folder);
    }
}

#[test]
fn a_word_that_is_no_step_is_answered_with_the_steps() {
    for words in [&["0"][..], &["lunch"], &["1", "2"]] {
        let output = tour(words);
        assert_eq!(output.status.code(), Some(2), "{words:?}");
        assert!(output.stdout.is_empty());
        let answer = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(answer.contains("cargo run -p tour -- STEP"), "{answer}");
    }
    let answer = String::from_utf8_lossy(&tour(&["lunch"]).stderr).into_owned();
    assert!(answer.contains("`lunch`") && answer.contains(tour::STEPS[0].name()), "{answer}");
}

#[test]
fn in_chinese_the_steps_are_listed_in_chinese() {
    for words in [&["--lang", "zh"][..], &["--lang=zh", "list"]] {
        let output = tour(words);
        assert!(output.status.success());
        for step in tour::STEPS {
            assert!(stdout(&output).contains(step.about.zh), "step {} is missing", step.folder);
        }
        assert!(stdout(&output).contains("--lang zh"));
    }
}

#[test]
fn in_chinese_a_step_prints_a_chinese_timeline() {
    for words in [&["1", "--lang", "zh"][..], &["--lang=zh", "1"]] {
        let output = tour(words);
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let text = stdout(&output);
        for there in ["第 1 步", "时间", "被轮询", "返回 Pending", "README.zh-CN.md"] {
            assert!(text.contains(there), "no {there} in {text}");
        }
        assert!(!text.contains("returned Pending"), "{text}");
    }
}

#[test]
fn a_language_that_is_not_there_is_refused() {
    for words in [&["--lang", "fr"][..], &["--lang"], &["1", "--lang="]] {
        let output = tour(words);
        assert_eq!(output.status.code(), Some(2), "{words:?}");
        let answer = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(answer.contains("`zh`"), "{answer}");
    }
}
