//! Upper bound of the database: one row, one commit, one round trip.

use std::io::Write;
use std::time::{Duration, Instant};

use futures_util::future::try_join_all;
use tokio_postgres::NoTls;

use super::subject::MeasuredPostgres;

const MEASURED: Duration = Duration::from_secs(3);

/// Single-row commits per second, with one client and with many.
#[derive(Debug, Clone, Copy)]
pub(super) struct CommitFloor {
    pub(super) one: f64,
    pub(super) many: f64,
}

/// Measures and prints the single-row commits per second.
pub(super) async fn measure_commit_floor(
    server: &MeasuredPostgres,
    at_once: usize,
    out: &mut (dyn Write + Send),
) -> anyhow::Result<CommitFloor> {
    let (one, many) =
        (measure_commit_rate(server, 1).await?, measure_commit_rate(server, at_once).await?);
    writeln!(
        out,
        "single-row commits/s of this PostgreSQL, the floor: {one:.0} with 1 client, \
         {many:.0} with {at_once}"
    )?;
    out.flush()?;
    Ok(CommitFloor { one, many })
}

async fn measure_commit_rate(server: &MeasuredPostgres, clients: usize) -> anyhow::Result<f64> {
    let counts = try_join_all((0..clients).map(|_| insert_rows(server.url.clone()))).await?;
    Ok(f64::from(counts.iter().sum::<u32>()) / MEASURED.as_secs_f64())
}

/// Inserts rows of 1 kB for a while; returns their number.
async fn insert_rows(url: String) -> anyhow::Result<u32> {
    let (client, connection) = tokio_postgres::connect(&url, NoTls).await?;
    let work = async {
        client
            .batch_execute(
                "CREATE TABLE IF NOT EXISTS bench_floor (id bigint GENERATED ALWAYS AS IDENTITY
                 PRIMARY KEY, data text NOT NULL)",
            )
            .await
            .or_else(ignore_race)?;
        let statement = client.prepare("INSERT INTO bench_floor (data) VALUES ($1)").await?;
        let data = "x".repeat(1024);
        let (begun, mut count) = (Instant::now(), 0);
        while begun.elapsed() < MEASURED {
            client.execute(&statement, &[&data]).await?;
            count += 1;
        }
        Ok::<_, tokio_postgres::Error>(count)
    };
    tokio::select! {
        count = work => Ok(count?),
        ended = connection => { ended?; anyhow::bail!("the connection ended") }
    }
}

/// Two clients may create the table at the same time; the error of the second is ignored.
fn ignore_race(error: tokio_postgres::Error) -> Result<(), tokio_postgres::Error> {
    if error.as_db_error().is_some() { Ok(()) } else { Err(error) }
}
