//! Builds the result of a job for the orchestrator.

use std::fs::File;
use std::io::Read as _;

use cynode_sandbox::job_dir::JobDir;
use cynode_sandbox::spec::SandboxJobOutcome;
use cynode_wire::jobs::{JobResult, Stream};

/// Upper bound for one stream in the result, independent of the job's own limit.
const MAX_BYTES: u64 = 1 << 20;

pub(super) fn build_job_result(dir: &JobDir, outcome: &SandboxJobOutcome) -> JobResult {
    JobResult {
        ending: outcome.ending.clone(),
        stdout: read_captured_output(dir, Stream::Stdout),
        stderr: read_captured_output(dir, Stream::Stderr),
        truncated: outcome.truncated,
    }
}

fn read_captured_output(dir: &JobDir, stream: Stream) -> String {
    let mut bytes = Vec::new();
    // A read error delivers what was read so far.
    let _ = File::open(dir.stream(stream)).map(|file| file.take(MAX_BYTES).read_to_end(&mut bytes));
    decode_output(&bytes)
}

/// Decodes UTF-8 into at most `bytes.len()` bytes. Drops a character cut off at the end; replaces other
/// invalid bytes.
fn decode_output(bytes: &[u8]) -> String {
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
        assert_eq!(decode_output("grün".as_bytes()), "grün");
        assert_eq!(decode_output(&"grün".as_bytes()[..3]), "gr");
    }

    #[test]
    fn invalid_bytes_are_replaced_and_do_not_make_the_text_longer() {
        assert_eq!(decode_output(b"a\xffbcd"), "a\u{fffd}b");
    }
}
