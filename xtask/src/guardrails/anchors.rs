//! The sections that `AGENTS.md` must have, and the rule words that must not drop out of it.

use crate::fault::Fault;

/// The headings of `AGENTS.md`. Tests and checker read this one list.
pub const ANCHORS: &[&str] = &[
    "Framework Governance",
    "Design Tenets",
    "Agent Roles & Interfaces",
    "Planning Protocol",
    "Tool Contract",
    "Memory & RAG",
    "Coordinator Policy",
    "Configuration Policy",
    "Observability & Tracing",
    "Testing Invariants",
    "Change Management",
];

/// Words that carry a rule: without them the section above would be empty talk.
pub const PHRASES: &[&str] = &[
    "canonical",
    "cuga.modular.tools.",
    "round-robin",
    "PLANNER_MAX_STEPS",
    "MODEL_TEMPERATURE",
    "trace_id",
    "profile",
];

/// Reports missing, repeated and empty sections, and missing rule words.
pub fn check(agents: &str) -> Vec<Fault> {
    let sections = sections(agents);
    let mut faults = Vec::new();
    for anchor in ANCHORS {
        let found: Vec<_> = sections.iter().filter(|s| s.heading == *anchor).collect();
        match found.as_slice() {
            [] => faults.push(Fault::new(
                "AGENTS.md",
                format!("has no section \"{anchor}\""),
                format!("add \"## {anchor}\""),
            )),
            [only] if only.rules == 0 => faults.push(Fault::in_line(
                "AGENTS.md",
                only.line,
                format!("\"{anchor}\" states no rule"),
                "add at least one `- ` line",
            )),
            [_] => {}
            [_, again, ..] => faults.push(Fault::in_line(
                "AGENTS.md",
                again.line,
                format!("\"{anchor}\" stands here again"),
                "join the two sections",
            )),
        }
    }
    let missing = PHRASES.iter().filter(|phrase| !agents.contains(**phrase));
    faults.extend(missing.map(|phrase| {
        Fault::new("AGENTS.md", format!("no longer says \"{phrase}\""), "restore the rule")
    }));
    faults
}

/// Reports a changelog without exactly one filled section for what is not released.
pub fn check_changelog(changelog: &str) -> Vec<Fault> {
    let sections = sections(changelog);
    let open: Vec<_> =
        sections.iter().filter(|s| matches!(s.heading, "Unreleased" | "vNext")).collect();
    match open.as_slice() {
        [only] if only.rules > 0 => vec![],
        [_] => vec![Fault::new(
            "CHANGELOG.md",
            "its section Unreleased is empty",
            "say what changed for a user",
        )],
        [] | [_, _, ..] => vec![Fault::new(
            "CHANGELOG.md",
            format!("has {} sections Unreleased or vNext", open.len()),
            "keep exactly one",
        )],
    }
}

struct Section<'a> {
    heading: &'a str,
    line: usize,
    rules: usize,
}

fn sections(text: &str) -> Vec<Section<'_>> {
    let mut sections: Vec<Section<'_>> = Vec::new();
    for (index, line) in text.lines().enumerate() {
        if let Some(heading) = line.strip_prefix("## ") {
            sections.push(Section { heading: heading.trim(), line: index + 1, rules: 0 });
        } else if line.starts_with("- ")
            && let Some(section) = sections.last_mut()
        {
            section.rules += 1;
        }
    }
    sections
}

#[cfg(test)]
mod tests {
    use super::*;

    fn whole() -> String {
        let sections: Vec<String> =
            ANCHORS.iter().map(|anchor| format!("## {anchor}\n- a rule\n")).collect();
        format!("{}{}", sections.concat(), PHRASES.join(" "))
    }

    fn faults(agents: &str) -> Vec<String> {
        check(agents).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn a_file_with_every_anchor_and_phrase_passes() {
        assert_eq!(faults(&whole()), Vec::<String>::new());
    }

    #[test]
    fn each_missing_anchor_is_reported() {
        for anchor in ANCHORS {
            let found = faults(&whole().replace(&format!("## {anchor}\n"), ""));

            assert_eq!(found.len(), 1, "{anchor}");
            assert!(found[0].contains(&format!("has no section \"{anchor}\"")), "{found:?}");
        }
    }

    #[test]
    fn an_anchor_without_a_rule_is_reported() {
        let text = whole().replace("## Tool Contract\n- a rule\n", "## Tool Contract\n");

        assert!(faults(&text)[0].contains("\"Tool Contract\" states no rule"));
    }

    #[test]
    fn an_anchor_that_stands_twice_is_reported() {
        let text = format!("{}\n## Tool Contract\n- another\n", whole());

        assert!(faults(&text)[0].contains("stands here again"));
    }

    #[test]
    fn a_lost_rule_word_is_reported() {
        let text = whole().replace("round-robin", "some");

        assert!(faults(&text)[0].contains("no longer says \"round-robin\""));
    }

    #[test]
    fn the_changelog_needs_one_filled_section_of_unreleased_changes() {
        assert_eq!(check_changelog("## Unreleased\n- It works.\n"), []);
        assert_eq!(check_changelog("## vNext\n- It works.\n"), []);
        assert_eq!(check_changelog("## Unreleased\n").len(), 1);
        assert_eq!(check_changelog("## 1.0\n- It works.\n").len(), 1);
        assert_eq!(check_changelog("## vNext\n- a\n## Unreleased\n- b\n").len(), 1);
    }
}
