//! What people ask a large log, and how long they wait.

use std::io::Write;
use std::time::Instant;

use anyhow::{Context as _, bail};
use cynode_domain::policy::Effect;
use cynode_store::{AuditCursor, AuditFilter, AuditStore as _, Error, Store, StoredCall, verify};

use super::world::World;
use crate::sample::Sample;

/// How often each question is asked.
const TIMES: usize = 50;
/// A page of the list.
const PAGE: u32 = 50;

/// Asks everything, and prints how long the answers took.
pub(super) async fn ask(
    store: &Store,
    world: &World,
    out: &mut (dyn Write + Send),
) -> anyhow::Result<()> {
    let newest = list(store, AuditFilter::default()).await?;
    let last = newest.first().context("the log is empty")?;
    let middle =
        World::at(u32::try_from((last.call.created_at - World::at(0)).num_milliseconds() / 2)?);
    let filters = [
        ("list, newest", AuditFilter::default()),
        ("list, of a user", AuditFilter { user: Some(world.user()), ..AuditFilter::default() }),
        ("list, of a task", AuditFilter { task: Some(world.task()), ..AuditFilter::default() }),
        (
            "list, of a project",
            AuditFilter { project: Some(world.project()), ..AuditFilter::default() },
        ),
        ("list, of a tool", AuditFilter { tool: Some(World::tool(7)), ..AuditFilter::default() }),
        ("list, refused", AuditFilter { decision: Some(Effect::Deny), ..AuditFilter::default() }),
        ("list, until the middle", AuditFilter { until: Some(middle), ..AuditFilter::default() }),
        (
            "list, page in the middle",
            AuditFilter {
                before: Some(AuditCursor { created_at: middle, id: last.call.id }),
                ..AuditFilter::default()
            },
        ),
    ];
    for (what, filter) in filters {
        let sample =
            Sample::of(TIMES, async || list(store, filter.clone()).await.map(drop)).await?;
        say(out, what, &sample)?;
    }
    let id = last.call.id;
    let sample = Sample::of(TIMES, async || {
        let get = store.read(move |tx| Box::pin(async move { tx.call_get(id).await }));
        get.await.map(drop)
    })
    .await?;
    say(out, "get", &sample)?;
    verified(store, out).await
}

async fn list(store: &Store, filter: AuditFilter) -> Result<Vec<StoredCall>, Error> {
    store.read(move |tx| Box::pin(async move { tx.call_list(&filter, PAGE).await })).await
}

fn say(out: &mut (dyn Write + Send), what: &str, sample: &Sample) -> std::io::Result<()> {
    let ms = |percent| sample.percentile(percent).as_secs_f64() * 1e3;
    writeln!(out, "  {what:<26} p50 {:>8.2} ms  p95 {:>8.2} ms", ms(50), ms(95))
}

async fn verified(store: &Store, out: &mut (dyn Write + Send)) -> anyhow::Result<()> {
    let begun = Instant::now();
    let reports = verify(store).await?;
    if reports.iter().any(|report| !report.faults.is_empty()) {
        bail!("the log does not verify: {reports:?}");
    }
    let records: u64 = reports.iter().map(|report| report.records).sum();
    let took = begun.elapsed().as_secs_f64();
    let rate = f64::from(u32::try_from(records)?) / took;
    writeln!(out, "  verify, all {records} records   {took:.1} s, {rate:.0} records/s")?;
    Ok(())
}
