use super::*;

fn names(manifest: &Manifest) -> Vec<&str> {
    let dependencies = manifest.dependencies.iter();
    let names = dependencies.map(|(key, d)| d.renamed_from.as_deref().unwrap_or(key));
    names.collect()
}

#[test]
fn every_way_to_write_a_dependency_is_found() {
    let manifest = Manifest::parse(
        r#"
        [package]
        name = "sample" # not "other"
        [dependencies]
        plain = "1"
        table = { version = "1", features = [
            "a", # with a comment
            "b",
        ] }
        dotted.workspace = true
        "quoted" = '1'
        [dependencies.section]
        version = "1"
        [target.'cfg(all(unix, target_os = "linux"))'.dependencies]
        special = "1"
        [build-dependencies]
        builder = "1"
        "#,
    );
    assert_eq!(manifest.package.as_deref(), Some("sample"));
    let expected = ["builder", "dotted", "plain", "quoted", "section", "special", "table"];
    assert_eq!(names(&manifest), expected);
}

#[test]
fn dev_dependencies_and_features_are_not_dependencies() {
    let manifest = Manifest::parse(
        "[dev-dependencies]\nloom = '1'\n[features]\nfull = ['net']\n\
         [target.'cfg(unix)'.dev-dependencies]\nlibc = '1'\n",
    );
    assert_eq!(names(&manifest), Vec::<&str>::new());
    assert_eq!(manifest.package, None);
}

#[test]
fn a_rename_shows_the_real_package() {
    let manifest = Manifest::parse(
        "[dependencies]\na = { version = \"1\", package = \"real-a\" }\nb.package = \"real-b\"\n\
         [dependencies.c]\npackage = \"real-c\"\n",
    );
    assert_eq!(names(&manifest), ["real-a", "real-b", "real-c"]);
    assert_eq!(manifest.dependencies["b"].line, 3);
}

#[test]
fn workspace_dependencies_and_target_paths_are_kept_apart() {
    let manifest = Manifest::parse(
        "[workspace.dependencies]\nx = { package = 'y', version = '1' }\n\
         [lib]\npath = 'src/other.rs'\n[[bin]]\nname = 'b'\npath = \"src/tool.rs\"\n",
    );
    assert_eq!(manifest.workspace_dependencies["x"].renamed_from.as_deref(), Some("y"));
    assert!(manifest.dependencies.is_empty());
    assert_eq!(manifest.target_paths, ["src/other.rs", "src/tool.rs"]);
}
