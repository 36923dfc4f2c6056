//! `audit`: the audit log of tool calls, chats and access changes.

use std::fmt::Write as _;

use chrono::{DateTime, Utc};
use clap::{Args, Subcommand};
use cynode_domain::ids::{CallId, ProjectId, TaskId, UserId};
use cynode_domain::policy::Effect;
use cynode_wire::audit::{
    AuditQuery, CallView, ChatRecordQuery, ChatRecordView, VerifyQuery, VerifyView,
};
use cynode_wire::changes::ChangeQuery;
use cynode_wire::page::{MAX_LIMIT, PageQuery};

use cynode_cli::context::CliContext;
use cynode_cli::failure::CliFailure;
use cynode_cli::history::HistoryPageArgs;
use cynode_cli::out::RenderContext;
use cynode_cli::{history, relative_time, table};

/// Read the audit log of tool calls, chats and access changes.
#[derive(Debug, Subcommand)]
pub enum AuditCommand {
    /// List tool calls, newest first.
    List(AuditListArgs),
    /// Show one tool call.
    Get {
        /// The call id.
        call: CallId,
    },
    /// List chat requests and their outcome, newest first; message text is not recorded.
    Chat {
        /// Only requests of this user, by id.
        #[arg(long, value_name = "ID")]
        user: Option<UserId>,
        #[command(flatten)]
        page: HistoryPageArgs,
    },
    /// List changes to access control, newest first. Administrators only.
    ///
    /// Covers rules, credentials, providers, servers, tools and groups.
    Changes {
        /// Only changes to this kind of resource, such as `access_control_rule` or `api_credential`.
        #[arg(long = "of", value_name = "KIND")]
        kind: Option<String>,
        /// Only changes by this user, by id.
        #[arg(long, value_name = "ID")]
        user: Option<UserId>,
        #[command(flatten)]
        page: HistoryPageArgs,
    },
    /// Print the newest record of every chain, on one line. Administrators only.
    ///
    /// Keep it where users who can change the database cannot change it, and give it to `audit verify --since`.
    Head,
    /// Verify the hash chains: no record was edited, removed, moved or inserted. Exits with 1 otherwise.
    Verify {
        /// An earlier output of `audit head`: the chains must still contain its records, unchanged.
        #[arg(long, value_name = "HEAD")]
        since: Option<String>,
    },
    /// Print every matching call as one JSON object per line, newest first.
    Export(AuditFilterArgs),
}

/// Arguments of `audit list`.
#[derive(Debug, Args)]
pub struct AuditListArgs {
    #[command(flatten)]
    filter: AuditFilterArgs,
    /// Page size, 1 to 200.
    #[arg(long, default_value_t = 50)]
    limit: u32,
    /// Continue after the previous page.
    #[arg(long)]
    cursor: Option<String>,
}

/// Filters on tool calls.
#[derive(Debug, Args)]
pub struct AuditFilterArgs {
    /// Only calls for this task, by id.
    #[arg(long, value_name = "ID")]
    task: Option<TaskId>,
    /// Only calls in this project, by id.
    #[arg(long, value_name = "ID")]
    project: Option<ProjectId>,
    /// Only calls for this user, by id.
    #[arg(long, value_name = "ID")]
    user: Option<UserId>,
    /// Only calls of this tool.
    #[arg(long)]
    tool: Option<String>,
    /// Only calls with this decision: allow or deny.
    #[arg(long, value_name = "EFFECT")]
    decision: Option<Effect>,
    /// Only calls at or after this time, such as 2026-01-31T00:00:00Z.
    #[arg(long, value_name = "TIME")]
    since: Option<DateTime<Utc>>,
    /// Only calls before this time.
    #[arg(long, value_name = "TIME")]
    until: Option<DateTime<Utc>>,
}

