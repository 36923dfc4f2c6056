//! Checks that memory stays constant over many calls.

use std::io::Write;

use super::load::McpLoadResult;
use super::process::ProcessTreeUsage;
use super::subject::GatewaySubject;

/// Calls between two samples.
const STEP: usize = 100_000;

/// Makes this many calls, and prints the gateway's memory after every hundred thousand.
pub(super) async fn measure_memory_over_calls(
    subject: &GatewaySubject<'_>,
    (clients, calls): (usize, usize),
    out: &mut (dyn Write + Send),
) -> anyhow::Result<()> {
    let before = ProcessTreeUsage::measure_tree(subject.process_id)?;
    writeln!(out, "\n{}, {clients} clients: memory over {calls} calls", subject.name)?;
    writeln!(out, "{:>10} {:>9} {:>9} {:>9}", "calls", "calls/s", "RSS MiB", "errors")?;
    writeln!(out, "{:>10} {:>9} {:>9.1} {:>9}", 0, "", before.rss_mib, "")?;
    let mut made = 0;
    while made < calls {
        let step = STEP.min(calls - made);
        let done = subject.load(clients).run_calls(step).await?;
        made += step;
        let rate = f64::from(u32::try_from(step)?) / done.took.as_secs_f64();
        let McpLoadResult { rss_mib, errors, .. } = done;
        writeln!(out, "{made:>10} {rate:>9.0} {rss_mib:>9.1} {errors:>9}")?;
        out.flush()?;
    }
    Ok(())
}
