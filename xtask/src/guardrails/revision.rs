//! The guardrails change as one: rules, checker, demands and changelog carry the same revision.
//!
//! The digest covers the text of `AGENTS.md`, what every requirement demands (its id, seed, level and text),
//! and the checker: all of its files, with this one and their tests. A change to any of them fails until a revision
//! is appended to `revisions.toml`, to `AGENTS.md` and, with its digest, to `CHANGELOG.md`.

use anyhow::{Context as _, Result};
use serde::Deserialize;
use sha2::{Digest as _, Sha256};

use super::requirements::Requirements;
use crate::fault::Fault;

/// Every revision with its digest, the oldest first. A new one is appended; no entry is edited.
const REVISIONS: &str = include_str!("revisions.toml");

/// The sources of the checker, tests included.
const CHECKER: &[&str] = &[
    include_str!("../guardrails.rs"),
    include_str!("anchors.rs"),
    include_str!("catalogue.rs"),
    include_str!("evidence.rs"),
    include_str!("fault_sites.rs"),
    include_str!("junit.rs"),
    include_str!("mutate.rs"),
    include_str!("requirements.rs"),
    include_str!("revision.rs"),
];

/// How many digits of the digest the changelog repeats.
const SHOWN: usize = 12;

const RAISE: &str = "raise \"Revision: N\" in AGENTS.md, append N with its digest to \
                     xtask/src/guardrails/revisions.toml, and add an entry \"Guardrails revision N: digest …\" \
                     with the first 12 digits to CHANGELOG.md";

/// The file of revisions.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Revisions {
    revision: Vec<Revision>,
}

/// A state of the guardrails that the changelog describes.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Revision {
    number: u32,
    digest: String,
}

/// Reports a change to the rules, the demands or the checker that no revision covers.
pub fn check(agents: &str, requirements: &Requirements, changelog: &str) -> Result<Vec<Fault>> {
    let revisions = read_revisions()?;
    let found = digest(agents, requirements, CHECKER);
    Ok(check_against(agents, changelog, &found, &revisions))
}

fn read_revisions() -> Result<Vec<Revision>> {
    let file: Revisions = toml::from_str(REVISIONS).context("cannot read revisions.toml")?;
    Ok(file.revision)
}

fn check_against(agents: &str, changelog: &str, found: &str, revisions: &[Revision]) -> Vec<Fault> {
    let mut faults = check_numbers(revisions);
    let last = revisions.last();
    let (revision, recorded) = last.map_or((0, ""), |last| (last.number, last.digest.as_str()));
    if found != recorded && !cynode_fault::fault!("GRD-01") {
        faults.push(Fault::new(
            "AGENTS.md",
            format!(
                "the rules, the demands or the checker changed since revision {revision} (digest {found})"
            ),
            RAISE,
        ));
    }
    if !agents.lines().any(|line| line == format!("Revision: {revision}")) {
        faults.push(Fault::new(
            "AGENTS.md",
            format!("is not at revision {revision}, which the checker enforces"),
            RAISE,
        ));
    }
    // The changelog repeats the digest, so that no digest changes without the changelog.
    let entry = |Revision { number, digest }: &Revision| {
        let shown = digest.get(..SHOWN).unwrap_or(digest);
        format!("Guardrails revision {number}: digest {shown}")
    };
    let missing = revisions.iter().map(entry).filter(|entry| !changelog.contains(entry.as_str()));
    faults.extend(missing.map(|entry| {
        Fault::new("CHANGELOG.md", format!("has no entry that begins with \"{entry}\""), RAISE)
    }));
    faults
}

/// Revisions count from 1 without gaps.
fn check_numbers(revisions: &[Revision]) -> Vec<Fault> {
    let wrong = (1_u32..).zip(revisions).find(|(expected, found)| *expected != found.number);
    let fault = wrong.map(|(expected, found)| {
        Fault::new(
            "xtask/src/guardrails/revisions.toml",
            format!("has revision {} in the place of {expected}", found.number),
            "append revisions, and remove none",
        )
    });
    fault.into_iter().collect()
}

fn digest(agents: &str, requirements: &Requirements, checker: &[&str]) -> String {
    let mut hasher = Sha256::new();
    hasher.update(agents);
    for row in &requirements.rows {
        hasher.update([1]);
        hasher.update(format!("{}\n{}\n{:?}\n{}", row.id, row.seed, row.level, row.text));
    }
    for source in checker {
        hasher.update([0]);
        hasher.update(source);
    }
    hex::encode(hasher.finalize())
}

#[cfg(test)]
mod tests {
    use super::*;

