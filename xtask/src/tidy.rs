//! Repository rules that a compiler cannot check. Start reading at [`check`]. Each rule is a pure
//! function of text or of the package graph in a module below; this module lists the files and
//! prints the findings.

pub mod crate_size;
pub mod injection;
pub mod layers;
pub mod licences;
pub mod links;
pub mod manifests;
pub mod migrations;
pub mod sources;
pub mod vocabulary;
pub mod words;

use std::collections::BTreeMap;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};
use cargo_metadata::{Metadata, MetadataCommand};

use crate::fault::{self, Fault};
use crate::tool;

/// Directories without source files of this repository.
const SKIPPED: &[&str] = &[".git", "target", ".cynode", "node_modules"];

/// The result of all checks.
#[derive(Debug, Default)]
pub struct TidyFindings {
    /// Broken rules; any of them fails the check.
    pub faults: Vec<Fault>,
    /// Hints; they fail nothing.
    pub warnings: Vec<Fault>,
    /// Number of occurrences of each debt tag.
    pub debts: BTreeMap<&'static str, usize>,
}

/// Checks the repository and prints every finding; returns whether there was no fault.
pub fn run(out: &mut dyn Write) -> Result<bool> {
    let findings = check(&tool::root(), &load_metadata()?)?;
    fault::print_all(out, "warning", &findings.warnings)?;
    fault::print_all(out, "fault", &findings.faults)?;
    let debts: Vec<String> = findings.debts.iter().map(|(tag, n)| format!("{tag} {n}")).collect();
    let debts = if debts.is_empty() { "none".to_owned() } else { debts.join(", ") };
    writeln!(
        out,
        "tidy: {} faults, {} warnings, tagged debt: {debts}",
        findings.faults.len(),
        findings.warnings.len()
    )?;
    Ok(findings.faults.is_empty())
}

/// Checks the repository at `root` with the package graph `metadata`.
pub fn check(root: &Path, metadata: &Metadata) -> Result<TidyFindings> {
    let mut findings = TidyFindings::default();
    layers::check(&layers::list_dependencies(metadata), &mut findings);
    licences::check(metadata, &mut findings);
    let files = list_files(root)?;
    let names: Vec<String> = files.iter().map(|file| relative_path(root, file)).collect();
    migrations::check(&names, &mut findings);
    let mut type_names = vocabulary::TypeNames::default();
    let mut crate_sizes = crate_size::CrateSizes::default();
    for (file, path) in files.iter().zip(&names) {
        // Files that are not UTF-8 are not text, and no rule applies to them.
        let Ok(text) = fs::read_to_string(file) else {
            continue;
        };
        sources::check_name(path, &mut findings);
        words::check(path, &text, &mut findings);
        if has_extension(path, "rs") {
            sources::check(path, &text, &mut findings);
            vocabulary::check(path, &text, &mut findings);
            type_names.add(path, &text);
            crate_sizes.add(path, &text);
        }
        if has_extension(path, "md") {
            links::check(path, &text, &names, &mut findings);
        }
        if path == "Cargo.toml" || path.ends_with("/Cargo.toml") {
            injection::check(path, &text, &mut findings)
                .with_context(|| format!("cannot read {path}"))?;
        }
        if path.ends_with("/Cargo.toml") {
            manifests::check(path, &text, &mut findings)
                .with_context(|| format!("cannot read {path}"))?;
        }
    }
    type_names.check(&mut findings);
    crate_sizes.check(&mut findings);
    Ok(findings)
}

fn relative_path(root: &Path, file: &Path) -> String {
    file.strip_prefix(root).unwrap_or(file).to_string_lossy().into_owned()
}

fn load_metadata() -> Result<Metadata> {
    let host = tool::stdout_of(std::process::Command::new("rustc").arg("-vV"))?;
    let host = host
        .lines()
        .find_map(|line| line.strip_prefix("host: "))
        .context("rustc -vV names no host")?
        .to_owned();
    MetadataCommand::new()
        .current_dir(tool::root())
        .other_options(vec!["--all-features".to_owned(), "--filter-platform".to_owned(), host])
        .exec()
        .context("cargo metadata failed")
}

/// Every file under `root`, sorted, without build output and downloads.
fn list_files(root: &Path) -> Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    let mut open = vec![root.to_path_buf()];
    while let Some(directory) = open.pop() {
        let entries = fs::read_dir(&directory)
            .with_context(|| format!("cannot list {}", directory.display()))?;
        for entry in entries {
            let entry = entry?;
            let kind = entry.file_type()?;
            let skipped = SKIPPED.iter().any(|name| entry.file_name() == *name);
            if kind.is_dir() && !skipped {
                open.push(entry.path());
            } else if kind.is_file() {
                found.push(entry.path());
            }
        }
    }
    found.sort();
    Ok(found)
}

fn has_extension(path: &str, extension: &str) -> bool {
    Path::new(path).extension().is_some_and(|found| found == extension)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn built_files_are_not_looked_at() {
        let root = tempfile::tempdir().unwrap();
        for path in ["src/lib.rs", "target/debug/build.rs", ".git/config"] {
            let file = root.path().join(path);
            fs::create_dir_all(file.parent().unwrap()).unwrap();
            fs::write(file, "x").unwrap();
        }

        assert_eq!(list_files(root.path()).unwrap(), [root.path().join("src/lib.rs")]);
    }
}
