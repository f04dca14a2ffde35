//! A crate may only depend on crates of lower layers.

use std::path::Path;

use super::Report;
use crate::manifest::Manifest;
use crate::repo::{Files, Package};

#[cfg(test)]
mod tests;

/// The position of a crate in the dependency order.
#[derive(Clone, Copy, PartialEq)]
enum Position {
    /// Below all layers: every crate may use it, and it uses no other crate.
    Foundation,
    /// May use the foundation and lower layers, but not crates of the same layer.
    Layer(u8),
    /// Programs: may use every crate, and no crate uses them.
    Top,
}

const POSITIONS: &[(&str, Position)] = &[
    ("wakeful-macros", Position::Foundation),
    ("wakeful-base", Position::Layer(0)),
    ("wakeful-task", Position::Layer(1)),
    ("wakeful-io", Position::Layer(1)),
    ("wakeful-reactor", Position::Layer(2)),
    ("wakeful-runtime", Position::Layer(3)),
    ("wakeful-sync", Position::Layer(4)),
    ("wakeful", Position::Layer(5)),
    // The drop-in. Tokio itself has the same name, so no layer may use it either.
    ("tokio", Position::Layer(6)),
    ("cargo-wakeful", Position::Top),
];

pub fn check(files: &Files, packages: &[Package], report: &mut Report) {
    let workspace = files.get(Path::new("Cargo.toml")).map(|text| Manifest::parse(text));
    for package in packages {
        let manifest = package.dir.join("Cargo.toml");
        let Some(position) = position_of(&package.name, packages) else {
            let message = format!(
                "{} has no layer: add it to POSITIONS in xtask/src/tidy/layers.rs",
                package.name
            );
            report.problem(&manifest, 1, message);
            continue;
        };
        for (key, dependency) in &package.manifest.dependencies {
            let inherited = workspace.as_ref().and_then(|w| w.workspace_dependencies.get(key));
            let renamed_from = dependency.renamed_from.as_ref();
            let renamed_from =
                renamed_from.or_else(|| inherited.and_then(|i| i.renamed_from.as_ref()));
            let used = renamed_from.unwrap_or(key);
            let Some(used_position) = position_of(used, packages) else {
                continue;
            };
            if !may_use(position, used_position) {
                let message = format!(
                    "{} ({}) depends on {used} ({}); a crate may only use layers below its own",
                    package.name,
                    describe(position),
                    describe(used_position),
                );
                report.problem(&manifest, dependency.line, message);
            }
        }
    }
}

fn may_use(user: Position, used: Position) -> bool {
    match (user, used) {
        (Position::Top, used) => used != Position::Top,
        (Position::Layer(_), Position::Foundation) => true,
        (Position::Layer(user), Position::Layer(used)) => used < user,
        _ => false,
    }
}

/// Returns the position of a crate. `None` for a crate from outside the repository, and for one in
/// `crates/` that is not listed.
fn position_of(name: &str, packages: &[Package]) -> Option<Position> {
    let listed = POSITIONS.iter().find(|(listed, _)| *listed == name);
    let ours_elsewhere = || packages.iter().any(|p| p.name == name && !p.dir.starts_with("crates"));
    listed.map(|(_, position)| *position).or_else(|| ours_elsewhere().then_some(Position::Top))
}

fn describe(position: Position) -> String {
    match position {
        Position::Foundation => "below all layers".to_owned(),
        Position::Layer(layer) => format!("layer {layer}"),
        Position::Top => "on top of all layers".to_owned(),
    }
}
