//! The parts of a context: each is a type with a name, a size limit and a text.

use cynode_domain::criteria::{Criterion, refine_criteria};
use cynode_domain::text::truncate_at_line;
use cynode_wire::handoff::{FileFacts, ProjectFacts, TaskFacts, WorkspaceFacts};

use super::untrusted;

/// A part of a context.
pub trait ContextFragment {
    /// The most bytes of its text; longer text is truncated at the end of a line.
    const MAX_BYTES: usize;

    /// The name in logs and statistics.
    fn name(&self) -> &'static str;

    /// The text; empty if there is none.
    fn text(&self) -> String;

    /// Returns the text within the limit and whether it was truncated; `None` if there is none.
    fn truncated(&self) -> Option<(String, bool)> {
        let text = self.text();
        let text = text.trim();
        if text.is_empty() {
            return None;
        }
        let kept = truncate_at_line(text, Self::MAX_BYTES);
        let is_cut = kept.len() < text.len();
        let note = if is_cut { "\n[the rest was left out: too long]" } else { "" };
        Some((format!("{kept}{note}"), is_cut))
    }
}

/// Estimates the tokens of a text: four ASCII characters each, and one for every other character.
pub fn estimate_tokens(text: &str) -> usize {
    let ascii = text.bytes().filter(u8::is_ascii).count();
    let other = text.chars().filter(|c| !c.is_ascii()).count();
    ascii.div_ceil(4) + other
}

/// Identity, responsibilities and non-goals.
pub(super) struct BaselineFragment<'a>(pub(super) &'a str);

impl ContextFragment for BaselineFragment<'_> {
    const MAX_BYTES: usize = 32 * 1024;

    fn name(&self) -> &'static str {
        "baseline"
    }

    fn text(&self) -> String {
        self.0.to_owned()
    }
}

/// The rest of the instructions bundle.
pub(super) struct RoleInstructionsFragment<'a>(pub(super) &'a str);

impl ContextFragment for RoleInstructionsFragment<'_> {
    const MAX_BYTES: usize = 64 * 1024;

    fn name(&self) -> &'static str {
        "role_instructions"
    }

    fn text(&self) -> String {
        self.0.to_owned()
    }
}

/// The default skill, part of the instructions.
pub(super) struct SkillFragment<'a>(pub(super) &'a str);

impl ContextFragment for SkillFragment<'_> {
    const MAX_BYTES: usize = 16 * 1024;

    fn name(&self) -> &'static str {
        "default_skill"
    }

    fn text(&self) -> String {
        let skill = self.0.trim();
        if skill.is_empty() { String::new() } else { format!("## Default skill\n\n{skill}") }
    }
}

/// The project of the handoff.
pub(super) struct ProjectFragment<'a>(pub(super) &'a ProjectFacts);

impl ContextFragment for ProjectFragment<'_> {
    const MAX_BYTES: usize = 8 * 1024;

    fn name(&self) -> &'static str {
        "project"
    }

    fn text(&self) -> String {
        let project = self.0;
        let name = untrusted::inline(&project.name);
        let mut text = format!(
            "## Project context\n\n- id: {}\n- slug: {}\n- name: {name}",
            project.id, project.slug
        );
        if let Some(about) = project.description.as_deref().filter(|about| !about.is_empty()) {
            text.push_str("\n\n");
            text.push_str(&untrusted::quote("project description", about, 6 * 1024));
        }
        text
    }
}

/// The task of the handoff.
pub(super) struct TaskFragment<'a>(pub(super) &'a TaskFacts);

impl ContextFragment for TaskFragment<'_> {
    const MAX_BYTES: usize = 24 * 1024;

    fn name(&self) -> &'static str {
        "task"
    }

    fn text(&self) -> String {
        let task = self.0;
        let name = untrusted::inline(&task.name);
        let mut text = format!(
            "## Task context\n\n- id: {}\n- name: {name}\n- status: {}",
            task.id, task.status
        );
        if !task.acceptance_criteria.is_empty() {
            // In the form in which they are checked.
            let criteria = refine_criteria(&task.acceptance_criteria);
            let lines: Vec<String> = criteria.iter().map(criterion_line).collect();
            text.push_str("\n\nAcceptance criteria:\n");
            text.push_str(&untrusted::quote("acceptance criteria", &lines.join("\n"), 8 * 1024));
        }
        if !task.prompt.trim().is_empty() {
            text.push_str("\n\nRequest:\n");
            text.push_str(&untrusted::quote("task prompt", &task.prompt, 12 * 1024));
        }
        text
    }
}

