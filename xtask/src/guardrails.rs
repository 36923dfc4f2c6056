//! Ties the guardrails and requirements to the tests that prove them.
//!
//! Start reading at [`check`]. [`anchors`] reads `AGENTS.md`, [`requirements`] reads
//! `docs/requirements.toml`, [`evidence`] knows which tests exist and how they ended, [`revision`] holds
//! rules, checker, demands and changelog together, and [`mutate`] shows that the named tests notice when
//! the behaviour of their row is gone.
//!
//! Invariant: a `done` row without a test that ran and passed is a fault. Words alone prove nothing.

pub mod anchors;
pub mod catalogue;
pub mod evidence;
pub mod fault_sites;
pub mod junit;
pub mod mutate;
pub mod requirements;
pub mod revision;

use std::collections::BTreeSet;
use std::fs;
use std::io::Write;
use std::path::Path;

use anyhow::{Context as _, Result};

use crate::fault::{self, Fault};
use crate::{conformance, prepare, tool};
use evidence::{Evidence, Outcome};
use requirements::{Requirements, State};

/// Where nextest leaves the report of the last run, whatever directory cargo builds into.
pub const DEFAULT_JUNIT: &str = "target/nextest/default/junit.xml";

/// The texts that are judged.
#[derive(Debug, Clone)]
pub struct Documents {
    /// `AGENTS.md`.
    pub agents: String,
    /// `docs/requirements.toml`.
    pub requirements: String,
    /// `CHANGELOG.md`.
    pub changelog: String,
    /// The rows with a deliberate fault in the code.
    pub fault_sites: BTreeSet<String>,
}

impl Documents {
    /// Reads them from the repository at `root`.
    pub fn read(root: &Path) -> Result<Self> {
        let read = |path: &str| {
            fs::read_to_string(root.join(path)).with_context(|| format!("cannot read {path}"))
        };
        Ok(Self {
            agents: read("AGENTS.md")?,
            requirements: read("docs/requirements.toml")?,
            changelog: read("CHANGELOG.md")?,
            fault_sites: fault_sites::read(root)?,
        })
    }
}

/// Checks the repository, prints the faults and the count of each state; whether all is well.
pub fn run(out: &mut dyn Write, junit: Option<&Path>) -> Result<bool> {
    let evidence = match junit {
        Some(path) => {
            let path = tool::root().join(path);
            let text = fs::read_to_string(&path).with_context(|| {
                format!("cannot read {}: run `cargo xtask test` first", path.display())
            })?;
            let mut report =
                junit::parse(&text).with_context(|| format!("cannot read {}", path.display()))?;
            report.cases.extend(conformance::recorded()?);
            Evidence::of_report(&report)
        }
        None => listed()?,
    };
    judge(out, &Documents::read(&tool::root())?, &evidence)
}

/// Prints the faults of `documents` and the count of each state; whether all is well.
pub fn judge(out: &mut dyn Write, documents: &Documents, evidence: &Evidence) -> Result<bool> {
    let (requirements, faults) = check(documents, evidence)?;
    fault::print_all(out, "fault", &faults)?;
    writeln!(
        out,
        "guardrails: {} anchors, {} requirements: {} done, {} partial, {} planned; {} faults, judged by {}",
        anchors::ANCHORS.len(),
        requirements.rows.len(),
        requirements.count(State::Done),
        requirements.count(State::Partial),
        requirements.count(State::Planned),
        faults.len(),
        evidence.origin(),
    )?;
    Ok(faults.is_empty())
}

/// Every fault of `documents`, given what is known of the tests.
pub fn check(documents: &Documents, evidence: &Evidence) -> Result<(Requirements, Vec<Fault>)> {
    let requirements = Requirements::parse(&documents.requirements)?;
    let mut faults = anchors::check(&documents.agents);
    faults.extend(anchors::check_changelog(&documents.changelog));
    faults.extend(revision::check(&documents.agents, &requirements, &documents.changelog)?);
    faults.extend(requirements.check(evidence));
    faults.extend(fault_sites::check(&documents.fault_sites, &requirements));
    Ok((requirements, faults))
}

