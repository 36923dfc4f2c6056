//! `CLAUDE.md` and `AGENTS.md`: the headings that say how a project is built and structured.

use std::collections::BTreeMap;

/// The most commands of a section.
const MAX_COMMANDS: usize = 10;
/// The longest command.
const MAX_COMMAND_BYTES: usize = 500;
/// The longest text of a section.
const MAX_SECTION_CHARS: usize = 600;
/// The most conventions.
const MAX_PATTERNS: usize = 20;

/// What a guide says.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct GuideFacts {
    pub(super) architecture: Option<String>,
    pub(super) build_commands: Vec<String>,
    pub(super) test_commands: Vec<String>,
    pub(super) patterns: BTreeMap<String, String>,
}

/// Reads the sections of a guide.
pub(super) fn parse(text: &str) -> GuideFacts {
    let mut facts = GuideFacts::default();
    for (heading, lines) in sections(text) {
        let heading = heading.to_lowercase();
        let is = |words: &[&str]| words.iter().any(|word| heading.contains(word));
        if is(&["test", "build", "command", "develop", "verify", "check"]) {
            for command in code_lines(&lines) {
                let is_test = ["test", "check", "lint", "spec", "verify"]
                    .iter()
                    .any(|word| command.contains(word));
                let list =
                    if is_test { &mut facts.test_commands } else { &mut facts.build_commands };
                if list.len() < MAX_COMMANDS && !list.contains(&command) {
                    list.push(command);
                }
            }
        } else if is(&["architecture", "overview", "structure", "layout"]) {
            facts.architecture = facts.architecture.or_else(|| paragraph(&lines));
        } else if is(&["convention", "pattern", "style", "rule", "guideline"]) {
            for line in lines.iter().filter_map(|line| line.trim().strip_prefix("- ")) {
                let (topic, rule) = line.split_once(": ").unwrap_or((heading.trim(), line));
                let topic: String = topic.trim_matches('*').chars().take(60).collect();
                if facts.patterns.len() < MAX_PATTERNS {
                    facts.patterns.entry(topic).or_insert_with(|| rule.chars().take(300).collect());
                }
            }
        }
    }
    // A test command is a line that runs tests; a linter alone is none.
    let runs_tests = |command: &String| {
        ["test", "spec", "verify", "check"].iter().any(|word| command.contains(word))
    };
    if !facts.test_commands.iter().any(runs_tests) {
        facts.test_commands.clear();
    }
    facts
}

/// The first paragraph of prose of a document.
pub(super) fn first_paragraph(text: &str) -> Option<String> {
    let lines: Vec<&str> = text.lines().collect();
    paragraph(&lines)
}

/// The sections of a Markdown text: heading and lines.
fn sections(text: &str) -> Vec<(&str, Vec<&str>)> {
    let mut found: Vec<(&str, Vec<&str>)> = vec![];
    let mut is_code = false;
    for line in text.lines() {
        if line.trim_start().starts_with("```") {
            is_code = !is_code;
        }
        match line.strip_prefix('#').filter(|_| !is_code) {
            Some(heading) => found.push((heading.trim_start_matches('#').trim(), vec![])),
            None => {
                if let Some((_, lines)) = found.last_mut() {
                    lines.push(line);
                }
            }
        }
    }
    found
}

/// The command lines of fenced blocks and of list items that are code.
fn code_lines(lines: &[&str]) -> Vec<String> {
    let mut found = vec![];
    let mut is_code = false;
    for line in lines {
        let trimmed = line.trim();
        if trimmed.starts_with("```") {
            is_code = !is_code;
            continue;
        }
        let command = if is_code {
            Some(trimmed.strip_prefix("$ ").unwrap_or(trimmed))
        } else {
            let item =
                trimmed.strip_prefix("- ").or_else(|| trimmed.strip_prefix("* ")).unwrap_or("");
            item.find('`').and_then(|start| {
                let rest = &item[start + 1..];
                rest.find('`').map(|end| &rest[..end])
            })
        };
        let command = command.map(|command| command.split(" # ").next().unwrap_or(command).trim());
        let is_command = |command: &&str| {
            let has_words =
                command.contains(' ') || command.starts_with("make") || command.starts_with("./");
            !command.is_empty()
                && !command.starts_with('#')
                && command.len() <= MAX_COMMAND_BYTES
                && has_words
        };
        found.extend(command.filter(is_command).map(str::to_owned));
    }
    found
}

/// The first paragraph of prose among the lines.
fn paragraph(lines: &[&str]) -> Option<String> {
    let mut words: Vec<&str> = vec![];
    let mut is_code = false;
    for line in lines {
        let trimmed = line.trim();
        if trimmed.starts_with("```") {
            is_code = !is_code;
        }
        let is_prose = !is_code
            && !trimmed.is_empty()
            && !["#", "```", "|", "<", "![", "[!", "---"]
                .iter()
                .any(|start| trimmed.starts_with(start));
        if is_prose {
            words.push(trimmed.trim_start_matches("- "));
        } else if !words.is_empty() {
            break;
        }
    }
    let text: String = words.join(" ").chars().take(MAX_SECTION_CHARS).collect();
    (!text.is_empty()).then_some(text)
}