    const AGENTS: &str = "Revision: 2\n\n- a rule\n";
    const CHANGELOG: &str = "## Unreleased\n\
        - Guardrails revision 2: digest bbbbbbbbbbbb. Another rule.\n\
        - Guardrails revision 1: digest aaaaaaaaaaaa. A rule.\n";
    const OLD: (u32, &str) = (1, "aaaaaaaaaaaaaaaa");
    const NEW: (u32, &str) = (2, "bbbbbbbbbbbbbbbb");

    fn revisions(entries: &[(u32, &str)]) -> Vec<Revision> {
        let revision = |(number, digest): &(u32, &str)| Revision {
            number: *number,
            digest: (*digest).to_owned(),
        };
        entries.iter().map(revision).collect()
    }

    fn demands(text: &str, state: &str) -> Requirements {
        let row = format!(
            "[[requirement]]\nid = \"A-1\"\nseed = \"000\"\nlevel = \"must\"\ntext = \"{text}\"\n\
             state = \"{state}\"\ntests = []\n[anchors]\n"
        );
        Requirements::parse(&row).unwrap()
    }

    #[test]
    fn a_changed_rule_is_reported_until_its_digest_is_recorded() {
        let demands = demands("x", "done");
        let changed = digest("Revision: 2\n\n- another rule\n", &demands, CHECKER);
        assert_ne!(digest(AGENTS, &demands, CHECKER), changed);

        let faults = check_against(AGENTS, CHANGELOG, "cccccccccccccccc", &revisions(&[OLD, NEW]));

        assert_eq!(faults.len(), 1, "{faults:?}");
        assert!(faults[0].what.contains("changed since revision 2"), "{faults:?}");
    }

    #[test]
    fn a_changed_demand_changes_the_digest_and_its_progress_does_not() {
        let before = digest(AGENTS, &demands("x", "planned"), CHECKER);

        assert_ne!(before, digest(AGENTS, &demands("y", "planned"), CHECKER));
        assert_eq!(before, digest(AGENTS, &demands("x", "partial"), CHECKER));
    }

    #[test]
    fn a_change_to_the_checker_or_its_tests_changes_the_digest() {
        let demands = demands("x", "done");
        let source = "fn check() {}\n\n#[cfg(test)]\nmod tests {}\n";
        let before = digest(AGENTS, &demands, &[source]);

        for (from, to) in [("check", "skip"), ("mod tests", "mod more")] {
            let after = source.replace(from, to);
            assert_ne!(before, digest(AGENTS, &demands, &[after.as_str()]), "{from}");
        }
    }

    #[test]
    fn the_digest_covers_every_file_of_the_checker() {
        let directory = crate::tool::root().join("xtask/src/guardrails");
        let mut files: Vec<_> = std::fs::read_dir(directory)
            .unwrap()
            .map(|entry| entry.unwrap().path())
            .filter(|path| path.extension().is_some_and(|extension| extension == "rs"))
            .collect();
        files.push(crate::tool::root().join("xtask/src/guardrails.rs"));
        assert_eq!(CHECKER.len(), files.len());

        for file in files {
            let source = std::fs::read_to_string(&file).unwrap();
            assert!(CHECKER.contains(&source.as_str()), "{}", file.display());
        }
    }

    #[test]
    fn rules_checker_and_changelog_at_one_revision_pass() {
        assert_eq!(check_against(AGENTS, CHANGELOG, NEW.1, &revisions(&[OLD, NEW])), []);
    }

    #[test]
    fn a_changelog_or_rules_of_another_revision_are_reported() {
        let known = revisions(&[OLD, NEW]);
        let stale_changelog = check_against(AGENTS, "## Unreleased\n- more\n", NEW.1, &known);
        let stale_rules = check_against("Revision: 1\n", CHANGELOG, NEW.1, &known);

        assert_eq!(stale_changelog.len(), 2, "{stale_changelog:?}");
        assert!(stale_changelog.iter().all(|fault| fault.at == "CHANGELOG.md"));
        assert_eq!(stale_rules[0].at, "AGENTS.md");
    }

    #[test]
    fn a_digest_that_is_edited_in_place_differs_from_the_changelog() {
        let edited = (2, "dddddddddddddddd");

        let faults = check_against(AGENTS, CHANGELOG, edited.1, &revisions(&[OLD, edited]));

        assert_eq!(faults.len(), 1, "{faults:?}");
        assert!(faults[0].what.contains("revision 2: digest dddddddddddd"), "{faults:?}");
    }

    #[test]
    fn revisions_are_numbered_from_one_without_gaps() {
        assert_eq!(check_numbers(&read_revisions().unwrap()), []);
        assert_eq!(check_numbers(&revisions(&[NEW])).len(), 1);
        assert_eq!(check_numbers(&revisions(&[OLD, (3, "cc")])).len(), 1);
        assert_eq!(check_numbers(&revisions(&[OLD, OLD])).len(), 1);
    }
}
