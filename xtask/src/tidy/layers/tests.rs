use super::*;
use crate::repo::packages;

/// Returns the problems of a workspace of packages given as (folder, name, dependency section).
fn problems(workspace: &str, members: &[(&str, &str, &str)]) -> Vec<String> {
    let mut files = Files::from([("Cargo.toml".into(), workspace.to_owned())]);
    for (dir, name, dependencies) in members {
        let text = format!("[package]\nname = '{name}'\n{dependencies}");
        files.insert(Path::new(dir).join("Cargo.toml"), text);
    }
    let mut report = Report::default();
    check(&files, &packages(&files), &mut report);
    report.problems.iter().map(ToString::to_string).collect()
}

#[test]
fn dependencies_on_lower_layers_are_allowed() {
    let members = [
        ("crates/wakeful-task", "wakeful-task", "[dependencies]\nwakeful-base.workspace = true"),
        ("crates/wakeful", "wakeful", "[dependencies]\nwakeful-task = '1'\nwakeful-macros = '1'"),
        ("crates/tokio-drop-in", "tokio", "[dependencies]\nwakeful = '1'\nbytes = '1'"),
        ("demo", "demo", "[dependencies]\ntokio = '1'\nwakeful-base = '1'"),
    ];
    assert_eq!(problems("", &members), Vec::<String>::new());
}

#[test]
fn dev_dependencies_may_point_anywhere() {
    let base = ("crates/wakeful-base", "wakeful-base", "[dev-dependencies]\nwakeful = '1'");
    assert_eq!(problems("", &[base]), Vec::<String>::new());
}

#[test]
fn dependencies_on_the_same_or_higher_layers_are_reported() {
    let members = [
        ("crates/a", "wakeful-base", "[dependencies]\nlog = '1'\nwakeful-runtime = '1'"),
        ("crates/b", "wakeful-io", "[target.'cfg(unix)'.build-dependencies]\nwakeful-task = '1'"),
        ("crates/c", "wakeful-macros", "[dependencies.x]\npackage = 'wakeful-base'"),
        ("crates/d", "wakeful", "[dependencies]\ntokio = '1'"),
        ("demo", "demo", ""),
        ("crates/e", "wakeful-runtime", "[dependencies]\ndemo = { path = '../../demo' }"),
    ];
    let expected = [
        "crates/a/Cargo.toml:5: wakeful-base (layer 0) depends on wakeful-runtime (layer 3)",
        "crates/b/Cargo.toml:4: wakeful-io (layer 1) depends on wakeful-task (layer 1)",
        "crates/c/Cargo.toml:3: wakeful-macros (below all layers) depends on wakeful-base (layer 0)",
        "crates/d/Cargo.toml:4: wakeful (layer 5) depends on tokio (layer 6)",
        "crates/e/Cargo.toml:4: wakeful-runtime (layer 3) depends on demo (on top of all layers)",
    ];
    let rule = "; a crate may only use layers below its own";
    assert_eq!(problems("", &members), expected.map(|problem| format!("{problem}{rule}")));
}

#[test]
fn a_dependency_renamed_in_the_workspace_is_found() {
    let workspace = "[workspace.dependencies]\nrt = { package = 'wakeful-runtime', path = 'x' }";
    let base = ("crates/a", "wakeful-base", "[dependencies]\nrt.workspace = true");
    assert_eq!(problems(workspace, &[base]).len(), 1);
}

#[test]
fn a_crate_without_a_layer_is_reported() {
    let found = problems("", &[("crates/new", "wakeful-new", "")]);
    assert!(found[0].contains("wakeful-new has no layer"), "{found:?}");
}