fn listed() -> Result<Evidence> {
    let mut list = prepare::ensure_nextest()?;
    list.args(["list", "--workspace", "--message-format", "json"]);
    let listed = Evidence::of_list(&tool::stdout_of(&mut list)?)?;
    // What `cargo xtask test` judges with programs of others is no test of ours, but as good as one.
    Ok(listed.and(conformance::SENTENCES.map(|name| (format!("interop::{name}"), Outcome::Listed))))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The repository's own documents, before any test of it has run.
    fn own_documents() -> Documents {
        Documents::read(&tool::root()).unwrap()
    }

    #[test]
    fn own_documents_have_every_anchor_and_every_requirement() {
        let documents = own_documents();
        let requirements = Requirements::parse(&documents.requirements).unwrap();
        let named = requirements.rows.iter().flat_map(|row| &row.tests);
        // Whether the named tests exist is judged after a test run; here they are taken as given.
        let evidence = Evidence::all_passed(named.map(String::as_str));

        let (_, faults) = check(&documents, &evidence).unwrap();

        assert_eq!(faults, []);
    }

    /// The faults of the repository's own documents after a change, where every named test passed.
    fn faults_after(change: impl FnOnce(&mut Documents)) -> Vec<Fault> {
        let mut documents = own_documents();
        let named = Requirements::parse(&documents.requirements).unwrap();
        let named = named.rows.iter().flat_map(|row| &row.tests);
        let evidence = Evidence::all_passed(named.map(String::as_str));
        change(&mut documents);
        check(&documents, &evidence).unwrap().1
    }

    #[test]
    fn changed_rules_a_missing_changelog_entry_and_an_unknown_test_each_fail_the_check() {
        let rules = faults_after(|documents| documents.agents.push_str("- One more rule.\n"));
        let demand = faults_after(|documents| {
            let text = "must\"\ntext = \"";
            let weaker = format!("{text}As far as possible: ");
            documents.requirements = documents.requirements.replacen(text, &weaker, 1);
        });
        let entry = faults_after(|documents| {
            documents.changelog = documents.changelog.replace("Guardrails revision", "Revision");
        });
        let section = faults_after(|documents| {
            documents.changelog = documents.changelog.replace("## Unreleased", "## 0.0");
        });
        let unknown = faults_after(|documents| {
            let tests = "tests = [\n  \"a_test_that_does_not_exist\",";
            documents.requirements = documents.requirements.replacen("tests = [", tests, 1);
        });

        for (faults, at, what) in [
            (rules, "AGENTS.md", "changed since revision"),
            (demand, "AGENTS.md", "changed since revision"),
            (entry, "CHANGELOG.md", "has no entry"),
            (section, "CHANGELOG.md", "has 0 sections"),
            (unknown, "docs/requirements.toml", "which does not exist"),
        ] {
            let is_it = |fault: &Fault| fault.at.starts_with(at) && fault.what.contains(what);
            assert!(faults.iter().any(is_it), "{what}: {faults:?}");
        }
    }

    #[test]
    fn the_counts_of_each_state_are_printed() {
        let mut printed = Vec::new();

        judge(&mut printed, &own_documents(), &Evidence::all_passed([])).unwrap();

        let printed = String::from_utf8(printed).unwrap();
        assert!(printed.contains("11 anchors, "), "{printed}");
        assert!(printed.contains(" planned; "), "{printed}");
    }

    #[test]
    fn a_fault_fails_the_check_and_is_printed() {
        let mut documents = own_documents();
        documents.agents = documents.agents.replace("## Tool Contract", "## Tools");
        let mut printed = Vec::new();

        let fine = judge(&mut printed, &documents, &Evidence::all_passed([])).unwrap();

        assert!(!fine);
        assert!(String::from_utf8(printed).unwrap().contains("Tool Contract"));
    }
}
