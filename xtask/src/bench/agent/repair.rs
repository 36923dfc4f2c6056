//! The repairs that agents are measured on: a small program with a fault, a sentence about it, and a test that no agent sees.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context as _, Result, ensure};

mod javascript;
mod python;
mod shell;

/// A file of a repair: its path in the repository, and its text.
pub(super) type RepairFile = (&'static str, &'static str);

/// One repair.
#[derive(Debug)]
pub(crate) struct Repair {
    pub(crate) name: &'static str,
    pub(super) language: &'static str,
    /// The prompt of the agent.
    pub(crate) prompt: &'static str,
    /// The file with the fault, and others.
    pub(super) files: &'static [RepairFile],
    /// The name and the text of the hidden test.
    pub(super) test: RepairFile,
    /// The file without the fault.
    pub(super) reference: RepairFile,
}

/// Every repair.
pub(crate) fn all() -> Vec<&'static Repair> {
    python::REPAIRS.iter().chain(javascript::REPAIRS).chain(shell::REPAIRS).collect()
}

/// The repairs with these names; every repair without a name.
pub(crate) fn select(names: &[String]) -> Result<Vec<&'static Repair>> {
    let known = all();
    for name in names {
        let names: Vec<&str> = known.iter().map(|repair| repair.name).collect();
        let is_known = names.contains(&name.as_str());
        ensure!(is_known, "there is no repair {name}; the repairs are {}", names.join(", "));
    }
    let is_selected =
        |repair: &&Repair| names.is_empty() || names.iter().any(|it| it == repair.name);
    Ok(known.into_iter().filter(is_selected).collect())
}

impl Repair {
    /// Creates a repository with the fault.
    pub(super) fn create_repository(&self, directory: &Path) -> Result<()> {
        fs::create_dir_all(directory)?;
        git(directory, &["init", "--quiet", "--initial-branch=main"])?;
        for (path, text) in self.files {
            fs::write(directory.join(path), text)?;
        }
        git(directory, &["add", "."])?;
        git(directory, &["commit", "--quiet", "--message=The program"])
    }

    /// The command that runs the hidden test as an attachment of a task.
    pub(super) fn test_command(&self) -> String {
        let program = match self.language {
            "python" => "/usr/bin/python3",
            "javascript" => "node",
            _ => "sh",
        };
        format!("{program} attachments/{}", self.test.0)
    }

    /// The command that writes the file without the fault.
    pub(super) fn reference_command(&self) -> String {
        let (path, text) = self.reference;
        format!("cat > {path} <<'REFERENCE'\n{text}REFERENCE")
    }
}

/// Runs git without the configuration of this machine.
pub(super) fn git(directory: &Path, args: &[&str]) -> Result<()> {
    let mut git = Command::new("git");
    git.env_clear().env("PATH", "/usr/local/bin:/usr/bin:/bin").stdin(Stdio::null());
    git.args(["-c", "user.name=Bench", "-c", "user.email=bench@example.invalid", "-C"]);
    let status = git.arg(directory).args(args).status().context("git cannot be started")?;
    ensure!(status.success(), "git {} ended with {status}", args.join(" "));
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn there_are_twelve_repairs_in_three_languages_and_no_agent_can_read_their_tests() {
        let repairs = all();
        let names: BTreeSet<&str> = repairs.iter().map(|repair| repair.name).collect();
        let languages: BTreeSet<&str> = repairs.iter().map(|repair| repair.language).collect();

        assert!(names.len() == repairs.len() && names.len() >= 12, "{names:?}");
        assert_eq!(languages, ["javascript", "python", "sh"].into());
        for repair in repairs {
            let (path, fixed) = repair.reference;
            let broken = repair.files.iter().find(|(name, _)| *name == path).unwrap().1;
            assert_ne!(broken, fixed, "{}", repair.name);
            let shown = repair.files.iter().map(|(_, text)| *text).chain([repair.prompt]);
            assert!(shown.into_iter().all(|text| !text.contains(repair.test.0)), "{}", repair.name);
        }
    }

    /// Each test accepts the reference and rejects the fault, on this machine and without the product.
    #[test]
    fn each_hidden_test_accepts_the_reference_and_rejects_the_fault() {
        for repair in all() {
            let home = tempfile::tempdir().unwrap();
            repair.create_repository(home.path()).unwrap();
            fs::create_dir(home.path().join("attachments")).unwrap();
            let (name, text) = repair.test;
            fs::write(home.path().join("attachments").join(name), text).unwrap();
            let passes = || {
                let mut run = Command::new("sh");
                run.args(["-c", &repair.test_command()]).current_dir(home.path());
                run.stdout(Stdio::null()).stderr(Stdio::null()).status().unwrap().success()
            };

            assert!(!passes(), "{}: the fault is not noticed", repair.name);
            let mut fix = Command::new("sh");
            fix.args(["-c", &repair.reference_command()]).current_dir(home.path());
            assert!(fix.status().unwrap().success(), "{}", repair.name);
            assert!(passes(), "{}: the reference is rejected", repair.name);
        }
    }

    #[test]
    fn an_unknown_repair_is_named() {
        assert_eq!(select(&["median".to_owned()]).unwrap().len(), 1);
        let error = select(&["median".to_owned(), "everything".to_owned()]).unwrap_err();
        assert!(error.to_string().contains("no repair everything; the repairs are"), "{error}");
    }
}
