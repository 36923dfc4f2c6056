//! `status` and `print_version`.

use std::fmt::Write as _;

use cynode_wire::health::{ManagerStatus, StatusView};
use serde::Serialize;

use cynode_cli::context::CliContext;
use cynode_cli::failure::CliFailure;
use cynode_cli::global_args::GlobalArgs;
use cynode_cli::out::{CommandOutput, RenderContext};
use cynode_cli::table;

/// Shows whether the gateway is reachable and can run work.
pub(crate) async fn run(app: &mut CliContext) -> Result<(), CliFailure> {
    let status = app.session.call_anonymous(async |client| client.status().await).await?;
    let url = app.session.gateway_url().to_owned();
    app.out.show(&status, |status, ctx| render(&url, status, ctx))
}

/// Prints the version of this program without calling the gateway.
pub(crate) fn print_version(global: &GlobalArgs, out: CommandOutput) -> Result<(), CliFailure> {
    #[derive(Serialize)]
    struct VersionInfo {
        name: &'static str,
        version: &'static str,
    }
    let out = CommandOutput { format: global.output.unwrap_or_default(), ..out };
    let version = VersionInfo { name: "cynork", version: env!("CARGO_PKG_VERSION") };
    out.show(&version, |v, _| format!("{} {}", v.name, v.version))
}

fn render(url: &str, status: &StatusView, ctx: RenderContext) -> String {
    let ready =
        if status.ready { "yes".to_owned() } else { format!("no: {}", status.reasons.join("; ")) };
    let quarantined = (status.quarantined_rows > 0).then(|| format_quarantined(status));
    let pairs = [
        ("gateway", Some(url.to_owned())),
        ("ready", Some(ready)),
        ("version", Some(status.version.clone())),
        ("database", Some(status.database.clone())),
        ("project manager", Some(format_manager_status(status.project_manager).to_owned())),
        ("active nodes", Some(status.active_nodes.to_string())),
        ("queued tasks", Some(status.queued_tasks.to_string())),
        ("running tasks", Some(status.running_tasks.to_string())),
        ("quarantined rows", quarantined),
    ];
    table::render_pairs(&pairs, ctx)
}

/// Unreadable rows, and what to do about them.
fn format_quarantined(status: &StatusView) -> String {
    let mut text = format!(
        "{}: unreadable and skipped; repair or delete them in the database, they are rechecked every \
        30 seconds",
        status.quarantined_rows
    );
    for row in &status.quarantined {
        let _ = write!(text, "\n{} {}: {}", row.table, row.key, row.reason);
    }
    text
}

const fn format_manager_status(status: ManagerStatus) -> &'static str {
    match status {
        ManagerStatus::Present => "connected",
        ManagerStatus::Away => "not responding: see pma.log, or start `cynode-pma`",
        ManagerStatus::Absent => "not configured",
    }
}

#[cfg(test)]
mod tests {
    use chrono::DateTime;

    use super::*;

    #[test]
    fn status_says_what_is_missing() {
        let status = StatusView {
            version: "0.1.0".to_owned(),
            database: "sqlite".to_owned(),
            ready: false,
            reasons: vec!["no node polls".to_owned()],
            active_nodes: 0,
            queued_tasks: 3,
            running_tasks: 1,
            project_manager: ManagerStatus::Away,
            quarantined_rows: 0,
            quarantined: vec![],
        };

        let ctx = RenderContext { now: DateTime::UNIX_EPOCH, width: None };
        insta::assert_snapshot!(render("http://localhost:12080", &status, ctx));
    }

    #[test]
    fn status_names_rows_that_cannot_be_read() {
        let status: StatusView = serde_json::from_value(serde_json::json!({
            "version": "0.1.0", "database": "sqlite", "ready": true, "reasons": [],
            "active_nodes": 1, "queued_tasks": 0, "running_tasks": 0, "quarantined_rows": 2,
            "quarantined": [{ "table": "tasks", "key": "t-1", "reason": "column options: missing field",
                "first_seen_at": "2026-01-01T00:00:00Z" }],
        }))
        .unwrap();

        let ctx = RenderContext { now: DateTime::UNIX_EPOCH, width: None };
        let text = render("http://localhost:12080", &status, ctx);

        assert!(text.contains("2: unreadable and skipped"), "{text}");
        assert!(text.contains("tasks t-1: column options: missing field"), "{text}");
    }
}
