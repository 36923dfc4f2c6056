//! `status` and `version`.

use cynode_wire::health::{ManagerStatus, StatusView};
use serde::Serialize;

use crate::app::App;
use crate::cli::Global;
use crate::failure::Failure;
use crate::out::{Look, Out};
use crate::table;

/// Shows whether the gateway answers and work can be done.
pub(crate) async fn run(app: &mut App) -> Result<(), Failure> {
    let status = app.session.call_anyway(async |client| client.status().await).await?;
    let url = app.session.gateway_url().to_owned();
    app.out.show(&status, |status, look| render(&url, status, look))
}

/// Shows the version of this program; no gateway is asked.
pub(crate) fn version(global: &Global, out: Out) -> Result<(), Failure> {
    #[derive(Serialize)]
    struct Version {
        name: &'static str,
        version: &'static str,
    }
    let out = Out { format: global.output.unwrap_or_default(), ..out };
    let version = Version { name: "cynork", version: env!("CARGO_PKG_VERSION") };
    out.show(&version, |v, _| format!("{} {}", v.name, v.version))
}

fn render(url: &str, status: &StatusView, look: Look) -> String {
    let ready =
        if status.ready { "yes".to_owned() } else { format!("no: {}", status.reasons.join("; ")) };
    let pairs = [
        ("gateway", Some(url.to_owned())),
        ("ready", Some(ready)),
        ("version", Some(status.version.clone())),
        ("database", Some(status.database.clone())),
        ("project manager", Some(manager(status.project_manager).to_owned())),
        ("active nodes", Some(status.active_nodes.to_string())),
        ("queued tasks", Some(status.queued_tasks.to_string())),
        ("running tasks", Some(status.running_tasks.to_string())),
    ];
    table::pairs(&pairs, look)
}

const fn manager(status: ManagerStatus) -> &'static str {
    match status {
        ManagerStatus::Present => "answers",
        ManagerStatus::Away => "does not answer: see pma.log, or start `cynode-pma`",
        ManagerStatus::Absent => "none is configured",
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
        };

        let look = Look { now: DateTime::UNIX_EPOCH, width: None };
        insta::assert_snapshot!(render("http://localhost:12080", &status, look));
    }
}
