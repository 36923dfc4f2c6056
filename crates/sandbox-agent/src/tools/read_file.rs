//! `read_file`: a window of a file, with line numbers.

use std::fmt::Write as _;
use std::io::{BufRead, BufReader, Read as _};

use cynode_agent_job::text_file::{FileError, is_binary, open_regular};
use cynode_agent_job::workspace::Workspace;

use super::ToolError;
use crate::action::ReadFile;
use crate::observation::{OBSERVATION_BYTES, Observation};

/// Lines that are shown unless the end is given.
const DEFAULT_LINES: u64 = 100;
/// Bytes of a line that are shown.
const MAX_LINE_BYTES: u64 = 500;
/// Bytes of a file that are read to count its lines.
const MAX_SCANNED_BYTES: u64 = 64 << 20;

/// Reads lines from a file of any size in bounded memory.
pub(super) fn read_file(workspace: &Workspace, read: &ReadFile) -> Result<Observation, ToolError> {
    let path = workspace.resolve(&read.path)?;
    let start = read.start_line.unwrap_or(1).max(1);
    let end = read.end_line.unwrap_or(start.saturating_add(DEFAULT_LINES - 1));
    if end < start {
        return Err(ToolError::Rejected(format!("end_line {end} is before start_line {start}")));
    }
    let (file, bytes) = open_regular(&path)?;
    let mut reader = BufReader::new(file.take(MAX_SCANNED_BYTES));
    if is_binary(reader.fill_buf().map_err(FileError::io(&path))?) {
        return Err(FileError::Binary { path: path.relative().to_owned(), bytes }.into());
    }
    let window = scan_lines(&mut reader, start, end).map_err(FileError::io(&path))?;
    let name = path.relative();
    let size = if bytes > MAX_SCANNED_BYTES {
        format!("{name} has {bytes} bytes, at least {} lines", window.total)
    } else {
        format!("{name} has {} lines", window.total)
    };
    if window.total == 0 {
        return Ok(Observation::succeeded(format!("{name} is empty")));
    }
    if window.last_shown < start {
        return Err(ToolError::Rejected(format!("{size}; line {start} does not exist")));
    }
    let mut headline = format!("{size}; lines {start}-{}", window.last_shown);
    if window.last_shown < end.min(window.total) {
        headline.push_str("; the window is full, continue with start_line");
    }
    if window.is_lossy {
        headline.push_str("; it is not UTF-8: invalid bytes are shown as \u{fffd}");
    }
    Ok(Observation::succeeded(headline).with_data(window.text))
}

struct LineWindow {
    text: String,
    last_shown: u64,
    total: u64,
    is_lossy: bool,
}

fn scan_lines(reader: &mut impl BufRead, start: u64, end: u64) -> std::io::Result<LineWindow> {
    let mut window = LineWindow { text: String::new(), last_shown: 0, total: 0, is_lossy: false };
    let mut line = Vec::new();
    loop {
        line.clear();
        let count = reader.by_ref().take(MAX_LINE_BYTES).read_until(b'\n', &mut line)?;
        if count == 0 {
            return Ok(window);
        }
        let is_complete = line.last() == Some(&b'\n');
        let rest = if is_complete { 0 } else { reader.skip_until(b'\n')? };
        window.total += 1;
        let is_full = window.text.len() + line.len() > OBSERVATION_BYTES - 200;
        if window.total < start || window.total > end || is_full {
            continue;
        }
        // Only lines without a gap are shown.
        if window.last_shown != 0 && window.last_shown + 1 != window.total {
            continue;
        }
        window.last_shown = window.total;
        let text = String::from_utf8_lossy(&line);
        // The limit may have split a character.
        window.is_lossy |= rest == 0 && matches!(text, std::borrow::Cow::Owned(_));
        let text = text.trim_end_matches(['\n', '\r']);
        let _ = write!(window.text, "{}| {text}", window.total);
        if rest > 1 {
            let _ = write!(window.text, " [... {rest} bytes omitted]");
        }
        window.text.push('\n');
    }
}
