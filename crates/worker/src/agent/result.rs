//! What the orchestrator gets to know about a job.

use std::fs::File;
use std::io::Read as _;

use cynode_wire::jobs::{JobResult, Stream};

use crate::job_dir::JobDir;
use crate::spec::Outcome;

/// No stream keeps more than this, whatever the job's own limit was.
const MAX_BYTES: u64 = 1 << 20;

/// The result of the job in `dir`.
pub(super) fn of(dir: &JobDir, outcome: &Outcome) -> JobResult {
    JobResult {
        ending: outcome.ending.clone(),
        stdout: kept(dir, Stream::Stdout),
        stderr: kept(dir, Stream::Stderr),
        truncated: outcome.truncated,
    }
}

fn kept(dir: &JobDir, stream: Stream) -> String {
    let mut bytes = Vec::new();
    // A stream that cannot be read is delivered as far as it could be.
    let _ = File::open(dir.stream(stream)).map(|file| file.take(MAX_BYTES).read_to_end(&mut bytes));
    text(&bytes)
}

/// Text of at most as many bytes as there were. A character cut in two at the end is left out;
/// other invalid bytes are replaced.
fn text(bytes: &[u8]) -> String {
    let whole = match std::str::from_utf8(bytes) {
        Ok(text) => return text.to_owned(),
        Err(error) if error.error_len().is_none() => &bytes[..error.valid_up_to()],
        Err(_) => bytes,
    };
    let mut text = String::from_utf8_lossy(whole).into_owned();
    text.truncate(text.floor_char_boundary(bytes.len()));
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_character_cut_in_two_is_left_out() {
        assert_eq!(text("grün".as_bytes()), "grün");
        assert_eq!(text(&"grün".as_bytes()[..3]), "gr");
    }

    #[test]
    fn invalid_bytes_are_replaced_and_do_not_make_the_text_longer() {
        assert_eq!(text(b"a\xffbcd"), "a\u{fffd}b");
    }
}
