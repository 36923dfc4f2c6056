//! Text of programs, without what a terminal would interpret.

use cynode_domain::text::{last_bytes, single_line, truncate_bytes};

/// Removes terminal sequences such as colours, and control characters other than line feeds and tabs.
pub fn strip_escapes(text: &str) -> String {
    let mut stripped = String::new();
    let mut rest = text.chars();
    while let Some(character) = rest.next() {
        match character {
            '\u{1b}' => {
                if rest.next() == Some('[') {
                    // Parameters end with a letter or one of a few signs.
                    rest.find(|character| matches!(character, '@'..='~'));
                }
            }
            '\n' | '\t' => stripped.push(character),
            _ if character.is_control() => {}
            _ => stripped.push(character),
        }
    }
    stripped
}

/// Returns untrusted text as one line of at most `max_bytes`: without terminal sequences, its lines and blanks joined
/// by one blank, and its middle left out if it is too long.
pub fn one_safe_line(text: &str, max_bytes: usize) -> String {
    const GAP: &str = " [...] ";
    let line = single_line(&strip_escapes(text));
    if line.len() <= max_bytes {
        return line;
    }
    let kept = max_bytes.saturating_sub(GAP.len());
    let (head, tail) = (truncate_bytes(&line, kept / 2), last_bytes(&line, kept - kept / 2));
    format!("{head}{GAP}{tail}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn terminal_sequences_are_removed() {
        assert_eq!(strip_escapes("\u{1b}[0m$ \u{1b}[1;31mred\u{1b}[K\r\n\tok\u{7}"), "$ red\n\tok");
        assert_eq!(strip_escapes("cut \u{1b}[12"), "cut ");
    }

    #[test]
    fn untrusted_text_becomes_one_line_of_bounded_length() {
        assert_eq!(one_safe_line("a\n\n b\t\u{1b}[31mc\r\n", 20), "a b c");
        let line = one_safe_line(&"ä".repeat(300), 41);
        assert!(line.len() <= 41 && line.contains("[...]") && line.ends_with('ä'), "{line}");
    }
}
