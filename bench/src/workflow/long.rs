//! One long run: cost of its first steps, and of its last.

use std::io::Write;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use super::drive::drive_until;
use super::graph::{LongWorkflow, RunCounter};
use super::subject::WorkflowSubject;
use super::usage::WorkflowUsage;

/// Number of steps per figure.
const WINDOW: usize = 100;

/// Drives one run of `steps` steps and prints the cost of its parts.
pub(super) async fn measure_long_run(
    subject: &WorkflowSubject<'_>,
    steps: u32,
    out: &mut (dyn Write + Send),
) -> anyhow::Result<()> {
    subject.create_tasks(1).await?;
    let (begun, ended) = (Arc::new(Mutex::new(vec![])), RunCounter::with_target(1));
    let long = LongWorkflow { steps, begun: Arc::clone(&begun), ended: Arc::clone(&ended) };
    let before = WorkflowUsage::measure(subject).await?;
    drive_until(subject, long, 1, ended.wait_for_target()).await?;
    let used = WorkflowUsage::measure(subject).await?.since(before);
    let begun = begun.lock().unwrap_or_else(PoisonError::into_inner).clone();
    let gaps: Vec<Duration> =
        begun.windows(2).map(|pair| pair[1].saturating_duration_since(pair[0])).collect();
    let at = |from: usize| median(gaps.get(from..from + WINDOW).unwrap_or(&gaps));
    let last = gaps.len().saturating_sub(WINDOW);
    #[expect(clippy::cast_precision_loss, reason = "figures for people")]
    let wal = used.wal_bytes as f64 / f64::from(steps);
    writeln!(
        out,
        "one run of {} steps: {:.0} µs/step from the 10th on, {:.0} in the middle, {:.0} at the end \
         (medians of {WINDOW}); {:.0} µs CPU/step, {wal:.0} WAL B/step",
        gaps.len() + 1,
        at(10),
        at(last / 2),
        at(last),
        used.cpu().as_secs_f64() * 1e6 / f64::from(steps),
    )?;
    out.flush()?;
    Ok(())
}

/// In microseconds. The median excludes outliers of a busy disk.
fn median(part: &[Duration]) -> f64 {
    let mut part = part.to_vec();
    part.sort_unstable();
    part.get(part.len() / 2).copied().unwrap_or_default().as_secs_f64() * 1e6
}
