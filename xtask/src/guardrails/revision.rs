//! The guardrails change as one: rules, checker and changelog carry the same revision.
//!
//! `DIGEST` covers the text of `AGENTS.md` and the lists that the checker reads. A change to either
//! fails until the revision is raised here, in `AGENTS.md` and in an entry of `CHANGELOG.md`.

use sha2::{Digest as _, Sha256};

use super::anchors::{ANCHORS, PHRASES};
use crate::fault::Fault;

/// The revision that this checker enforces.
const REVISION: u32 = 1;

/// SHA-256 of `AGENTS.md` at [`REVISION`], followed by the checker's anchors and phrases.
const DIGEST: &str = "2cfbde5139f20b321883529c837126ba372dca4fa583b8300c621eb3a8c382dc";

const RAISE: &str = "raise the revision in AGENTS.md and in xtask/src/guardrails/revision.rs, and add an \
                     entry \"Guardrails revision N: …\" to CHANGELOG.md";

/// Reports a change to the rules or to the checker that the revision does not cover.
pub fn check(agents: &str, changelog: &str) -> Vec<Fault> {
    check_against(agents, changelog, &digest(agents), REVISION)
}

fn check_against(agents: &str, changelog: &str, found: &str, revision: u32) -> Vec<Fault> {
    let mut faults = Vec::new();
    if found != DIGEST {
        faults.push(Fault::new(
            "AGENTS.md",
            format!("the rules or the checker changed since revision {revision} (digest {found})"),
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
    if !changelog.contains(&format!("Guardrails revision {revision}:")) {
        faults.push(Fault::new(
            "CHANGELOG.md",
            format!("has no entry for revision {revision} of the guardrails"),
            RAISE,
        ));
    }
    faults
}

fn digest(agents: &str) -> String {
    let mut hasher = Sha256::new();
    hasher.update(agents);
    for word in ANCHORS.iter().chain(PHRASES) {
        hasher.update([0]);
        hasher.update(word);
    }
    hex::encode(hasher.finalize())
}

#[cfg(test)]
mod tests {
    use super::*;

    const AGENTS: &str = "Revision: 7\n\n- a rule\n";
    const CHANGELOG: &str = "## Unreleased\n- Guardrails revision 7: a rule.\n";

    #[test]
    fn a_changed_rule_is_reported_until_its_digest_is_recorded() {
        assert_ne!(digest(AGENTS), digest("Revision: 7\n\n- another rule\n"));

        let faults = check_against(AGENTS, CHANGELOG, &digest(AGENTS), 7);

        assert_eq!(faults.len(), 1, "{faults:?}");
        assert!(faults[0].what.contains("changed since revision 7"), "{faults:?}");
    }

    #[test]
    fn rules_checker_and_changelog_at_one_revision_pass() {
        assert_eq!(check_against(AGENTS, CHANGELOG, DIGEST, 7), []);
    }

    #[test]
    fn a_changelog_or_rules_of_another_revision_are_reported() {
        let stale_changelog = check_against(AGENTS, "## Unreleased\n- more\n", DIGEST, 7);
        let stale_rules = check_against("Revision: 6\n", CHANGELOG, DIGEST, 7);

        assert_eq!(stale_changelog[0].at, "CHANGELOG.md");
        assert_eq!(stale_rules[0].at, "AGENTS.md");
    }
}
