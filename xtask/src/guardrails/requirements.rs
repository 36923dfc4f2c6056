//! `docs/requirements.toml`: every requirement, where it stands, and the tests that prove it.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::{Context as _, Result};
use serde::Deserialize;

use super::anchors::ANCHORS;
use super::catalogue;
use super::evidence::{Evidence, Finding};
use crate::fault::Fault;

const FILE: &str = "docs/requirements.toml";

/// The file.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Requirements {
    /// For each section of `AGENTS.md`, the requirements that carry its rules.
    pub anchors: BTreeMap<String, Vec<String>>,
    /// The requirements.
    #[serde(rename = "requirement")]
    pub rows: Vec<Requirement>,
}

/// One requirement.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Requirement {
    /// Its id; never reused.
    pub id: String,
    /// The founding document it comes from, or `own`.
    pub seed: String,
    /// How binding it is.
    pub level: Level,
    /// What must be true.
    pub text: String,
    /// Where it stands.
    pub state: State,
    /// The tests that prove it: a test's name, with as much of its path as tells it apart.
    pub tests: Vec<String>,
    /// What is missing, for a partial one.
    #[serde(default)]
    pub note: Option<String>,
    /// What `fault!` with this id breaks, if it is in the code.
    #[serde(default)]
    pub fault: Option<String>,
    /// The packages whose tests notice that fault.
    #[serde(default)]
    pub fault_packages: Vec<String>,
}

/// How binding a requirement is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Level {
    /// Binding.
    Must,
    /// Binding unless there is a reason, written down.
    Should,
    /// Permitted; the row says what holds if it is done.
    May,
    /// Ours, beyond what was asked.
    Extra,
}

/// Where a requirement stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum State {
    /// Built, and its tests prove it.
    Done,
    /// Partly built; the note says what is missing.
    Partial,
    /// Not built.
    Planned,
}

impl Requirements {
    /// Reads the file; unknown fields and words are errors.
    pub fn parse(text: &str) -> Result<Self> {
        toml::from_str(text).with_context(|| format!("cannot read {FILE}"))
    }

    /// How many requirements are in `state`.
    pub fn count(&self, state: State) -> usize {
        self.rows.iter().filter(|row| row.state == state).count()
    }

    /// Every fault of the file, given what is known of the tests.
    pub fn check(&self, evidence: &Evidence) -> Vec<Fault> {
        let mut faults = self.check_ids();
        faults.extend(self.check_anchors());
        for row in &self.rows {
            faults.extend(row.check(evidence));
        }
        faults
    }

    fn check_ids(&self) -> Vec<Fault> {
        let known: BTreeSet<String> = catalogue::ids().into_iter().collect();
        let mut seen = BTreeSet::new();
        let mut faults = Vec::new();
        for row in &self.rows {
            if !known.contains(&row.id) {
                faults.push(row.fault_at(
                    "is not in the catalogue",
                    "correct the id, or add it to xtask/src/guardrails/catalogue.rs",
                ));
            }
            if !seen.insert(row.id.clone()) {
                faults.push(row.fault_at("stands twice", "keep one row"));
            }
        }
        faults.extend(known.difference(&seen).map(|id| {
            Fault::new(format!("{FILE} {id}"), "is missing", "add its row, if only as planned")
        }));
        faults
    }

    fn check_anchors(&self) -> Vec<Fault> {
        let at = |anchor: &str| format!("{FILE} [anchors] \"{anchor}\"");
        let mut faults = Vec::new();
        for anchor in ANCHORS {
            if self.anchors.get(*anchor).is_none_or(Vec::is_empty) {
                faults.push(Fault::new(
                    at(anchor),
                    "is tied to no requirement",
                    "name the ids that carry it",
                ));
            }
        }
        for (anchor, ids) in &self.anchors {
            if !ANCHORS.contains(&anchor.as_str()) {
                faults.push(Fault::new(
                    at(anchor),
                    "is not a section of AGENTS.md",
                    "correct the name",
                ));
            }
            let unknown = ids.iter().filter(|id| !self.rows.iter().any(|row| row.id == **id));
            faults.extend(unknown.map(|id| {
                Fault::new(
                    at(anchor),
                    format!("names {id}, which is no requirement"),
                    "correct the id",
                )
            }));
        }
        faults
    }
}

impl Requirement {
    fn check(&self, evidence: &Evidence) -> Vec<Fault> {
        let mut faults = Vec::new();
        if self.text.trim().is_empty() {
            faults.push(self.fault_at("says nothing", "write its text"));
        }
        if self.state == State::Done && self.tests.is_empty() {
            faults.push(self.fault_at(
                "is done but names no test",
                "name the tests that prove it, or set its state back",
            ));
        }
        if self.state == State::Partial && self.note.is_none() {
            faults.push(self.fault_at("is partial without saying what is missing", "add a note"));
        }
        if self.fault.is_some() == self.fault_packages.is_empty() {
            faults.push(self.fault_at(
                "declares a fault without packages, or packages without a fault",
                "give both: what `fault!` breaks, and the packages whose tests notice it",
            ));
        }
        if self.fault.is_some() && self.tests.is_empty() {
            faults.push(self.fault_at("declares a fault but names no test", "name the tests"));
        }
        faults.extend(self.tests.iter().filter_map(|test| match evidence.find(test) {
            Finding::Proves => None,
            Finding::Unknown => {
                Some(self.fault_at(
                    &format!("names test {test}, which does not exist"),
                    "correct the name",
                ))
            }
            Finding::DidNotPass { test, outcome } => Some(self.fault_at(
                &format!("rests on test {test}, which {outcome}"),
                "repair the test or what it tests",
            )),
        }));
        faults
    }

