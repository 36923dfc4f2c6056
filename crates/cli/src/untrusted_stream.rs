//! Text of jobs and models on its way to a terminal, where it must not act: an escape sequence could change the
//! title, write to the clipboard, or overwrite what was printed before.

use std::io::{self, IsTerminal, Write};

use vte::{Parser, Perform};

use crate::failure::CliFailure;
use crate::table;

/// A standard stream for untrusted text. On a terminal it removes escape sequences and control characters, even if
/// they are split between writes; a file or a pipe receives the bytes unchanged.
pub struct UntrustedStream {
    stream: Box<dyn Write + Send>,
    /// `None` if the text passes unchanged.
    filter: Option<Filter>,
}

/// Removes escape sequences and control characters. A line end also ends a sequence: one that is
/// never closed hides at most the rest of its line.
#[derive(Default)]
struct Filter {
    parser: Parser,
}

impl Filter {
    fn apply(&mut self, text: &str) -> String {
        let mut printable = Printable(String::with_capacity(text.len()));
        for line in text.split_inclusive('\n') {
            let end = line.strip_suffix('\n');
            self.parser.advance(&mut printable, end.unwrap_or(line).as_bytes());
            if end.is_some() {
                self.parser = Parser::new();
                printable.0.push('\n');
            }
        }
        table::sanitize_stream(&printable.0)
    }
}

/// Collects the characters outside escape sequences.
struct Printable(String);

impl Perform for Printable {
    fn print(&mut self, c: char) {
        self.0.push(c);
    }

    fn execute(&mut self, control: u8) {
        self.0.push(char::from(control));
    }
}

impl UntrustedStream {
    /// Standard output; `is_raw`: unchanged on a terminal too.
    pub fn stdout(is_raw: bool) -> Self {
        Self::new(io::stdout(), is_raw)
    }

    /// Standard error; `is_raw`: unchanged on a terminal too.
    pub fn stderr(is_raw: bool) -> Self {
        Self::new(io::stderr(), is_raw)
    }

    fn new(stream: impl Write + IsTerminal + Send + 'static, is_raw: bool) -> Self {
        let filter = (stream.is_terminal() && !is_raw).then(Filter::default);
        Self { stream: Box::new(stream), filter }
    }

    /// Writes and flushes the text.
    pub fn write(&mut self, text: &str) -> Result<(), CliFailure> {
        match &mut self.filter {
            None => self.stream.write_all(text.as_bytes())?,
            Some(filter) => self.stream.write_all(filter.apply(text).as_bytes())?,
        }
        Ok(self.stream.flush()?)
    }
}

impl std::fmt::Debug for UntrustedStream {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("UntrustedStream")
            .field("is_filtered", &self.filter.is_some())
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use super::*;

    #[derive(Clone, Default)]
    struct Buffer(Arc<Mutex<Vec<u8>>>);

    impl Write for Buffer {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.lock().unwrap().write(bytes)
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    fn filtered(chunks: &[&str]) -> String {
        let buffer = Buffer::default();
        let stream = Box::new(buffer.clone());
        let mut stream = UntrustedStream { stream, filter: Some(Filter::default()) };
        for chunk in chunks {
            stream.write(chunk).unwrap();
        }
        String::from_utf8(buffer.0.lock().unwrap().clone()).unwrap()
    }

    #[test]
    fn no_escape_sequence_reaches_a_terminal() {
        for (hostile, shown) in [
            ("a\x1b]52;c;aGk=\x07b\n", "ab\n"),
            ("a\x1b]0;title\x1b\\b\n", "ab\n"),
            ("a\x1b[2J\x1b[Hb\n", "ab\n"),
            ("a\x1b[6nb\x1b[>c\n", "ab\n"),
            ("a\x1bPq#0\x1b\\b\n", "ab\n"),
            ("\x1b[32mok\x1b[0m\n", "ok\n"),
            ("hidden\rshown\x08\x07\n", "hidden shown  \n"),
            ("tab\tgrößer 🙂\n", "tab\tgrößer 🙂\n"),
            ("a\x1b]0;unclosed\nb\x1b[\nc\n", "a\nb\nc\n"),
            ("c1 \u{9b}2J\u{9d}0;t\u{9c}\n", "c1  2J 0;t \n"),
        ] {
            assert_eq!(filtered(&[hostile]), shown, "{hostile:?}");
        }
    }

    #[test]
    fn sequences_that_are_split_between_writes_are_removed_too() {
        let hostile = "a\x1b]52;c;aGk=\x07b\x1b[31mc\n";
        for cut in 0..hostile.len() {
            let (first, second) = hostile.split_at(cut);
            assert_eq!(filtered(&[first, second]), "abc\n", "cut at {cut}");
        }
    }
}
