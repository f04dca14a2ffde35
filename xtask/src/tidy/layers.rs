//! Finds crates that depend on a crate of their own or a higher layer.

use std::path::Path;

use super::Report;
use crate::manifest::Manifest;
use crate::repo::{Files, Package};

#[cfg(test)]
mod tests;

/// The position of a crate among the layers.
#[derive(Clone, Copy, PartialEq)]
enum Place {
    /// Below all layers: all crates may use it, and it uses none.
    Bottom,
    /// May use lower layers and the bottom. Two crates of one layer do not know each other.
    Layer(u8),
    /// Programs: may use all other crates, and no crate uses them.
    Top,
}

const PLACES: &[(&str, Place)] = &[
    ("wakeful-macros", Place::Bottom),
    ("wakeful-base", Place::Layer(0)),
    ("wakeful-task", Place::Layer(1)),
    ("wakeful-io", Place::Layer(1)),
    ("wakeful-reactor", Place::Layer(2)),
    ("wakeful-runtime", Place::Layer(3)),
    ("wakeful-sync", Place::Layer(4)),
    ("wakeful", Place::Layer(5)),
    // The drop-in. Tokio itself has the same name, and no layer may use Tokio either.
    ("tokio", Place::Layer(6)),
    ("cargo-wakeful", Place::Top),
];

pub fn check(files: &Files, packages: &[Package], report: &mut Report) {
    let workspace = files.get(Path::new("Cargo.toml")).map(|text| Manifest::parse(text));
    for package in packages {
        let manifest = package.dir.join("Cargo.toml");
        let Some(place) = place_of(&package.name, packages) else {
            let message = format!(
                "{} has no layer: say in xtask/src/tidy/layers.rs where it belongs",
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
            let Some(used_place) = place_of(used, packages) else {
                continue;
            };
            if !may_use(place, used_place) {
                let message = format!(
                    "{} ({}) depends on {used} ({}); a crate may only use layers below its own",
                    package.name,
                    describe(place),
                    describe(used_place),
                );
                report.problem(&manifest, dependency.line, message);
            }
        }
    }
}

fn may_use(user: Place, used: Place) -> bool {
    match (user, used) {
        (Place::Top, used) => used != Place::Top,
        (Place::Layer(_), Place::Bottom) => true,
        (Place::Layer(user), Place::Layer(used)) => used < user,
        _ => false,
    }
}

/// Returns `None` for external crates, and for a crate in `crates/` that is not in the table.
fn place_of(name: &str, packages: &[Package]) -> Option<Place> {
    let listed = PLACES.iter().find(|(listed, _)| *listed == name);
    let ours_elsewhere = || packages.iter().any(|p| p.name == name && !p.dir.starts_with("crates"));
    listed.map(|(_, place)| *place).or_else(|| ours_elsewhere().then_some(Place::Top))
}

fn describe(place: Place) -> String {
    match place {
        Place::Bottom => "below all layers".to_owned(),
        Place::Layer(layer) => format!("layer {layer}"),
        Place::Top => "on top of all layers".to_owned(),
    }
}
