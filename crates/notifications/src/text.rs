//! Texts of agents, models and people as parts of a message: without secrets, bounded, without characters that control a
//! terminal, a mail or the direction of text.

use cynode_resources::secrets::RedactSecrets as _;

/// One line of at most `max` characters.
pub(crate) fn clean_line(text: &str, max: usize) -> String {
    let words: Vec<String> = clean(text).split_whitespace().map(ToOwned::to_owned).collect();
    shorten(&words.join(" "), max)
}

/// Lines of at most `max` characters together.
pub(crate) fn clean_block(text: &str, max: usize) -> String {
    let clean = clean(text);
    let lines: Vec<&str> = clean.lines().map(str::trim_end).collect();
    shorten(lines.join("\n").trim(), max)
}

fn clean(text: &str) -> String {
    let text = text.to_owned().redact_secrets();
    text.chars().filter(|c| *c == '\n' || *c == '\t' || !is_hidden(*c)).collect()
}

/// Control characters, and invisible ones that change the direction or the reading of text.
fn is_hidden(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{61c}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{2069}' | '\u{feff}')
        || matches!(c, '\u{e0000}'..='\u{e007f}')
}

fn shorten(text: &str, max: usize) -> String {
    if text.chars().count() <= max {
        return text.to_owned();
    }
    let kept: String = text.chars().take(max.saturating_sub(1)).collect();
    kept.trim_end().to_owned() + "…"
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
