//! `docs/reference/openapi.json` is written by the code and compared with it.

use std::fs;
use std::io::Write;

use anyhow::{Context as _, Result};

use crate::tool;

const FILE: &str = "docs/reference/openapi.json";

/// Writes the document anew.
pub fn write(out: &mut dyn Write) -> Result<bool> {
    let path = tool::root().join(FILE);
    if let Some(directory) = path.parent() {
        fs::create_dir_all(directory)?;
    }
    fs::write(&path, generated()?).with_context(|| format!("cannot write {FILE}"))?;
    writeln!(out, "openapi: wrote {FILE}")?;
    Ok(true)
}

/// Whether the document is what the code would write.
pub fn check(out: &mut dyn Write) -> Result<bool> {
    let wanted = generated()?;
    let found = fs::read_to_string(tool::root().join(FILE)).unwrap_or_default();
    match first_difference(&found, &wanted) {
        None => writeln!(out, "openapi: {FILE} is up to date")?,
        Some(line) => writeln!(
            out,
            "fault: {FILE}:{line}: differs from the code; run `cargo xtask openapi` and commit it"
        )?,
    }
    Ok(found == wanted)
}

fn generated() -> Result<String> {
    let mut run = tool::cargo(&["run", "--quiet", "-p", "cynode-orchestrator", "--bin"]);
    let text = tool::stdout_of(run.args(["cynode-orchestrator", "--", "openapi"]))?;
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
