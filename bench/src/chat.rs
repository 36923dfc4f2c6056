//! Questions to a scripted model, direct and through the orchestrator, in the same run.
//!
//! Start at [`run`]. The model is the scripted provider of the tests, which answers at once, so that
//! what is measured is the way to it. The orchestrator is measured as it is used: with a token,
//! redaction, the conversation kept, access rules, the record of the call and the audit row. The
//! direct question is the baseline.

mod client;
mod load;
mod report;
mod subject;

use std::io::Write;
use std::time::Duration;

use anyhow::bail;
use clap::Args;
use cynode_testkit::DurableServer;
use cynode_testkit::provider::{Answer, ScriptedProvider};
use serde_json::{Value, json};

use self::client::{ANSWER, Mode};
use self::report::Measured;
use self::subject::Subject;
use crate::gateway::report::Style;
use crate::gateway::subject::Storage;

/// What to measure.
#[derive(Debug, Args)]
#[expect(clippy::struct_excessive_bools, reason = "flags of a command line")]
pub struct ChatArgs {
    /// Seconds that each figure is measured for
    #[arg(long, default_value_t = 10)]
    seconds: u64,
    /// Seconds of questions before that
    #[arg(long, default_value_t = 3)]
    warm_up: u64,
    /// How many clients ask at once; several measurements for several numbers
    #[arg(long, value_delimiter = ',', default_values_t = [1, 64])]
    clients: Vec<usize>,
    /// Leave the orchestrator out: only the direct question
    #[arg(long)]
    direct_only: bool,
    /// Leave `PostgreSQL` out
    #[arg(long)]
    no_postgres: bool,
    /// Measure the `LiteLLM` proxy too
    #[arg(long)]
    peers: bool,
    /// Print the table as Markdown
    #[arg(long)]
    markdown: bool,
}

/// Measures, and prints a table to `out`.
pub async fn run(args: &ChatArgs, out: &mut (dyn Write + Send)) -> anyhow::Result<()> {
    let provider = prepared().await?;
    let mut all = measure(args, &Subject::direct(&provider), out).await?;
    if !args.direct_only {
        for storage in [Storage::Sqlite, Storage::SqliteInMemory] {
            let ours = subject::orchestrator(&provider, &storage).await?;
            all.extend(measure(args, &ours, out).await?);
        }
    }
    if !args.direct_only && !args.no_postgres {
        let database = cynode_testkit::postgres_database().await;
        let durable = DurableServer::start()?;
        for storage in
            [Storage::Postgres(durable.url()), Storage::PostgresOfTests(database.url.clone())]
        {
            let ours = subject::orchestrator(&provider, &storage).await?;
            all.extend(measure(args, &ours, out).await?);
        }
    }
    let mut failure = None;
    if args.peers {
        match measure_peer(args, &provider, out).await {
            Ok(rows) => all.extend(rows),
            Err(error) => failure = Some(format!("LiteLLM was not measured: {error:#}")),
        }
    }
    let style = if args.markdown { Style::Markdown } else { Style::Plain };
    write!(out, "\n{}", report::table(&all, style))?;
    explain(args, out)?;
    let wrong = all.iter().filter(|one| one.errors > 0).count();
    if wrong > 0 {
        bail!("{wrong} rows have wrong answers");
    }
    failure.map_or(Ok(()), |failure| bail!(failure))
}

/// A model that gives its answers from memory, so that it costs as little as can be.
async fn prepared() -> anyhow::Result<ScriptedProvider> {
    let provider = ScriptedProvider::saying(ANSWER);
    let url = format!("{}/chat/completions", provider.openai_url());
    let said = async |body: Value| {
        let answer = reqwest::Client::new().post(&url).json(&body).send().await?;
        anyhow::Ok(answer.text().await?)
    };
    let options = json!({ "include_usage": true });
    let streamed = said(json!({ "stream": true, "stream_options": options })).await?;
    let whole = said(json!({})).await?;
    for asked in [r#""stream":true"#, r#""stream": true"#] {
        provider.when(asked, Answer::raw("text/event-stream", &streamed));
    }
    provider.otherwise(Answer::raw("application/json", &whole));
    provider.forget_requests();
    Ok(provider)
}

async fn measure_peer(
    args: &ChatArgs,
    provider: &ScriptedProvider,
    out: &mut (dyn Write + Send),
) -> anyhow::Result<Vec<Measured>> {
    let peer = subject::litellm(provider).await?;
    measure(args, &peer, out).await
}

async fn measure(
    args: &ChatArgs,
    subject: &Subject,
    out: &mut (dyn Write + Send),
) -> anyhow::Result<Vec<Measured>> {
    let mut all = Vec::new();
    for mode in [Mode::Stream, Mode::Whole] {
        for &clients in &args.clients {
            writeln!(out, "bench chat: {}, {clients} clients, {mode}", subject.name)?;
            out.flush()?;
            let load = subject.load(clients, mode);
            load.run(Duration::from_secs(args.warm_up)).await?;
            let asked = load.run(Duration::from_secs(args.seconds)).await?;
            all.push(Measured::new(&subject.name, (clients, mode), &asked)?);
        }
    }
    Ok(all)
}

fn explain(args: &ChatArgs, out: &mut (dyn Write + Send)) -> anyhow::Result<()> {
    writeln!(
        out,
        "The first token is the first word of the answer; in an answer that comes whole it comes with the \
         rest. The model\nanswers at once, in this program: its time and that of the clients is in every \
         row, its CPU time in none."
    )?;
    if !args.direct_only {
        writeln!(
            out,
            "Through the orchestrator, question and answer are kept, redacted, before the answer ends. \
             In memory nothing waits\nfor a disk: that row is what the orchestrator itself adds."
        )?;
    }
    if !args.direct_only && !args.no_postgres {
        writeln!(
            out,
            "PostgreSQL waits for its disk as SQLite does, but where it runs without fsync; its CPU time is \
             not ours."
        )?;
    }
    if args.peers {
        writeln!(out, "LiteLLM runs with one worker and a master key, and keeps no record.")?;
    }
    Ok(())
}
