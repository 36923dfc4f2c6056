//! The rules of the house that a compiler cannot check.
//!
//! Start reading at [`check`]. Each rule is a pure function of text or of the package graph in a
//! module below; this one finds the files and prints what they found.

pub mod layers;
pub mod licences;
pub mod links;
pub mod manifests;
pub mod migrations;
pub mod sources;
pub mod words;

use std::collections::BTreeMap;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};
use cargo_metadata::{Metadata, MetadataCommand};

use crate::fault::{self, Fault};
use crate::tool;

/// Directories that hold nothing of ours.
const SKIPPED: &[&str] = &[".git", "target", ".cynode", "node_modules"];

/// What was found.
#[derive(Debug, Default)]
pub struct Findings {
    /// Broken rules; any of them fails the check.
    pub faults: Vec<Fault>,
    /// Things to look at; they fail nothing.
    pub warnings: Vec<Fault>,
    /// How often each tag of tagged debt occurs.
    pub debts: BTreeMap<&'static str, usize>,
}

/// Checks the repository and prints every finding; whether there was no fault.
pub fn run(out: &mut dyn Write) -> Result<bool> {
    let findings = check(&tool::root(), &metadata()?)?;
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
pub fn check(root: &Path, metadata: &Metadata) -> Result<Findings> {
    let mut findings = Findings::default();
    layers::check(&layers::edges(metadata), &mut findings);
    licences::check(metadata, &mut findings);
    let files = files(root)?;
    let names: Vec<String> = files.iter().map(|file| relative(root, file)).collect();
    migrations::check(&names, &mut findings);
    for (file, path) in files.iter().zip(&names) {
        // What is not UTF-8 is not text, and no rule here speaks of it.
        let Ok(text) = fs::read_to_string(file) else {
            continue;
        };
        sources::check_name(path, &mut findings);
        words::check(path, &text, &mut findings);
        if has_extension(path, "rs") {
            sources::check(path, &text, &mut findings);
        }
        if has_extension(path, "md") {
            links::check(path, &text, &names, &mut findings);
        }
        if path.ends_with("/Cargo.toml") {
            manifests::check(path, &text, &mut findings)
                .with_context(|| format!("cannot read {path}"))?;
        }
    }
    Ok(findings)
}

fn relative(root: &Path, file: &Path) -> String {
    file.strip_prefix(root).unwrap_or(file).to_string_lossy().into_owned()
}

fn metadata() -> Result<Metadata> {
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

/// Every file under `root`, sorted, without what is built or downloaded.
fn files(root: &Path) -> Result<Vec<PathBuf>> {
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

        assert_eq!(files(root.path()).unwrap(), [root.path().join("src/lib.rs")]);
    }
}
