//! Follows a request: prints a line for each event until the request ends, needs a person or is in review.

use cynode_domain::status::{RequestPhase, ShownTaskStatus};
use cynode_domain::verification::VerificationStatus;
use cynode_wire::events::{Event, EventQuery};
use cynode_wire::requests::RequestView;

use super::render;
use crate::follow::{EventFollower, FollowedEvent};
use cynode_cli::context::CliContext;
use cynode_cli::failure::CliFailure;
use cynode_cli::global_args::Format;
use cynode_cli::table;

/// Follows a request and prints its outcome.
pub(super) async fn follow(app: &mut CliContext, view: RequestView) -> Result<(), CliFailure> {
    let id = view.id.to_string();
    let query = EventQuery { task: Some(id.clone()), after: Some("0".to_owned()) };
    let mut events = EventFollower::new(query);
    let mut view = view;
    app.out.print_message(&format!("following {}", view.name));
    while view.ended_at.is_none() && view.question.is_none() && !is_in_review(&view) {
        match events.next(&mut app.session).await? {
            FollowedEvent::Event(event) => {
                if let Some(line) = describe(&event) {
                    app.out.print_message(&table::sanitize(&line));
                }
                if !is_decisive(&event) {
                    continue;
                }
            }
            FollowedEvent::PollNeeded => {}
        }
        view = super::get(app, &id).await?;
    }
    finish(app, &view)
}

fn finish(app: &CliContext, view: &RequestView) -> Result<(), CliFailure> {
    if app.out.format == Format::Json {
        app.out.print_json(view)?;
    } else {
        app.out.show(view, render::render_request)?;
    }
    match (view.status, view.verification) {
        (ShownTaskStatus::Completed, Some(VerificationStatus::Unverified)) => {
            Err(CliFailure::Unverified)
        }
        (ShownTaskStatus::Completed, _) => Ok(()),
        // Its pull request is open: the review can take days.
        (ShownTaskStatus::Running, _) if is_in_review(view) => Ok(()),
        _ => Err(CliFailure::NotCompleted),
    }
}

fn is_in_review(view: &RequestView) -> bool {
    view.phase == RequestPhase::InReview
}

fn is_decisive(event: &Event) -> bool {
    matches!(
        event.kind.as_str(),
        "task.closed" | "request.waiting" | "request.attempt_ended" | "request.phase_changed"
    )
}

/// An event as a line; `None` if it tells nothing.
fn describe(event: &Event) -> Option<String> {
    let data = &event.data;
    let text = |key: &str| data[key].as_str().unwrap_or_default();
    let list = |key: &str| {
        let items = data[key].as_array().map(Vec::as_slice).unwrap_or_default();
        items.iter().filter_map(|item| item.as_str()).collect::<Vec<_>>().join(", ")
    };
    Some(match event.kind.as_str() {
        "request.classified" => {
            format!("kind: {} ({}: {})", text("kind"), text("by"), text("reason"))
        }
        "request.context_read" => format!(
            "project: {}, {} files, {}{}",
            text("project_kind"),
            data["files"],
            text("architecture"),
            if data["is_cached"] == true { " (as read before)" } else { "" }
        ),
        "request.planned" => format!(
            "scope: {} ({}: {}); units: {}; components: {}",
            text("scope"),
            text("by"),
            text("reason"),
            list("workflow"),
            list("components")
        ),
        "request.attempt_started" => {
            format!("{} attempt {} started", text("unit"), data["attempt"])
        }
        "request.attempt_ended" => {
            let outcome = &data["outcome"];
            let message = outcome["message"]
                .as_str()
                .and_then(|message| message.lines().next())
                .unwrap_or_default();
            let verdict = outcome["verdict"]
                .as_str()
                .unwrap_or(outcome["result"].as_str().unwrap_or_default());
            format!("{} attempt {}: {verdict} {message}", text("unit"), data["attempt"])
                .trim_end()
                .to_owned()
        }
        "request.unit_reported" => {
            format!(
                "{} attempt {} reports {}: {}",
                text("unit"),
                data["attempt"],
                text("report"),
                text("text")
            )
        }
        "request.unit_replanned" => {
            format!("{}: {}: {}", text("unit"), text("instruction"), text("text"))
        }
        "request.unit_approved" => format!("{}: {}", text("unit"), text("reason")),
        "request.phase_changed" => format!("phase: {}", text("phase")),
        "request.pull_request_opened" => format!("pull request: {}", text("url")),
        "request.round_started" => {
            format!("round {} for {} comments and checks", data["round"], data["findings"])
        }
        _ => return None,
    })
}
