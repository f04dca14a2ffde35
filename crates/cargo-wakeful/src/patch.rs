//! `cargo wakeful add` and `cargo wakeful remove`: the patch in the workspace's `Cargo.toml`.
//!
//! [`manifest`] changes the text. Here the program is resolved with the change, so that
//! `Cargo.lock` matches it; if that fails, both files are as before.

use std::fs;
use std::io;
use std::path::{Component, Path, PathBuf};
use std::process::ExitCode;

use serde_json::Value;

use crate::Stop;
use crate::cargo::Cargo;
use crate::drop_in::DropIn;
use crate::invocation::{Edit, Invocation, selection};
use crate::lock_file::{self, LockFileLoan};
use crate::output::{pass_on_stderr, print_line, print_note};
use crate::program::{Program, parse_metadata};
use crate::resolve;
use crate::signals;
use crate::tokio_package::{TokioPackage, tokio_packages};

pub mod manifest;

use manifest::{Patch, Source};

/// The manifest that contains the patch: the one at the root of the workspace.
struct Manifest {
    path: PathBuf,
    text: String,
}

/// Writes the patch.
pub fn add(options: &Edit) -> Result<ExitCode, Stop> {
    signals::install_handlers();
    let drop_in = DropIn::find()?;
    let (program, call) = find(options)?;
    let manifest = Manifest::read(&program)?;
    let source = match &options.git {
        Some(url) => Source::Git { url: url.clone(), at: options.git_at.clone() },
        None => Source::Path(shortest(&drop_in.dir, &program.workspace_root)),
    };
    let changed = match manifest.patch()? {
        Patch::None => manifest::insert(&manifest.text, &source)?,
        Patch::Tokio(found) if found.source == source || manifest.is_wakeful(&found.source) => {
            let is_same_dir =
                options.git.is_none() && manifest.leads_to(&found.source, &drop_in.dir);
            if found.source == source || is_same_dir {
                print_note(format_args!(
                    "{} has the patch already; nothing is changed",
                    manifest.path.display()
                ));
                return Ok(ExitCode::SUCCESS);
            }
            let without = manifest::remove(&manifest.text, &found)?;
            manifest::insert(&without, &source)?
        }
        Patch::Tokio(found) => {
            return Err(Stop::Message(format!(
                "{} has a patch for tokio already, which is not Wakeful's: {}.\n\
                 Nothing is changed. Remove that patch first if Wakeful should replace Tokio.",
                manifest.path.display(),
                found.source
            )));
        }
    };
    if options.is_dry_run {
        print_line(format_args!("{} would get:\n", manifest.path.display()));
        manifest::added_lines(&manifest.text, &changed).iter().for_each(print_line);
        return Ok(ExitCode::SUCCESS);
    }
    let loan = lock_file::borrow(&program.workspace_root)?;
    change(&manifest, &changed, loan, || {
        manifest.write(&changed)?;
        // With the checkout in Tokio's place, also if the patch names a git repository: this
        // selects versions of all packages that fit, and says which do not.
        resolve::prepare(&call, &drop_in)?;
        check_replaced(&call, &drop_in, &source)
    })?;
    print_note(format_args!(
        "{} replaces Tokio from now on. Added to {}:\n\n{}\n\n\
         To check: `cargo tree -i tokio`. To go back: `cargo wakeful remove`.",
        drop_in.title(),
        manifest.path.display(),
        indented(&manifest::added_lines(&manifest.text, &changed))
    ));
    Ok(ExitCode::SUCCESS)
}

/// Takes the patch out.
pub fn remove(options: &Edit) -> Result<ExitCode, Stop> {
    signals::install_handlers();
    let (program, call) = find(options)?;
    let manifest = Manifest::read(&program)?;
    let changed = match manifest.patch()? {
        Patch::None => {
            print_note(format_args!(
                "{} has no patch for tokio; nothing is changed",
                manifest.path.display()
            ));
            return Ok(ExitCode::SUCCESS);
        }
        Patch::Tokio(found) if manifest.is_wakeful(&found.source) => {
            manifest::remove(&manifest.text, &found)?
        }
        Patch::Tokio(found) => {
            return Err(Stop::Message(format!(
                "the patch for tokio in {} is not Wakeful's: {}. Nothing is changed.",
                manifest.path.display(),
                found.source
            )));
        }
    };
    let removed = manifest::added_lines(&changed, &manifest.text);
    if options.is_dry_run {
        print_line(format_args!("{} would lose:\n", manifest.path.display()));
        removed.iter().for_each(print_line);
        return Ok(ExitCode::SUCCESS);
    }
    let loan = lock_file::borrow(&program.workspace_root)?;
    let mut now = None;
    change(&manifest, &changed, loan, || {
        manifest.write(&changed)?;
        let metadata = plain_metadata(&call)?;
        now = tokio_packages(&metadata).iter().map(|found| found.version.clone()).max();
        Ok(())
    })?;
    let now = match now {
        Some(version) => format!(
            "\n\nCargo.lock has tokio {version} now. For the release that was locked before the patch, restore\n\
             Cargo.lock from your version control."
        ),
        None => String::new(),
    };
    print_note(format_args!(
        "removed from {}:\n\n{}{now}",
        manifest.path.display(),
        indented(&removed)
    ));
    Ok(ExitCode::SUCCESS)
}

fn indented(lines: &[&str]) -> String {
    lines.iter().map(|line| format!("    {line}")).collect::<Vec<_>>().join("\n")
}

