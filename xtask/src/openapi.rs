//! Generates `docs/reference/openapi.json` and `tool-schemas.json`, and detects drift.

use std::fs;
use std::io::Write;
use std::process::Command;

use anyhow::{Context as _, Result};

use crate::tool;

/// Each document, and the subcommand of the orchestrator that prints it.
const FILES: [(&str, &str); 2] = [
    ("docs/reference/openapi.json", "openapi"),
    ("docs/reference/tool-schemas.json", "tool-schemas"),
];

/// Regenerates the documents.
pub fn write(out: &mut dyn Write) -> Result<bool> {
    for (file, command) in FILES {
        let path = tool::root().join(file);
        if let Some(directory) = path.parent() {
            fs::create_dir_all(directory)?;
        }
        fs::write(&path, generate_document(command)?)
            .with_context(|| format!("cannot write {file}"))?;
        writeln!(out, "openapi: wrote {file}")?;
    }
    Ok(true)
}

/// Whether the documents match the orchestrator that the tests built.
pub fn check(out: &mut dyn Write) -> Result<bool> {
    let mut is_current = true;
    for (file, command) in FILES {
        let mut run = Command::new(tool::target_dir().join("debug/cynode-orchestrator"));
        let wanted = format!("{}\n", tool::stdout_of(run.arg(command))?.trim_end());
        let found = fs::read_to_string(tool::root().join(file)).unwrap_or_default();
        match first_difference(&found, &wanted) {
            None => writeln!(out, "openapi: {file} is up to date")?,
            Some(line) => writeln!(
                out,
                "fault: {file}:{line}: differs from the code; run `cargo xtask openapi` and commit it"
            )?,
        }
        is_current &= found == wanted;
    }
    Ok(is_current)
}

fn generate_document(command: &str) -> Result<String> {
    let mut run = tool::cargo_command(&["run", "--quiet", "-p", "cynode-orchestrator", "--bin"]);
    let text = tool::stdout_of(run.args(["cynode-orchestrator", "--", command]))?;
    Ok(format!("{}\n", text.trim_end()))
}

/// The first line, from 1, at which two texts differ.
fn first_difference(found: &str, wanted: &str) -> Option<usize> {
    if found == wanted {
        return None;
    }
    let same = found.lines().zip(wanted.lines()).take_while(|(a, b)| a == b).count();
    Some(same + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn drift_is_shown_at_its_first_line() {
        assert_eq!(first_difference("a\nb\n", "a\nb\n"), None);
        assert_eq!(first_difference("a\nb\n", "a\nc\n"), Some(2));
        assert_eq!(first_difference("", "a\n"), Some(1));
        assert_eq!(first_difference("a\n", "a\nb\n"), Some(2));
    }
}