pub async fn run(command: AuditCommand, app: &mut CliContext) -> Result<(), CliFailure> {
    match command {
        AuditCommand::List(args) => {
            let query = AuditQuery {
                limit: Some(args.limit),
                cursor: args.cursor,
                ..build_query(args.filter)
            };
            let page = app.session.call(async |client| client.call_list(&query).await).await?;
            app.out.show(&page, |page, ctx| render_all(&page.items, ctx))?;
            history::print_next_page(page.next_cursor.as_deref(), app);
            Ok(())
        }
        AuditCommand::Get { call } => {
            let view = app.session.call(async |client| client.call_get(call).await).await?;
            app.out.show(&view, render)
        }
        AuditCommand::Chat { user, page } => list_chats(user, page.into_query(), app).await,
        AuditCommand::Changes { kind, user, page } => {
            let PageQuery { limit, cursor } = page.into_query();
            let query = ChangeQuery { resource_type: kind, user_id: user, limit, cursor };
            let page = app.session.call(async |client| client.access_changes(&query).await).await?;
            history::show(&page, app)
        }
        AuditCommand::Head => {
            let view = app.session.call(async |client| client.audit_head().await).await?;
            app.out.show(&view, |view, _| view.head.clone())
        }
        AuditCommand::Verify { since } => verify(VerifyQuery { since }, app).await,
        AuditCommand::Export(filter) => export(build_query(filter), app).await,
    }
}

async fn list_chats(
    user_id: Option<UserId>,
    page: PageQuery,
    app: &mut CliContext,
) -> Result<(), CliFailure> {
    let PageQuery { limit, cursor } = page;
    let query = ChatRecordQuery { user_id, limit, cursor };
    let page = app.session.call(async |client| client.chat_records(&query).await).await?;
    app.out.show(&page, |page, ctx| render_chats(&page.items, ctx))?;
    history::print_next_page(page.next_cursor.as_deref(), app);
    Ok(())
}

fn render_chats(records: &[ChatRecordView], ctx: RenderContext) -> String {
    let rows = records.iter().map(|record| {
        vec![
            relative_time::format_relative(ctx.now, record.created_at),
            record.model.clone(),
            record.error_code.clone().unwrap_or_else(|| record.outcome.clone()),
            record.redaction_kinds.join(", "),
            format!("{} ms", record.duration_ms),
            record.user_id.to_string(),
            record.request_id.clone(),
        ]
    });
    table::render_table(
        &["WHEN", "MODEL", "OUTCOME", "REDACTED", "TOOK", "USER", "REQUEST"],
        rows,
        ctx,
    )
}

async fn verify(query: VerifyQuery, app: &mut CliContext) -> Result<(), CliFailure> {
    let view = app.session.call(async |client| client.audit_verify(&query).await).await?;
    app.out.show(&view, render_verify)?;
    // The output names the faults.
    if view.intact { Ok(()) } else { Err(CliFailure::NotCompleted) }
}

async fn export(mut query: AuditQuery, app: &mut CliContext) -> Result<(), CliFailure> {
    query.limit = Some(MAX_LIMIT);
    loop {
        let page = app.session.call(async |client| client.call_list(&query).await).await?;
        let mut lines = String::new();
        for call in &page.items {
            lines += &serde_json::to_string(call).map_err(std::io::Error::from)?;
            lines.push('\n');
        }
        app.out.data(lines)?;
        query.cursor = page.next_cursor;
        if query.cursor.is_none() {
            return Ok(());
        }
    }
}

fn build_query(filter: AuditFilterArgs) -> AuditQuery {
    AuditQuery {
        limit: None,
        cursor: None,
        task_id: filter.task,
        project_id: filter.project,
        user_id: filter.user,
        tool: filter.tool,
        decision: filter.decision,
        since: filter.since,
        until: filter.until,
    }
}

fn render_all(calls: &[CallView], ctx: RenderContext) -> String {
    let rows = calls.iter().map(|call| {
        vec![
            relative_time::format_relative(ctx.now, call.created_at),
            call.agent_type.clone(),
            call.tool_name.clone(),
            format_decision(call),
            format_outcome(call),
            call.id.to_string(),
        ]
    });
    table::render_table(&["WHEN", "CALLER", "TOOL", "DECISION", "OUTCOME", "ID"], rows, ctx)
}

fn format_decision(call: &CallView) -> String {
    match call.decision {
        Effect::Allow => "allow".to_owned(),
        Effect::Deny => format!("deny ({})", call.stage),
    }
}

fn format_outcome(call: &CallView) -> String {
    let what = call.error_type.as_deref().unwrap_or(call.status.as_str());
    match call.duration_ms {
        Some(ms) => format!("{what}, {ms} ms"),
        None => what.to_owned(),
    }
}

