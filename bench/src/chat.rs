//! Chat requests to a scripted model, direct and through the orchestrator, in the same run. Start
//! at [`run`]. The model is the scripted provider of the tests, which answers at once, so the path
//! to it is measured. The orchestrator runs in its normal configuration: with a token, redaction,
//! the stored conversation, access rules, the record of the call and the audit row. The direct
//! request is the baseline.

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

use self::client::{ANSWER, ResponseMode};
use self::report::ChatFigures;
use self::subject::ChatSubject;
use crate::gateway::report::TableStyle;
use crate::gateway::subject::DatabaseKind;

/// Options of the chat benchmark.
#[derive(Debug, Args)]
#[expect(clippy::struct_excessive_bools, reason = "flags of a command line")]
pub struct ChatBenchArgs {
    /// Duration of each measurement, in seconds
    #[arg(long, default_value_t = 10)]
    seconds: u64,
    /// Warm-up before each measurement, in seconds
    #[arg(long, default_value_t = 3)]
    warm_up: u64,
    /// Number of concurrent clients; one measurement for each value
    #[arg(long, value_delimiter = ',', default_values_t = [1, 64])]
    clients: Vec<usize>,
    /// Measure the direct request only, without the orchestrator
    #[arg(long)]
    direct_only: bool,
    /// Skip `PostgreSQL`
    #[arg(long)]
    no_postgres: bool,
    /// Also measure the `LiteLLM` proxy
    #[arg(long)]
    peers: bool,
    /// Print the table as Markdown
    #[arg(long)]
    markdown: bool,
}

/// Runs the benchmark and prints a table to `out`.
pub async fn run(args: &ChatBenchArgs, out: &mut (dyn Write + Send)) -> anyhow::Result<()> {
    let provider = start_scripted_model().await?;
    let mut all = measure_chat_subject(args, &ChatSubject::direct(&provider), out).await?;
    if !args.direct_only {
        for storage in [DatabaseKind::Sqlite, DatabaseKind::SqliteInMemory] {
            let ours = subject::start_orchestrator(&provider, &storage).await?;
            all.extend(measure_chat_subject(args, &ours, out).await?);
        }
    }
    if !args.direct_only && !args.no_postgres {
        let database = cynode_testkit::postgres_database().await;
        let durable = DurableServer::start()?;
        for storage in [
            DatabaseKind::Postgres(durable.url()),
            DatabaseKind::PostgresOfTests(database.url.clone()),
        ] {
            let ours = subject::start_orchestrator(&provider, &storage).await?;
            all.extend(measure_chat_subject(args, &ours, out).await?);
        }
    }
    let mut failure = None;
    if args.peers {
        match measure_peer(args, &provider, out).await {
            Ok(rows) => all.extend(rows),
            Err(error) => failure = Some(format!("LiteLLM was not measured: {error:#}")),
        }
    }
    let style = if args.markdown { TableStyle::Markdown } else { TableStyle::Plain };
    write!(out, "\n{}", report::render_chat_table(&all, style))?;
    print_notes(args, out)?;
    let wrong = all.iter().filter(|one| one.errors > 0).count();
    if wrong > 0 {
        bail!("{wrong} rows have wrong answers");
    }
    failure.map_or(Ok(()), |failure| bail!(failure))
}

/// A model with precomputed answers, to minimise its own cost.
async fn start_scripted_model() -> anyhow::Result<ScriptedProvider> {
    let provider = ScriptedProvider::saying(ANSWER);
    let url = format!("{}/chat/completions", provider.openai_url());
    let output = async |body: Value| {
        let answer = reqwest::Client::new().post(&url).json(&body).send().await?;
        anyhow::Ok(answer.text().await?)
    };
    let options = json!({ "include_usage": true });
    let streamed = output(json!({ "stream": true, "stream_options": options })).await?;
    let whole = output(json!({})).await?;
    for request in [r#""stream":true"#, r#""stream": true"#] {
        provider.when(request, Answer::raw("text/event-stream", &streamed));
    }
    provider.otherwise(Answer::raw("application/json", &whole));
    provider.forget_requests();
    Ok(provider)
}

async fn measure_peer(
    args: &ChatBenchArgs,
    provider: &ScriptedProvider,
    out: &mut (dyn Write + Send),
) -> anyhow::Result<Vec<ChatFigures>> {
    let peer = subject::start_litellm(provider).await?;
    measure_chat_subject(args, &peer, out).await
}

async fn measure_chat_subject(
    args: &ChatBenchArgs,
    subject: &ChatSubject,
    out: &mut (dyn Write + Send),
) -> anyhow::Result<Vec<ChatFigures>> {
    let mut all = Vec::new();
    for mode in [ResponseMode::Stream, ResponseMode::Whole] {
        for &clients in &args.clients {
            writeln!(out, "bench chat: {}, {clients} clients, {mode}", subject.name)?;
            out.flush()?;
            let load = subject.load(clients, mode);
            load.run(Duration::from_secs(args.warm_up)).await?;
            let request = load.run(Duration::from_secs(args.seconds)).await?;
            all.push(ChatFigures::new(&subject.name, (clients, mode), &request)?);
        }
    }
    Ok(all)
}

fn print_notes(args: &ChatBenchArgs, out: &mut (dyn Write + Send)) -> anyhow::Result<()> {
    writeln!(
        out,
        "The first token of an unstreamed answer arrives with the rest. The model answers at once, in this \
         program:\nevery row includes its time and that of the clients, and no row its CPU time."
    )?;
    if !args.direct_only {
        writeln!(
            out,
            "The orchestrator stores question and answer, redacted, before the answer ends. The row in \
             memory has no\ndisk latency: it shows the cost of the orchestrator itself."
        )?;
    }
    if !args.direct_only && !args.no_postgres {
        writeln!(
            out,
            "PostgreSQL syncs to disk like SQLite, unless it runs without fsync; its CPU time is \
             not counted."
        )?;
    }
    if args.peers {
        writeln!(out, "LiteLLM runs with one worker and a master key, and writes no record.")?;
    }
    Ok(())
}