    fn fault_at(&self, what: &str, remedy: &str) -> Fault {
        Fault::new(format!("{FILE} {}", self.id), what, remedy)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::guardrails::evidence::Outcome;

    /// A file with every row planned, after `edit` has changed it.
    fn faults(edit: impl Fn(String) -> String, evidence: &Evidence) -> Vec<String> {
        let anchors = ANCHORS.iter().map(|anchor| format!("\"{anchor}\" = [\"GRD-01\"]\n"));
        let rows = catalogue::ids().into_iter().map(|id| row(&id, "planned", "[]"));
        let lines: Vec<String> = anchors.chain(rows).collect();
        let text = format!("[anchors]\n{}", lines.concat());
        let requirements = Requirements::parse(&edit(text)).unwrap();
        requirements.check(evidence).iter().map(ToString::to_string).collect()
    }

    fn row(id: &str, state: &str, tests: &str) -> String {
        format!(
            "[[requirement]]\nid = \"{id}\"\nseed = \"000\"\nlevel = \"must\"\ntext = \"x\"\nstate = \"{state}\"\ntests = {tests}\n"
        )
    }

    /// The file with the row of WFL-01 replaced.
    fn with_row(state: &str, tests: &str, evidence: &Evidence) -> Vec<String> {
        faults(
            |text| text.replace(&row("WFL-01", "planned", "[]"), &row("WFL-01", state, tests)),
            evidence,
        )
    }

    fn nothing() -> Evidence {
        Evidence::all_passed([])
    }

    #[test]
    fn a_file_of_plans_has_no_faults() {
        assert_eq!(faults(|text| text, &nothing()), Vec::<String>::new());
    }

    #[test]
    fn a_missing_id_is_reported() {
        let found = faults(|text| text.replace(&row("PMO-03", "planned", "[]"), ""), &nothing());

        assert_eq!(found.len(), 1);
        assert!(found[0].contains("PMO-03: is missing"), "{found:?}");
    }

    #[test]
    fn an_unknown_id_is_reported() {
        let found = faults(|text| text + &row("PMA-99", "planned", "[]"), &nothing());

        assert!(found[0].contains("PMA-99: is not in the catalogue"), "{found:?}");
    }

    #[test]
    fn an_id_that_stands_twice_is_reported() {
        let found = faults(|text| text + &row("PMA-01", "planned", "[]"), &nothing());

        assert!(found[0].contains("PMA-01: stands twice"), "{found:?}");
    }

    #[test]
    fn a_done_requirement_without_a_test_is_reported() {
        assert!(with_row("done", "[]", &nothing())[0].contains("is done but names no test"));
    }

    #[test]
    fn a_named_test_that_does_not_exist_is_reported_in_every_state() {
        for state in ["done", "planned"] {
            let found = with_row(state, "[\"it_holds\"]", &nothing());

            assert_eq!(found.len(), 1);
            assert!(found[0].contains("names test it_holds, which does not exist"), "{found:?}");
        }
    }

    #[test]
    fn a_named_test_that_failed_or_was_skipped_is_reported() {
        for (outcome, word) in [(Outcome::Failed, "failed"), (Outcome::Skipped, "did not run")] {
            let evidence =
                Evidence::from_outcomes([("cynode-x::a::tests::it_holds".to_owned(), outcome)]);

            let found = with_row("done", "[\"it_holds\"]", &evidence);

            assert_eq!(found.len(), 1);
            assert!(found[0].contains(word), "{found:?}");
        }
    }

    #[test]
    fn a_named_test_that_passed_proves_the_requirement() {
        let evidence = Evidence::all_passed(["cynode-x::a::tests::it_holds"]);

        assert_eq!(with_row("done", "[\"it_holds\"]", &evidence), Vec::<String>::new());
    }

    #[test]
    fn a_partial_requirement_says_what_is_missing() {
        assert!(with_row("partial", "[]", &nothing())[0].contains("add a note"));
    }

    #[test]
    fn a_fault_has_packages_and_tests_that_notice_it() {
        let declare = |lines: &str| {
            let declared = row("WFL-01", "planned", "[]") + lines;
            faults(|text| text.replace(&row("WFL-01", "planned", "[]"), &declared), &nothing())
        };

        let lonely = declare("fault = \"it fails\"\n");
        let without_tests = declare("fault = \"it fails\"\nfault_packages = [\"cynode-x\"]\n");

        assert!(lonely[0].contains("declares a fault without packages"), "{lonely:?}");
        assert!(without_tests[0].contains("declares a fault but names no test"));
    }

    #[test]
    fn an_anchor_tied_to_no_requirement_is_reported() {
        let found =
            faults(|text| text.replace("\"Memory & RAG\" = [\"GRD-01\"]\n", ""), &nothing());

        assert!(found[0].contains("\"Memory & RAG\": is tied to no requirement"), "{found:?}");
    }

    #[test]
    fn an_unknown_field_is_an_error() {
        assert!(Requirements::parse("[anchors]\n[[requirement]]\nowner = \"me\"\n").is_err());
    }
}