fn render(call: &CallView, ctx: RenderContext) -> String {
    let pairs = [
        ("call", Some(call.id.to_string())),
        ("when", Some(relative_time::format_with_relative(ctx.now, call.created_at))),
        ("tool", Some(format!("{} on {}", call.tool_name, call.server))),
        ("caller", Some(call.agent_type.clone())),
        ("decision", Some(format_decision(call))),
        ("outcome", Some(format_outcome(call))),
        ("user", call.user_id.map(|id| id.to_string())),
        ("project", call.project_id.map(|id| id.to_string())),
        ("task", call.task_id.map(|id| id.to_string())),
        ("run", call.run_id.map(|id| id.to_string())),
        ("job", call.job_id.map(|id| id.to_string())),
        ("token", call.token_id.map(|id| id.to_string())),
        ("origin", Some(call.origin.clone())),
        ("request", Some(call.request_id.clone())),
        ("record", Some(format!("{} of chain {}", call.seq, call.chain_id))),
        ("hash", Some(call.hash.clone())),
    ];
    table::render_pairs(&pairs, ctx)
}

fn render_verify(view: &VerifyView, ctx: RenderContext) -> String {
    let rows = view.chains.iter().map(|chain| {
        vec![
            chain.chain_id.to_string(),
            chain.records.to_string(),
            if chain.faults.is_empty() { "intact" } else { "CHANGED" }.to_owned(),
            chain.head.clone(),
        ]
    });
    let mut text = table::render_table(&["CHAIN", "RECORDS", "STATE", "HEAD"], rows, ctx);
    for chain in &view.chains {
        for fault in &chain.faults {
            let _ = write!(text, "\nchain {}: {}", chain.chain_id, table::sanitize(fault));
        }
    }
    let end = if view.intact { "all records are as written" } else { "the record was changed" };
    format!("{text}\n{} records: {end}", view.records)
}

#[cfg(test)]
mod tests {
    use cynode_domain::ids::{ChainId, ChatTurnId};
    use cynode_wire::audit::ChainView;

    use super::*;

    #[test]
    fn a_verification_names_every_fault_and_the_head_of_every_chain() {
        let chain = |number: u128, faults: Vec<String>| ChainView {
            chain_id: ChainId::from(uuid::Uuid::from_u128(number)),
            records: 3,
            last_seq: 3,
            head: format!("{number:02}").repeat(32),
            faults,
        };
        let view = VerifyView {
            intact: false,
            records: 6,
            chains: vec![chain(1, vec![]), chain(2, vec!["record 2 was edited".to_owned()])],
        };
        let ctx = RenderContext { now: DateTime::UNIX_EPOCH, width: None };

        let text = render_verify(&view, ctx);

        assert!(text.contains("intact") && text.contains("CHANGED"), "{text}");
        assert!(text.contains(&"02".repeat(32)), "{text}");
        assert!(text.contains("chain 00000000-0000-0000-0000-000000000002: record 2 was edited"));
        assert!(text.ends_with("6 records: the record was changed"), "{text}");
    }
    #[test]
    fn chats_are_listed_with_what_became_of_them_and_what_was_taken_out() {
        let record = |error: Option<&str>, kinds: &[&str]| ChatRecordView {
            id: ChatTurnId::generate(),
            created_at: DateTime::UNIX_EPOCH,
            user_id: UserId::from(uuid::Uuid::from_u128(7)),
            project_id: None,
            thread_id: None,
            model: "cynodeai.pm".to_owned(),
            outcome: if error.is_some() { "error" } else { "success" }.to_owned(),
            error_code: error.map(ToOwned::to_owned),
            redaction_applied: !kinds.is_empty(),
            redaction_kinds: kinds.iter().map(|&kind| kind.to_owned()).collect(),
            duration_ms: 12,
            request_id: "t".to_owned(),
        };
        let ctx = RenderContext {
            now: DateTime::UNIX_EPOCH + chrono::TimeDelta::seconds(60),
            width: None,
        };
        let records = [record(None, &["api_key"]), record(Some("model_not_found"), &[])];

        insta::assert_snapshot!(render_chats(&records, ctx));
    }
}
