//! Sync latency of the disk: the part of a durable record that no program can speed up.

use std::fs::File;
use std::io::Write as _;
use std::path::Path;
use std::time::Instant;

use crate::sample::DurationSample;

/// One database page.
const PAGE: [u8; 4096] = [0; 4096];
const TIMES: usize = 200;

/// Times appending and syncing a page in `directory`.
pub(super) fn measure_disk_sync(directory: &Path) -> std::io::Result<DurationSample> {
    let mut file: File = tempfile::tempfile_in(directory)?;
    let mut sample = DurationSample::default();
    for _ in 0..TIMES {
        let begun = Instant::now();
        file.write_all(&PAGE)?;
        file.sync_data()?;
        sample.push(begun.elapsed());
    }
    Ok(sample)
}
