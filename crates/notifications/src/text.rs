//! Texts of agents, models and people as parts of a message: without secrets, bounded, without characters that control a
//! terminal, a mail or the direction of text.

use cynode_domain::text::{ellipsize_chars, single_line};
use cynode_domain::visible_text::strip_invisible;
use cynode_resources::secrets::RedactSecrets as _;

/// One line of at most `max` characters.
pub(crate) fn clean_line(text: &str, max: usize) -> String {
    ellipsize_chars(&single_line(&clean(text)), max).into_owned()
}

/// Lines of at most `max` characters together.
pub(crate) fn clean_block(text: &str, max: usize) -> String {
    let clean = clean(text);
    let lines: Vec<&str> = clean.lines().map(str::trim_end).collect();
    ellipsize_chars(lines.join("\n").trim(), max).into_owned()
}

fn clean(text: &str) -> String {
    // Separators of lines and paragraphs would break a line of a message.
    strip_invisible(&text.to_owned().redact_secrets()).replace(['\u{2028}', '\u{2029}'], "")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_has_no_breaks_no_escapes_and_no_secret() {
        let text = "Hi\r\nBcc: all@example.com\u{1b}[31m \u{202e}red sk-proj-Zk93hQ0vLx72PbNcR5tYw8AeUi4SdGf6";

        let line = clean_line(text, 200);

        assert_eq!(line, "Hi Bcc: all@example.com[31m red sk-SECRET_REDACTED");
    }

    #[test]
    fn a_long_text_is_cut_between_characters() {
        assert_eq!(clean_line(&"ä".repeat(50), 10), "ä".repeat(9) + "…");
        assert_eq!(clean_block("a\n\n\u{0}b\u{2028}\n", 10), "a\n\nb");
    }
}
