//! Typical queries of a large audit log, and their latency.

use std::io::Write;
use std::time::Instant;

use anyhow::{Context as _, bail};
use cynode_domain::policy::Effect;
use cynode_resources::audit::verify_chain;
use cynode_store::{AuditCursor, AuditFilter, AuditKeys, Error, Store, StoredCall};

use super::workload::AuditWorkload;
use crate::sample::DurationSample;

/// Repetitions of each query.
const TIMES: usize = 50;
/// Page size of the list.
const PAGE: u32 = 50;

/// Runs every query and prints its latency.
pub(super) async fn measure_queries(
    store: &Store,
    world: &AuditWorkload,
    keys: &AuditKeys,
    out: &mut (dyn Write + Send),
) -> anyhow::Result<()> {
    let newest = list_calls(store, AuditFilter::default()).await?;
    let last = newest.first().context("the log is empty")?;
    let middle = AuditWorkload::call_time(u32::try_from(
        (last.call.created_at - AuditWorkload::call_time(0)).num_milliseconds() / 2,
    )?);
    let filters = [
        ("list, newest", AuditFilter::default()),
        ("list, of a user", AuditFilter { user: Some(world.user()), ..AuditFilter::default() }),
        ("list, of a task", AuditFilter { task: Some(world.task()), ..AuditFilter::default() }),
        (
            "list, of a project",
            AuditFilter { project: Some(world.project()), ..AuditFilter::default() },
        ),
        (
            "list, of a tool",
            AuditFilter { tool: Some(AuditWorkload::tool(7)), ..AuditFilter::default() },
        ),
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
        let sample = DurationSample::measure(TIMES, async || {
            list_calls(store, filter.clone()).await.map(drop)
        })
        .await?;
        print_latencies(out, what, &sample)?;
    }
    let id = last.call.id;
    let sample = DurationSample::measure(TIMES, async || {
        let get = store.read(move |tx| Box::pin(async move { tx.call_get(id).await }));
        get.await.map(drop)
    })
    .await?;
    print_latencies(out, "get", &sample)?;
    measure_verify(store, keys, out).await
}

async fn list_calls(store: &Store, filter: AuditFilter) -> Result<Vec<StoredCall>, Error> {
    store.read(move |tx| Box::pin(async move { tx.call_list(&filter, PAGE).await })).await
}

fn print_latencies(
    out: &mut (dyn Write + Send),
    what: &str,
    sample: &DurationSample,
) -> std::io::Result<()> {
    let ms = |percent| sample.percentile(percent).as_secs_f64() * 1e3;
    writeln!(out, "  {what:<26} p50 {:>8.2} ms  p95 {:>8.2} ms", ms(50), ms(95))
}

async fn measure_verify(
    store: &Store,
    keys: &AuditKeys,
    out: &mut (dyn Write + Send),
) -> anyhow::Result<()> {
    let begun = Instant::now();
    let chains = store.read(|tx| Box::pin(async move { tx.chain_list().await })).await?;
    let mut reports = vec![];
    for (head, _) in chains {
        reports.push(verify_chain(store, head.chain, vec![], keys).await?);
    }
    if reports.iter().any(|report| !report.faults.is_empty()) {
        bail!("the log does not verify: {reports:?}");
    }
    let records: u64 = reports.iter().map(|report| report.records).sum();
    let took = begun.elapsed().as_secs_f64();
    let rate = f64::from(u32::try_from(records)?) / took;
    writeln!(out, "  verify, all {records} records   {took:.1} s, {rate:.0} records/s")?;
    Ok(())
}
