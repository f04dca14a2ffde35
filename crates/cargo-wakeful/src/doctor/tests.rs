use serde_json::Value;

use super::{Finding, Level, Report};
use crate::drop_in::DropIn;

fn drop_in() -> DropIn {
    DropIn {
        dir: "/wakeful/crates/tokio-drop-in".into(),
        version: "1.54.1".parse().unwrap(),
        features: Vec::new(),
        wakeful_version: "0.1.0".parse().ok(),
        rust_version: "1.85.0".parse().ok(),
    }
}

fn report() -> Report {
    Report {
        workspace: Some("/a/program".to_owned()),
        program: vec![
            Finding::problem("version", "`a` requires tokio `=1.40.0`").advice("Relax it."),
            Finding::note("runtimes", "async-std stays"),
        ],
        machine: vec![Finding::ok("eventfd", "eventfd works")],
    }
}

#[test]
fn the_text_shows_the_level_the_message_and_the_advice() {
    let text = report().text(&drop_in());
    assert!(text.contains("Wakeful 0.1.0 (as tokio 1.54.1)"), "{text}");
    let problem = "  problem  `a` requires tokio `=1.40.0`\n           Relax it.\n";
    assert!(text.contains(problem), "{text}");
    assert!(text.ends_with("1 problem found."), "{text}");
}

#[test]
fn the_json_counts_and_lists_the_same_findings() {
    let json: Value = serde_json::from_str(&report().json(&drop_in())).unwrap();
    assert_eq!(json["problems"], 1);
    assert_eq!(json["notes"], 1);
    assert_eq!(json["workspace"], "/a/program");
    assert_eq!(json["program"][0]["check"], "version");
    assert_eq!(json["program"][0]["level"], Level::Problem.name());
    assert_eq!(json["machine"][0]["level"], "ok");
}
