//! `edit_file`: several replacements of text, all or none.

use cynode_agent_job::text_file::{read_text, write_text};
use cynode_agent_job::workspace::Workspace;

use super::ToolError;
use super::closest_lines::{closest_lines, number_lines};
use super::edit_match::{MatchError, find_replacement, line_number};
use crate::action::{EditFile, TextEdit};
use crate::observation::Observation;

/// Larger files are not edited.
pub(crate) const MAX_EDITED_BYTES: u64 = 2 << 20;
/// Lines shown around a change.
const CONTEXT_LINES: usize = 2;
/// The most lines shown of one change.
const MAX_SHOWN_LINES: usize = 20;
/// The most places of an ambiguous text that are named.
const MAX_NAMED_PLACES: usize = 10;

/// Applies the edits in order to the text in memory, and writes the file once after the last one.
pub(super) fn edit_file(workspace: &Workspace, edit: &EditFile) -> Result<Observation, ToolError> {
    let path = workspace.resolve(&edit.path)?;
    let original = read_text(&path, MAX_EDITED_BYTES)?;
    let mut text = original.clone();
    let (mut matches, mut shown) = (Vec::new(), String::new());
    for (number, one) in (1..).zip(&edit.edits) {
        let (begin, added, kind) = apply_edit(&mut text, one, number)?;
        let line = line_number(&text, begin);
        matches.push(format!("edit {number} {kind} at line {line}"));
        shown = show_change(&text, line, added);
    }
    if text == original {
        let message = format!("the edits do not change {}", path.relative());
        return Err(ToolError::Rejected(message));
    }
    write_text(&path, &text)?;
    let headline = format!("changed {}: {}", path.relative(), matches.join("; "));
    Ok(Observation::changed(headline).with_data(shown))
}

/// Applies one edit; returns its position, the number of new lines, and how it matched.
fn apply_edit(
    text: &mut String,
    edit: &TextEdit,
    number: usize,
) -> Result<(usize, usize, &'static str), ToolError> {
    if edit.old.trim().is_empty() {
        let message = format!("edit {number}: old is empty; nothing was changed");
        return Err(ToolError::Rejected(message));
    }
    match find_replacement(text, &edit.old, &edit.new) {
        Ok(found) => {
            let begin = found.range.start;
            text.replace_range(found.range, &found.new);
            Ok((begin, found.new.lines().count(), found.kind.describe()))
        }
        Err(MatchError::Ambiguous(lines)) => {
            let places: Vec<String> =
                lines.iter().take(MAX_NAMED_PLACES).map(ToString::to_string).collect();
            Err(ToolError::Rejected(format!(
                "edit {number}: old matches {} places, at lines {}; add lines around it to make \
                 it unique; nothing was changed",
                lines.len(),
                places.join(", ")
            )))
        }
        Err(MatchError::Missing) => {
            let message = format!("edit {number}: old was not found; nothing was changed");
            Err(match closest_lines(text, &edit.old) {
                Some(data) => ToolError::WithData {
                    message: format!("{message}. The closest lines of the file:"),
                    data,
                },
                None => ToolError::Rejected(message),
            })
        }
    }
}

/// The changed lines with their neighbours.
fn show_change(text: &str, line: usize, added: usize) -> String {
    let lines: Vec<&str> = text.lines().collect();
    let begin = line.saturating_sub(1 + CONTEXT_LINES);
    let end = (line - 1 + added + CONTEXT_LINES).min(lines.len()).min(begin + MAX_SHOWN_LINES);
    number_lines(lines.get(begin..end).unwrap_or_default(), begin + 1)
}
