//! Diffs of tool calls, for people.

use std::time::Duration;

use similar::TextDiff;

/// The most bytes of a text that is compared.
const MAX_COMPARED_BYTES: usize = 256 << 10;
/// The comparison becomes coarse after this time.
const COMPARE_TIMEOUT: Duration = Duration::from_millis(200);
const CONTEXT_LINES: usize = 2;

/// Renders a change as a unified diff; large texts are counted only.
pub(crate) fn render_diff(path: &str, old: Option<&str>, new: &str) -> String {
    let old_text = old.unwrap_or_default();
    if old_text.len().max(new.len()) > MAX_COMPARED_BYTES {
        return format!("{path}: {} bytes → {} bytes", old_text.len(), new.len());
    }
    let before = if old.is_some() { path } else { "/dev/null" };
    let diff = TextDiff::configure().timeout(COMPARE_TIMEOUT).diff_lines(old_text, new);
    let mut unified = diff.unified_diff();
    unified.context_radius(CONTEXT_LINES).header(before, path).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_change_is_a_unified_diff() {
        let diff = render_diff("a.txt", Some("one\ntwo\n"), "one\n2\n");
        assert!(diff.starts_with("--- a.txt\n+++ a.txt\n"), "{diff}");
        assert!(diff.contains("-two\n+2\n"), "{diff}");
        assert!(render_diff("b", None, "new\n").starts_with("--- /dev/null\n+++ b\n"));
    }

    #[test]
    fn large_texts_are_counted_only() {
        let large = "x\n".repeat(MAX_COMPARED_BYTES);
        assert_eq!(render_diff("c", Some("x"), &large), "c: 1 bytes → 524288 bytes");
    }
}
