//! Word wrap for streamed text.

/// Starts and ends a code block, which is not wrapped.
const FENCE: &str = "```";

/// Wraps text between words. Chunks may split a word, so a word is buffered until it is complete.
pub(super) struct WordWrap {
    /// Terminal columns; `None` disables wrapping.
    width: Option<usize>,
    /// Columns written on the current line.
    column: usize,
    /// Blanks that are written only if a word follows on the same line.
    blanks: String,
    /// The buffered part of the current word.
    word: String,
    /// Whether the current line is in a code block.
    is_code: bool,
}

impl WordWrap {
    /// Wraps at `width` columns.
    pub(super) fn new(width: Option<u16>) -> Self {
        let width = width.map(usize::from).filter(|width| *width > 0);
        Self { width, column: 0, blanks: String::new(), word: String::new(), is_code: false }
    }

    /// Adds a chunk and returns the text that can be written now.
    pub(super) fn push(&mut self, text: &str) -> String {
        if self.width.is_none() {
            return text.to_owned();
        }
        let mut out = String::new();
        for c in text.chars() {
            match c {
                '\n' => {
                    self.flush_word(&mut out);
                    out.push_str(&std::mem::take(&mut self.blanks));
                    out.push('\n');
                    self.column = 0;
                }
                ' ' | '\t' => {
                    self.flush_word(&mut out);
                    self.blanks.push(c);
                }
                c => self.word.push(c),
            }
        }
        out
    }

    /// Returns the buffered rest.
    pub(super) fn finish(&mut self) -> String {
        let mut out = String::new();
        self.flush_word(&mut out);
        out + &std::mem::take(&mut self.blanks)
    }

    fn flush_word(&mut self, out: &mut String) {
        if self.word.is_empty() {
            return;
        }
        let (blanks, word) = (std::mem::take(&mut self.blanks), std::mem::take(&mut self.word));
        if self.column == 0 && word.starts_with(FENCE) {
            self.is_code = !self.is_code;
        }
        let length = display_width(&word);
        let is_over =
            self.column + display_width(&blanks) + length > self.width.unwrap_or(usize::MAX);
        if is_over && self.column > 0 && !self.is_code {
            out.push('\n');
            self.column = 0;
        } else {
            out.push_str(&blanks);
            self.column += display_width(&blanks);
        }
        out.push_str(&word);
        self.column += length;
    }
}

/// Estimated display width: East Asian characters and emoji take two columns.
fn display_width(text: &str) -> usize {
    let of = |c: char| match c {
        '\t' => 8,
        '\u{300}'..='\u{36f}' | '\u{fe00}'..='\u{fe0f}' => 0,
        '\u{1100}'..='\u{115f}'
        | '\u{2e80}'..='\u{a4cf}'
        | '\u{ac00}'..='\u{d7a3}'
        | '\u{f900}'..='\u{faff}'
        | '\u{fe30}'..='\u{fe6f}'
        | '\u{ff00}'..='\u{ff60}'
        | '\u{1f300}'..='\u{1faff}'
        | '\u{20000}'..='\u{3fffd}' => 2,
        _ => 1,
    };
    text.chars().map(of).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Wraps `text` in one piece and character by character; both must agree.
    fn wrapped(text: &str, width: Option<u16>) -> String {
        let mut whole = WordWrap::new(width);
        let at_once = whole.push(text) + &whole.finish();
        let mut wrap = WordWrap::new(width);
        let mut chunks: String = text.chars().map(|c| wrap.push(&c.to_string())).collect();
        chunks.push_str(&wrap.finish());
        assert_eq!(chunks, at_once);
        chunks
    }

    #[test]
    fn lines_are_broken_between_words() {
        assert_eq!(wrapped("one two three", Some(8)), "one two\nthree");
        assert_eq!(wrapped("one two\n  three four", Some(9)), "one two\n  three\nfour");
        assert_eq!(wrapped("a incomprehensible b", Some(6)), "a\nincomprehensible\nb");
        assert_eq!(wrapped("月が 綺麗", Some(6)), "月が\n綺麗");
    }

    #[test]
    fn what_fits_and_what_goes_to_no_terminal_stays_as_it_is() {
        for text in ["one two ", "- a\n- b\n\n", " x\ty \n"] {
            assert_eq!(wrapped(text, Some(20)), text);
            assert_eq!(wrapped(text, None), text);
        }
    }

    #[test]
    fn code_is_not_broken() {
        let text = "see:\n```sh\nmake all the looms\n```\nand then rest";
        let expected = "see:\n```sh\nmake all the looms\n```\nand then\nrest";
        assert_eq!(wrapped(text, Some(8)), expected);
    }
}
