use super::*;

fn files(files: &[(&str, &str)]) -> Files {
    files.iter().map(|(path, text)| (path.into(), text.to_string())).collect()
}

const BASE: (&str, &str) = ("crates/wakeful-base/Cargo.toml", "[package]\nname = 'wakeful-base'");

#[test]
fn a_crate_counts_when_it_has_a_gated_module_called_loom() {
    let in_files = files(&[
        BASE,
        ("crates/wakeful-base/src/lib.rs", "mod parker;"),
        ("crates/wakeful-base/src/parker.rs", "#[cfg(test)] mod tests;"),
        ("crates/wakeful-base/src/parker/tests.rs", "#[cfg(wakeful_loom)] mod loom;"),
        ("crates/wakeful-base/src/parker/tests/loom.rs", ""),
    ]);
    assert_eq!(crates_with_models(&in_files).unwrap(), ["wakeful-base"]);
    let inline = files(&[
        BASE,
        ("crates/wakeful-base/src/lib.rs", "#[cfg(all(test, wakeful_loom))] mod loom { }"),
    ]);
    assert_eq!(crates_with_models(&inline).unwrap(), ["wakeful-base"]);
}

#[test]
fn a_module_that_switches_between_std_and_loom_is_not_a_model() {
    let files = files(&[
        BASE,
        (
            "crates/wakeful-base/src/lib.rs",
            "#[cfg(wakeful_loom)] mod loom; #[cfg(test)] mod tests;",
        ),
        ("crates/wakeful-base/src/loom.rs", "pub use loom::sync::Arc;"),
        ("crates/wakeful-base/src/tests.rs", "#[cfg(not(wakeful_loom))] mod plain {}"),
    ]);
    assert_eq!(crates_with_models(&files).unwrap(), Vec::<String>::new());
}

#[test]
fn a_model_that_would_never_run_is_an_error() {
    let files = files(&[
        BASE,
        ("crates/wakeful-base/src/lib.rs", "#[cfg(all(test, wakeful_loom))] mod models {}"),
    ]);
    assert!(crates_with_models(&files).unwrap_err().contains("module `models`"));
}

#[test]
fn only_models_are_selected_from_a_listing() {
    let listing = "a::tests::loom::wakes_once: test\na::tests::bloom::x: test\n\
                   a::tests::loom: test\nb::loom::deep::wakes_twice: test\nloom::f: benchmark\n";
    assert_eq!(
        models_in(listing, None),
        ["a::tests::loom::wakes_once", "b::loom::deep::wakes_twice"]
    );
    assert_eq!(models_in(listing, Some("twice")), ["b::loom::deep::wakes_twice"]);
    assert!(models_in(listing, Some("thrice")).is_empty());
}

#[test]
fn a_crate_can_be_named_without_its_prefix() {
    let with_models = ["wakeful".to_owned(), "wakeful-base".to_owned()];
    assert_eq!(choose("base", &with_models), Ok("wakeful-base"));
    assert_eq!(choose("wakeful-base", &with_models), Ok("wakeful-base"));
    assert_eq!(choose("wakeful", &with_models), Ok("wakeful"));
    assert!(choose("task", &with_models).unwrap_err().contains("wakeful, wakeful-base"));
}
