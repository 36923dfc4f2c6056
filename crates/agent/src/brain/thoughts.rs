//! What models think aloud, taken out of what they say.

const BEGIN: &str = "<think>";
const END: &str = "</think>";

/// A text without what the model thought aloud.
pub fn strip(text: &str) -> String {
    let mut filter = Filter::default();
    let mut out = filter.push(text);
    out.push_str(&filter.finish());
    out
}

/// Takes thoughts out of a text that comes in pieces, however they are cut.
#[derive(Debug, Default)]
pub struct Filter {
    /// What may be the beginning of a mark.
    held: String,
    is_thinking: bool,
    has_spoken: bool,
}

impl Filter {
    /// Takes a piece; gives what can be shown of the text so far.
    pub fn push(&mut self, piece: &str) -> String {
        self.held.push_str(piece);
        let mut shown = String::new();
        loop {
            let mark = if self.is_thinking { END } else { BEGIN };
            if let Some(at) = self.held.find(mark) {
                let before = self.take(at);
                self.show(&before, &mut shown);
                self.take(mark.len());
                self.is_thinking = !self.is_thinking;
                continue;
            }
            let certain = self.held.len() - unfinished(&self.held, mark);
            let before = self.take(certain);
            self.show(&before, &mut shown);
            return shown;
        }
    }

    /// The text is whole; gives what was held back.
    pub fn finish(&mut self) -> String {
        let rest = std::mem::take(&mut self.held);
        let mut shown = String::new();
        self.show(&rest, &mut shown);
        shown
    }

    fn take(&mut self, bytes: usize) -> String {
        let rest = self.held.split_off(bytes);
        std::mem::replace(&mut self.held, rest)
    }

    /// Blank lines between a thought and the first word belong to the thought.
    fn show(&mut self, text: &str, shown: &mut String) {
        if self.is_thinking {
            return;
        }
        let text = if self.has_spoken { text } else { text.trim_start() };
        self.has_spoken |= !text.is_empty();
        shown.push_str(text);
    }
}

/// How many bytes at the end of a text may be the beginning of a mark.
fn unfinished(text: &str, mark: &str) -> usize {
    let longest = mark.len().min(text.len() + 1).saturating_sub(1);
    (1..=longest).rev().find(|n| mark.get(..*n).is_some_and(|m| text.ends_with(m))).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn thoughts_are_taken_out_wherever_they_stand() {
        assert_eq!(strip("<think>hm</think>\n\nYes."), "Yes.");
        assert_eq!(strip("a <think>b</think>c<think>d"), "a c");
        assert_eq!(strip("1 < 2 and <thinking> stays"), "1 < 2 and <thinking> stays");
        assert_eq!(strip("ends with <thi"), "ends with <thi");
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
            let mut filter = Filter::default();
            let (mut shown, mut rest) = (String::new(), text.as_str());
            for cut in cuts {
                let at = rest.char_indices().nth(cut).map_or(rest.len(), |(at, _)| at);
                shown.push_str(&filter.push(&rest[..at]));
                rest = &rest[at..];
            }
            shown.push_str(&filter.push(rest));
            shown.push_str(&filter.finish());

            prop_assert_eq!(shown, strip(&text));
        }
    }
}
