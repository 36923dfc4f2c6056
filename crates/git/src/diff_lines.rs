//! Added lines in the output of `git log -p`, whatever the lines contain.
//!
//! A line of a file can look like a header of a patch. Only the counts in the header of a hunk tell them apart, so the
//! parser counts lines and never guesses.

/// Bytes of a line that are scanned at once; the rest follows in pieces that overlap.
const PIECE_BYTES: usize = 16 * 1024;
const OVERLAP_BYTES: usize = 512;

/// An added line, or a piece of a long one.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct AddedLine<'a> {
    /// As git shows it.
    pub(crate) path: &'a str,
    pub(crate) number: u64,
    pub(crate) text: &'a str,
}

/// Reads a patch in pieces and calls back for each added line.
#[derive(Debug, Default)]
pub(crate) struct AddedLines {
    pending: Vec<u8>,
    path: String,
    removed_left: u64,
    added_left: u64,
    number: u64,
}

impl AddedLines {
    /// Takes the next piece of the patch.
    pub(crate) fn push(&mut self, piece: &[u8], each: &mut dyn FnMut(&AddedLine<'_>)) {
        let mut rest = piece;
        while let Some(end) = rest.iter().position(|byte| *byte == b'\n') {
            self.pending.extend_from_slice(&rest[..end]);
            self.end_line(each);
            rest = &rest[end + 1..];
        }
        self.pending.extend_from_slice(rest);
        while self.pending.len() > PIECE_BYTES {
            self.report_start(each);
        }
    }

    /// Reports the start of a long line, and keeps an overlap for what lies across the border.
    fn report_start(&mut self, each: &mut dyn FnMut(&AddedLine<'_>)) {
        let marker = self.pending.first().copied();
        if self.is_added(marker) {
            self.report(&self.pending[1..PIECE_BYTES], each);
        }
        // The marker stays in front.
        self.pending.drain(1..PIECE_BYTES - OVERLAP_BYTES);
    }

    fn end_line(&mut self, each: &mut dyn FnMut(&AddedLine<'_>)) {
        let line = std::mem::take(&mut self.pending);
        match line.first() {
            Some(b'+') if self.added_left > 0 => {
                self.report(&line[1..], each);
                self.added_left -= 1;
                self.number += 1;
            }
            Some(b'-') if self.removed_left > 0 => self.removed_left -= 1,
            _ if self.added_left > 0 || self.removed_left > 0 => {}
            _ => self.read_header(&line),
        }
        self.pending = line;
        self.pending.clear();
    }

    fn is_added(&self, marker: Option<u8>) -> bool {
        marker == Some(b'+') && self.added_left > 0
    }

    fn report(&self, text: &[u8], each: &mut dyn FnMut(&AddedLine<'_>)) {
        let text = String::from_utf8_lossy(text);
        each(&AddedLine { path: &self.path, number: self.number, text: &text });
    }

    fn read_header(&mut self, line: &[u8]) {
        let line = String::from_utf8_lossy(line);
        if let Some(path) = line.strip_prefix("+++ ") {
            // Git ends a name with spaces by a tab.
            let path = path.strip_suffix('\t').unwrap_or(path);
            self.path = match path.strip_prefix("\"b/") {
                Some(quoted) => format!("\"{quoted}"),
                None => path.strip_prefix("b/").unwrap_or(path).to_owned(),
            };
        } else if let Some((removed, start, added)) = parse_hunk(&line) {
            (self.removed_left, self.number, self.added_left) = (removed, start, added);
        }
    }
}

/// `@@ -<start>[,<count>] +<start>[,<count>] @@`: removed lines, first added line, added lines.
fn parse_hunk(line: &str) -> Option<(u64, u64, u64)> {
    let mut ranges = line.strip_prefix("@@ -")?.split(" @@").next()?.split(" +");
    let mut parse = || {
        let range = ranges.next()?;
        let (start, count) = range.split_once(',').unwrap_or((range, "1"));
        Some((start.parse::<u64>().ok()?, count.parse::<u64>().ok()?))
    };
    let ((_, removed), (start, added)) = (parse()?, parse()?);
    Some((removed, start, added))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn added_lines(patch: &[u8], piece: usize) -> Vec<(String, u64, String)> {
        let mut lines = Vec::new();
        let mut parser = AddedLines::default();
        for piece in patch.chunks(piece) {
            parser.push(piece, &mut |line| {
                lines.push((line.path.to_owned(), line.number, line.text.to_owned()));
            });
        }
        lines
    }

    #[test]
    fn lines_that_look_like_headers_are_lines() {
        let patch = b"diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -1,2 +1,3 @@ fn\n\
            --- a/fake\n-old\n+++ b/fake\n+@@ -0,0 +1,9 @@\n+secret\n\\ No newline at end of file\n\
            diff --git a/y b/y\n--- /dev/null\n+++ \"b/y\\n\"\n@@ -0,0 +1 @@\n+one\n";
        let expected = [
            ("x", 1, "++ b/fake"),
            ("x", 2, "@@ -0,0 +1,9 @@"),
            ("x", 3, "secret"),
            ("\"y\\n\"", 1, "one"),
        ]
        .map(|(path, number, text)| (path.to_owned(), number, text.to_owned()));

        for piece in [1, 7, 4096] {
            assert_eq!(added_lines(patch, piece), expected);
        }
    }

    #[test]
    fn a_word_across_two_pieces_of_a_long_line_is_in_one_of_them() {
        let mut patch = b"+++ b/x\n@@ -0,0 +1 @@\n+".to_vec();
        patch.extend(vec![b'a'; PIECE_BYTES - 4]);
        patch.extend(b"needle");
        patch.extend(vec![b'b'; 3 * PIECE_BYTES]);
        patch.push(b'\n');

        let lines = added_lines(&patch, 1000);

        assert!(lines.len() > 3 && lines.iter().all(|(_, number, _)| *number == 1));
        assert!(lines.iter().any(|(_, _, text)| text.contains("needle")));
        assert!(lines.iter().all(|(_, _, text)| text.len() <= PIECE_BYTES));
    }
}
