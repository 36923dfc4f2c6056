//! Text as a reader sees it. Invisible characters can carry instructions past a person who reviews a text.

/// Whether a reader sees a character, or it parts words and lines. False for control characters, zero-width characters,
/// marks of direction, variation selectors, fillers, and tags of the block U+E0000.
pub fn is_shown(letter: char) -> bool {
    let is_unseen = matches!(letter,
        '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}'..='\u{1160}' | '\u{180b}'..='\u{180f}'
        | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{3164}'
        | '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{ffa0}' | '\u{fff9}'..='\u{fffb}'
        | '\u{1d173}'..='\u{1d17a}' | '\u{e0000}'..='\u{e0fff}');
    !is_unseen && (!letter.is_control() || letter == '\n' || letter == '\t')
}

/// The characters of a text that a reader sees, with its line feeds and tabs.
pub fn strip_invisible(text: &str) -> String {
    text.chars().filter(|letter| is_shown(*letter)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_a_reader_sees_is_kept() {
        let text = "a\u{200b}\u{202e}\u{2066}\u{e0041}\u{e007f}\u{feff}\u{ad}\u{3164}\u{1b}b\r\n\tc é 日本 👍";

        assert_eq!(strip_invisible(text), "ab\n\tc é 日本 👍");
    }
}
