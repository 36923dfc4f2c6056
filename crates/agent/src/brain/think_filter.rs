//! Removes `<think>` blocks from model output.

const BEGIN: &str = "<think>";
const END: &str = "</think>";

/// Removes `<think>` blocks from a text.
pub fn strip_think_blocks(text: &str) -> String {
    let mut filter = ThinkFilter::default();
    let mut out = filter.push(text);
    out.push_str(&filter.finish());
    out
}

/// Removes `<think>` blocks from a stream of text chunks.
#[derive(Debug, Default)]
pub struct ThinkFilter {
    /// Text that may be the start of a mark.
    buffer: String,
    is_thinking: bool,
    has_output: bool,
}

impl ThinkFilter {
    /// Appends a chunk; returns the text that can be shown.
    pub fn push(&mut self, chunk: &str) -> String {
        self.buffer.push_str(chunk);
        let mut shown = String::new();
        loop {
            let mark = if self.is_thinking { END } else { BEGIN };
            if let Some(at) = self.buffer.find(mark) {
                let before = self.take(at);
                self.append_visible(&before, &mut shown);
                self.take(mark.len());
                self.is_thinking = !self.is_thinking;
                continue;
            }
            let certain = self.buffer.len() - partial_mark_len(&self.buffer, mark);
            let before = self.take(certain);
            self.append_visible(&before, &mut shown);
            return shown;
        }
    }

    /// Ends the text; returns the buffered rest.
    pub fn finish(&mut self) -> String {
        let rest = std::mem::take(&mut self.buffer);
        let mut shown = String::new();
        self.append_visible(&rest, &mut shown);
        shown
    }

    fn take(&mut self, bytes: usize) -> String {
        let rest = self.buffer.split_off(bytes);
        std::mem::replace(&mut self.buffer, rest)
    }

    /// Appends text outside of `<think>` blocks; drops white space before the first word.
    fn append_visible(&mut self, text: &str, shown: &mut String) {
        if self.is_thinking {
            return;
        }
        let text = if self.has_output { text } else { text.trim_start() };
        self.has_output |= !text.is_empty();
        shown.push_str(text);
    }
}

/// The number of bytes at the end of a text that may be the start of a mark.
fn partial_mark_len(text: &str, mark: &str) -> usize {
    let longest = mark.len().min(text.len() + 1).saturating_sub(1);
    (1..=longest).rev().find(|n| mark.get(..*n).is_some_and(|m| text.ends_with(m))).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn thoughts_are_taken_out_wherever_they_stand() {
        assert_eq!(strip_think_blocks("<think>hm</think>\n\nYes."), "Yes.");
        assert_eq!(strip_think_blocks("a <think>b</think>c<think>d"), "a c");
        assert_eq!(strip_think_blocks("1 < 2 and <thinking> stays"), "1 < 2 and <thinking> stays");
        assert_eq!(strip_think_blocks("ends with <thi"), "ends with <thi");
    }

    proptest! {
        #[test]
        fn it_does_not_matter_how_a_text_is_cut(
            parts in prop::collection::vec(
                prop_oneof![
                    Just("<think>".to_owned()), Just("</think>".to_owned()), Just("<".to_owned()),
                    Just("</thi".to_owned()), "[a-zä \n]{0,6}",
                ],
                0..12,
            ),
            cuts in prop::collection::vec(1_usize..5, 0..40),
        ) {
            let text = parts.concat();
            let mut filter = ThinkFilter::default();
            let (mut shown, mut rest) = (String::new(), text.as_str());
            for cut in cuts {
                let at = rest.char_indices().nth(cut).map_or(rest.len(), |(at, _)| at);
                shown.push_str(&filter.push(&rest[..at]));
                rest = &rest[at..];
            }
            shown.push_str(&filter.push(rest));
            shown.push_str(&filter.finish());

            prop_assert_eq!(shown, strip_think_blocks(&text));
        }
    }
}
