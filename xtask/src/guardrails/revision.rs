//! The guardrails change as one: rules, checker and changelog carry the same revision.
//!
//! The digest covers the text of `AGENTS.md` and the code of the checker with its lists, without its
//! tests and without this file, which holds the digests. A change to either fails until a revision
//! is appended to `REVISIONS`, to `AGENTS.md` and, with its digest, to `CHANGELOG.md`.

use sha2::{Digest as _, Sha256};

use crate::fault::Fault;

/// Every revision with its digest, the oldest first. A new revision is appended; no entry is edited.
const REVISIONS: &[(u32, &str)] = &[
    (1, "2cfbde5139f20b321883529c837126ba372dca4fa583b8300c621eb3a8c382dc"),
    (2, "601c6931a80260090f29fec239f59e95f6ecc547f1aaced312cee76e8714f943"),
    (3, "a46dec3c14e0dec05124af3245efc8e13da119bd843a1d99053f7062da5f17c7"),
    (4, "0fe125c8e76d6a2441ae207425b426393ccf8f2dde638f4f700cec4fb16cfc40"),
];

/// The sources of the checker.
const CHECKER: &[&str] = &[
    include_str!("../guardrails.rs"),
    include_str!("anchors.rs"),
    include_str!("catalogue.rs"),
    include_str!("evidence.rs"),
    include_str!("junit.rs"),
    include_str!("requirements.rs"),
];

/// How many digits of the digest the changelog repeats.
const SHOWN: usize = 12;

const RAISE: &str = "raise \"Revision: N\" in AGENTS.md, append (N, digest) to REVISIONS in \
                     xtask/src/guardrails/revision.rs, and add an entry \"Guardrails revision N: digest …\" \
                     with the first 12 digits to CHANGELOG.md";

/// Reports a change to the rules or to the checker that no revision covers.
pub fn check(agents: &str, changelog: &str) -> Vec<Fault> {
    check_against(agents, changelog, &digest(agents, CHECKER), REVISIONS)
}

fn check_against(
    agents: &str,
    changelog: &str,
    found: &str,
    revisions: &[(u32, &str)],
) -> Vec<Fault> {
    let mut faults = check_numbers(revisions);
    let (revision, recorded) = revisions.last().copied().unwrap_or((0, ""));
    if found != recorded {
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
    // The changelog repeats the digest, so that no digest changes without the changelog.
    let entry = |(number, digest): &(u32, &str)| {
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
fn check_numbers(revisions: &[(u32, &str)]) -> Vec<Fault> {
    let wrong = (1_u32..).zip(revisions).find(|(expected, (number, _))| expected != number);
    let fault = wrong.map(|(expected, (number, _))| {
        Fault::new(
            "xtask/src/guardrails/revision.rs",
            format!("REVISIONS has {number} in the place of {expected}"),
            "append revisions, and remove none",
        )
    });
    fault.into_iter().collect()
}

fn digest(agents: &str, checker: &[&str]) -> String {
    let mut hasher = Sha256::new();
    hasher.update(agents);
    for source in checker {
        hasher.update([0]);
        hasher.update(without_tests(source));
    }
    hex::encode(hasher.finalize())
}

fn without_tests(source: &str) -> &str {
    source.split_once("\n#[cfg(test)]\n").map_or(source, |(code, _)| code)
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

    #[test]
    fn a_changed_rule_is_reported_until_its_digest_is_recorded() {
        assert_ne!(digest(AGENTS, CHECKER), digest("Revision: 2\n\n- another rule\n", CHECKER));

        let faults = check_against(AGENTS, CHANGELOG, "cccccccccccccccc", &[OLD, NEW]);

        assert_eq!(faults.len(), 1, "{faults:?}");
        assert!(faults[0].what.contains("changed since revision 2"), "{faults:?}");
    }

    #[test]
    fn a_change_to_the_checker_changes_the_digest() {
        let source = "fn check() {}\n\n#[cfg(test)]\nmod tests {}\n";

        let before = digest(AGENTS, &[source]);

        assert_ne!(before, digest(AGENTS, &[source.replace("check", "skip").as_str()]));
        assert_eq!(before, digest(AGENTS, &[source.replace("mod tests", "mod more").as_str()]));
        assert!(CHECKER.iter().all(|source| without_tests(source).contains("pub fn ")));
        assert!(CHECKER.iter().any(|source| source.contains("revision::check(")));
    }

    #[test]
    fn rules_checker_and_changelog_at_one_revision_pass() {
        assert_eq!(check_against(AGENTS, CHANGELOG, NEW.1, &[OLD, NEW]), []);
    }

    #[test]
    fn a_changelog_or_rules_of_another_revision_are_reported() {
        let stale_changelog = check_against(AGENTS, "## Unreleased\n- more\n", NEW.1, &[OLD, NEW]);
        let stale_rules = check_against("Revision: 1\n", CHANGELOG, NEW.1, &[OLD, NEW]);

        assert_eq!(stale_changelog.len(), 2, "{stale_changelog:?}");
        assert!(stale_changelog.iter().all(|fault| fault.at == "CHANGELOG.md"));
        assert_eq!(stale_rules[0].at, "AGENTS.md");
    }

    #[test]
    fn a_digest_that_is_edited_in_place_differs_from_the_changelog() {
        let edited = (2, "dddddddddddddddd");

        let faults = check_against(AGENTS, CHANGELOG, edited.1, &[OLD, edited]);

        assert_eq!(faults.len(), 1, "{faults:?}");
        assert!(faults[0].what.contains("revision 2: digest dddddddddddd"), "{faults:?}");
    }

    #[test]
    fn revisions_are_numbered_from_one_without_gaps() {
        assert_eq!(check_numbers(REVISIONS), []);
        assert_eq!(check_numbers(&[NEW]).len(), 1);
        assert_eq!(check_numbers(&[OLD, (3, "cc")]).len(), 1);
        assert_eq!(check_numbers(&[OLD, OLD]).len(), 1);
    }
}