/// Describes the content of a task's workspace; file names are quoted.
pub(crate) fn workspace_prompt(workspace: &WorkspaceFacts) -> String {
    let WorkspaceFacts { attachments, is_used } = workspace;
    let used = "It also contains files of earlier commands of this task.";
    if attachments.is_empty() {
        let text = if *is_used {
            used.replace("also contains", "contains")
        } else {
            "It is empty.".to_owned()
        };
        return format!("The workspace is the current directory. {text}");
    }
    let line = |file: &FileFacts| {
        let directory = WorkspaceFacts::ATTACHMENTS;
        format!("{directory}/{} ({} bytes)", file.path, file.size_bytes)
    };
    let lines: Vec<String> = attachments.iter().map(line).collect();
    let files = untrusted::quote("files in the workspace", &lines.join("\n"), 4 * 1024);
    let rest = if *is_used { used } else { "It contains nothing else." };
    format!("The workspace is the current directory and contains these files:\n{files}\n{rest}")
}

/// Renders a criterion as a line of text.
pub(crate) fn criterion_line(criterion: &Criterion) -> String {
    match criterion {
        Criterion::Text { description } => format!("- {description}"),
        Criterion::ExitCode { equals } => format!("- the last command exits with {equals}"),
        Criterion::OutputMatches { pattern } => format!("- the output matches {pattern}"),
        Criterion::FileExists { path } => {
            format!("- the file {path} is left in $CYNODE_ARTIFACTS_DIR")
        }
        Criterion::CommandSucceeds { command } => format!("- the command {command} succeeds"),
    }
}

/// Additional context from preferences of the user or the user's scopes.
pub(super) struct AdditionalFragment<'a>(pub(super) &'a [String]);

impl ContextFragment for AdditionalFragment<'_> {
    const MAX_BYTES: usize = 16 * 1024;

    fn name(&self) -> &'static str {
        "additional_context"
    }

    fn text(&self) -> String {
        if self.0.is_empty() {
            return String::new();
        }
        let head = "## User additional context\n\nPreferences. They supplement the instructions \
                    above and do not override them.";
        format!("{head}\n\n{}", self.0.join("\n\n"))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    struct SampleFragment<'a>(&'a str);

    impl ContextFragment for SampleFragment<'_> {
        const MAX_BYTES: usize = 64;

        fn name(&self) -> &'static str {
            "sample"
        }

        fn text(&self) -> String {
            self.0.to_owned()
        }
    }

    #[test]
    fn a_long_fragment_is_cut_at_the_end_of_a_line_and_says_so() {
        let text = format!("{}\n{}", "a".repeat(40), "b".repeat(40));

        let (kept, is_cut) = SampleFragment(&text).truncated().unwrap();

        assert!(is_cut);
        assert_eq!(kept, format!("{}\n[the rest was left out: too long]", "a".repeat(40)));
        assert_eq!(SampleFragment(" \n").truncated(), None);
    }

    #[test]
    fn tokens_grow_with_the_text_and_count_other_scripts_by_character() {
        assert_eq!(
            (
                estimate_tokens(""),
                estimate_tokens("abcd"),
                estimate_tokens("abcde"),
                estimate_tokens("日本")
            ),
            (0, 1, 2, 2)
        );
    }

    proptest! {
        #[test]
        fn no_fragment_is_longer_than_its_cap(text in "\\PC{0,200}") {
            if let Some((kept, is_cut)) = SampleFragment(&text).truncated() {
                let note = if is_cut { "\n[the rest was left out: too long]".len() } else { 0 };
                prop_assert!(kept.len() <= SampleFragment::MAX_BYTES + note);
                prop_assert!(text.trim().starts_with(&kept[..kept.len() - note]));
            }
        }
    }
}
