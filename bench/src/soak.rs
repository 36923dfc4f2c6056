//! `cynode-bench soak`: hours of work under kills, floods and exhausted quotas.
//!
//! One user's tasks must end as they should (`work`) while other users exhaust every limit (`pressure`) and the
//! processes are killed at random (`kills`). `samples` records memory and disk. Unlike the benchmarks, this command
//! fails: on a lost or doubled task, on a job that outlives its task, and on a damaged audit log.

mod kills;
mod pressure;
mod samples;
mod work;

use std::io::Write;
use std::net::{Ipv4Addr, TcpListener};
use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context as _, bail};
use clap::Args;
use cynode_client::Client;
use cynode_wire::audit::VerifyQuery;
use cynode_wire::auth::{CreateToken, CreateUser, Login};
use tokio::sync::watch;
use tokio::time::Instant;

use self::kills::Killer;
use self::pressure::PressureCounts;
use self::samples::Sampler;
use self::work::WorkReport;
use crate::table::{FigureRow, render_rows};

/// Limits that the pressure reaches within seconds.
const CONFIG: &str = "[orchestrator]\nmax_storage_mib_per_user = 32\nmax_requests_per_user = 24\n";
/// The password of every user here; there are no others.
const PASSWORD: &str = "soak-soak-soak-soak";

/// Options of the soak.
#[derive(Debug, Args)]
pub struct SoakArgs {
    /// How long to run.
    #[arg(long, value_name = "N", default_value_t = 60, value_parser = clap::value_parser!(u16).range(1..))]
    minutes: u16,
    /// Seconds between two kills.
    #[arg(long, value_name = "N", default_value_t = 20, value_parser = clap::value_parser!(u16).range(2..))]
    kill_every: u16,
    /// Data directory, which is kept; without it, a temporary one is removed at the end.
    #[arg(long, value_name = "DIR")]
    data_dir: Option<PathBuf>,
    /// PostgreSQL URL of an empty database; without it, the embedded one is used.
    #[arg(long, value_name = "URL")]
    database_url: Option<String>,
}

/// When the load ends.
#[derive(Debug, Clone)]
struct Deadline {
    at: Instant,
    /// Whether a part has failed, which ends the others.
    failed: watch::Receiver<bool>,
}

impl Deadline {
    fn is_over(&self) -> bool {
        Instant::now() >= self.at || *self.failed.borrow()
    }

    /// Waits, but not beyond the deadline.
    async fn pause(&self, duration: Duration) {
        let mut failed = self.failed.clone();
        let until = (Instant::now() + duration).min(self.at);
        tokio::select! {
            () = tokio::time::sleep_until(until) => {}
            _ = failed.wait_for(|failed| *failed) => {}
        }
    }
}

/// Runs the soak; fails if something was lost, doubled or left behind.
pub async fn run(args: &SoakArgs, out: &mut (dyn Write + Send)) -> anyhow::Result<()> {
    let home = tempfile::tempdir()?;
    let data = args.data_dir.clone().unwrap_or_else(|| home.path().join("data"));
    std::fs::create_dir(&data).with_context(|| format!("{} must be new", data.display()))?;
    std::fs::write(data.join("cynode.toml"), CONFIG)?;
    let listen = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?.local_addr()?;
    let mut killer = Killer::start(&data, listen, args.database_url.as_deref())?;
    let admin = killer.up()?.client()?;
    let worker = sign_up(&admin, &killer.up()?.url, "worker").await?;
    let hoarder = sign_up(&admin, &killer.up()?.url, "hoarder").await?;
    let flooder = sign_up(&admin, &killer.up()?.url, "flooder").await?;

    let (fail, failed) = watch::channel(false);
    let at = Instant::now() + Duration::from_secs(u64::from(args.minutes) * 60);
    let deadline = Deadline { at, failed };
    let counts = PressureCounts::default();
    let mut sampler = Sampler::new(&data);
    let ends_others = async |result: anyhow::Result<()>| {
        if result.is_err() {
            let _ = fail.send(true);
        }
        result
    };
    let report = WorkReport::default();
    let every = Duration::from_secs(args.kill_every.into());
    let parts: [anyhow::Result<()>; 6] = tokio::join!(
        async { ends_others(work::run(&worker, &report, &deadline).await).await },
        async { ends_others(pressure::hoard(&hoarder, &counts, &deadline).await).await },
        async { ends_others(pressure::flood(&flooder, &counts, &deadline).await).await },
        async { ends_others(pressure::hold_connections(listen, &counts, &deadline).await).await },
        async { ends_others(killer.run(every, &deadline).await).await },
        async { ends_others(sampler.run(out, &report, &deadline).await).await },
    )
    .into();
    parts.into_iter().collect::<anyhow::Result<()>>()?;
    work::wait_for_all(&worker, &report).await?;
    let leftovers = samples::wait_for_jobs_to_end(&data).await;
    let verified = admin.audit_verify(&VerifyQuery::default()).await?;
    let outcome = report.outcome();
    let rows = [
        FigureRow::from_value("tasks of the worker", count(outcome.tasks), ""),
        FigureRow::from_value("of these interrupted by a kill", count(outcome.interrupted), ""),
        FigureRow::from_value("tasks lost", count(outcome.lost.len()), "").with_goal(1.0),
        FigureRow::from_value("steps run twice", count(outcome.doubled.len()), "").with_goal(1.0),
        FigureRow::from_value("processes killed", count(killer.kills), ""),
        FigureRow::from_value("processes of jobs left behind", count(leftovers), "").with_goal(1.0),
        FigureRow::from_value(
            "audit records verified",
            count(usize::try_from(verified.records)?),
            "",
        ),
    ];
    write!(out, "\n{}", render_rows(&rows))?;
    write!(out, "{}", render_rows(&counts.rows()))?;
    write!(out, "{}", render_rows(&sampler.rows(outcome.tasks)))?;
    if !verified.intact {
        bail!("the audit log is damaged: {verified:?}");
    }
    if !outcome.lost.is_empty() || !outcome.doubled.is_empty() || leftovers > 0 {
        bail!("lost {:?}, doubled {:?}, processes left {leftovers}", outcome.lost, outcome.doubled);
    }
    Ok(())
}

/// Creates a user; returns a client with an API token of theirs.
async fn sign_up(admin: &Client, url: &str, handle: &str) -> anyhow::Result<Client> {
    let (handle, password) = (handle.to_owned(), PASSWORD.to_owned());
    let user = CreateUser { handle: handle.clone(), password: password.clone(), is_admin: false };
    admin.user_create(&user).await.with_context(|| format!("user {handle}"))?;
    let anonymous = Client::new(url, "".into())?;
    let session = anonymous.login(&Login { handle, password }).await?;
    let signed_in = Client::new(url, session.access_token.into())?;
    let name = "soak".to_owned();
    let body = CreateToken { name, expires_in_days: None, never_expires: false };
    let token = signed_in.token_create(&body).await?;
    Ok(Client::new(url, token.secret.into())?)
}

/// A count as a figure.
fn count(number: usize) -> f64 {
    f64::from(u32::try_from(number).unwrap_or(u32::MAX))
}