fn find(options: &Edit) -> Result<(Program, Invocation), Stop> {
    let resolve_args = selection(options.manifest_path.as_ref(), options.is_offline);
    let program = Program::find(&resolve_args)?;
    Ok((program, Invocation { resolve_args, ..Invocation::default() }))
}

/// Makes a change that affects both files. If it fails, both are restored.
fn change(
    manifest: &Manifest,
    changed: &str,
    loan: LockFileLoan,
    steps: impl FnOnce() -> Result<(), Stop>,
) -> Result<(), Stop> {
    if !loan.is_only_one()? {
        return Err(Stop::Message(
            "another `cargo wakeful` is building in this workspace; nothing is changed. Repeat this when it is done."
                .into(),
        ));
    }
    let outcome = steps();
    let outcome = match signals::received() {
        Some(_) if outcome.is_ok() => Err(Stop::Message("interrupted".into())),
        _ => outcome,
    };
    let Err(stop) = outcome else {
        loan.keep();
        return Ok(());
    };
    if fs::read_to_string(&manifest.path).is_ok_and(|text| text == changed) {
        manifest.write(&manifest.text)?;
    }
    loan.give_back()?;
    Err(stop)
}

/// Checks that the manifest alone, without an option of cargo, replaces Tokio.
fn check_replaced(call: &Invocation, drop_in: &DropIn, source: &Source) -> Result<(), Stop> {
    let metadata = plain_metadata(call)?;
    let is_ours = |found: &&TokioPackage<'_>| match source {
        Source::Git { url, .. } => {
            found.source.is_some_and(|from| from.starts_with(&format!("git+{url}")))
        }
        _ => found.dir == drop_in.dir,
    };
    let mut all = tokio_packages(&metadata);
    all.retain(|found| found.version.major == drop_in.version.major);
    if !all.is_empty() && all.iter().filter(is_ours).count() == all.len() {
        return Ok(());
    }
    Err(Stop::Message(
        "cargo does not use the patch that was written, so it was taken out again.\n\
         Is there another patch for tokio, in cargo's configuration or under another name?"
            .into(),
    ))
}

fn plain_metadata(call: &Invocation) -> Result<Value, Stop> {
    let metadata = resolve::metadata(Cargo::new(), call, &["--all-features".to_owned()])?;
    if !metadata.is_success {
        pass_on_stderr(&metadata.stderr);
        return Err(Stop::Message("nothing is changed, because cargo failed as above".into()));
    }
    parse_metadata(metadata)
}

impl Manifest {
    fn read(program: &Program) -> Result<Manifest, String> {
        let path = program.workspace_root.join("Cargo.toml");
        // If it is a symbolic link, the file that it points to is changed.
        let path = fs::canonicalize(&path).unwrap_or(path);
        match fs::read_to_string(&path) {
            Ok(text) => Ok(Manifest { path, text }),
            Err(error) => Err(format!("could not read {}: {error}", path.display())),
        }
    }

    fn patch(&self) -> Result<Patch, String> {
        manifest::find(&self.text)
            .map_err(|error| format!("could not parse {}: {error}", self.path.display()))
    }

    /// Writes the text. At every moment the file is the complete old or the complete new one.
    fn write(&self, text: &str) -> Result<(), String> {
        let temp = self.path.with_extension("toml.wakeful");
        let write = || -> io::Result<()> {
            // A copy has the permissions of the file.
            fs::copy(&self.path, &temp)?;
            fs::write(&temp, text)?;
            fs::rename(&temp, &self.path)
        };
        write().map_err(|error| {
            let _ = fs::remove_file(&temp);
            format!("could not write {}: {error}", self.path.display())
        })
    }

    /// Returns whether the patch is Wakeful's, in this or in another checkout.
    fn is_wakeful(&self, source: &Source) -> bool {
        match source {
            Source::Path(path) => {
                let dir = self.resolve(path);
                let manifest = fs::read_to_string(dir.join("Cargo.toml")).unwrap_or_default();
                dir.ends_with("crates/tokio-drop-in")
                    || (manifest.contains("\"tokio\"") && manifest.contains("wakeful"))
                    || DropIn::find().is_ok_and(|drop_in| self.leads_to(source, &drop_in.dir))
            }
            Source::Git { url, .. } => {
                url.trim_end_matches('/').trim_end_matches(".git").ends_with("wakeful")
            }
            Source::Other(_) => false,
        }
    }

    fn leads_to(&self, source: &Source, dir: &Path) -> bool {
        let Source::Path(path) = source else { return false };
        fs::canonicalize(self.resolve(path)).is_ok_and(|found| found == dir)
    }

    fn resolve(&self, path: &str) -> PathBuf {
        self.path.parent().unwrap_or(Path::new("/")).join(path)
    }
}

/// Returns the path of the drop-in for the manifest: relative if both are below one folder, so that
/// they can be moved together, else absolute.
fn shortest(dir: &Path, workspace_root: &Path) -> String {
    let root = fs::canonicalize(workspace_root).unwrap_or_else(|_| workspace_root.to_owned());
    let relative = match (dir.strip_prefix(&root), root.parent()) {
        (Ok(below), _) => Some(below.to_owned()),
        (Err(_), Some(parent))
            if parent.components().any(|part| matches!(part, Component::Normal(_))) =>
        {
            dir.strip_prefix(parent).ok().map(|beside| Path::new("..").join(beside))
        }
        _ => None,
    };
    relative.as_deref().unwrap_or(dir).to_string_lossy().into_owned()
}
