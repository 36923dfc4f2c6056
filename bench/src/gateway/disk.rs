//! What the disk takes for a promise: the part of a durable record that no program can speed up.

use std::fs::File;
use std::io::Write as _;
use std::path::Path;
use std::time::Instant;

use crate::sample::Sample;

/// A page, as databases append them.
const PAGE: [u8; 4096] = [0; 4096];
const TIMES: usize = 200;

/// How long it takes to append a page in `directory` and to know that it will stay.
pub(super) fn sync_times(directory: &Path) -> std::io::Result<Sample> {
    let mut file: File = tempfile::tempfile_in(directory)?;
    let mut sample = Sample::default();
    for _ in 0..TIMES {
        let begun = Instant::now();
        file.write_all(&PAGE)?;
        file.sync_data()?;
        sample.push(begun.elapsed());
    }
    Ok(sample)
}
