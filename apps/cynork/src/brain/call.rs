//! `brain calls show`: one model call with its egress decisions.

use clap::Subcommand;
use cynode_domain::ids::InferenceId;
use cynode_wire::inferences::InferenceDetailView;

use cynode_cli::context::CliContext;
use cynode_cli::failure::CliFailure;
use cynode_cli::out::RenderContext;
use cynode_cli::{relative_time, table};

/// Subcommands of `brain calls`.
#[derive(Debug, Subcommand)]
pub(super) enum ModelCallCommand {
    /// Show one call with its access decisions: the rule and the credential.
    Show {
        /// The call id.
        call: InferenceId,
    },
}

pub(super) async fn run(
    command: &ModelCallCommand,
    app: &mut CliContext,
) -> Result<(), CliFailure> {
    let ModelCallCommand::Show { call } = command;
    let view = app.session.call(async |client| client.inference_get(*call).await).await?;
    app.out.show(&view, render)
}

fn render(view: &InferenceDetailView, ctx: RenderContext) -> String {
    let call = &view.call;
    let tokens = |count: Option<i64>| count.map(|count| count.to_string());
    let pairs = [
        ("call", Some(call.id.to_string())),
        ("when", Some(relative_time::format_with_relative(ctx.now, call.created_at))),
        ("purpose", Some(call.purpose.clone())),
        ("by", Some(call.agent.map_or("user", |agent| agent.as_str()).to_owned())),
        ("for user", Some(call.user.to_string())),
        ("project", call.project.map(|id| id.to_string())),
        ("task", call.task.map(|id| id.to_string())),
        ("run", call.run.map(|id| id.to_string())),
        ("thread", call.thread.map(|id| id.to_string())),
        ("model", Some(super::model_id(call))),
        ("outcome", Some(call.outcome.to_string())),
        ("error", call.error.clone()),
        ("tokens in", tokens(call.input_tokens)),
        ("tokens out", tokens(call.output_tokens)),
        ("cost in USD", Some(super::format_cost(call))),
        ("took", Some(format!("{} ms", call.latency_ms))),
        ("first token", call.first_ms.map(|ms| format!("{ms} ms"))),
        ("prompt hash", call.prompt_hash.clone()),
        ("trace", Some(call.trace_id.clone())),
    ];
    let rows = view.decisions.iter().map(|decision| {
        vec![
            decision.resource.clone(),
            decision.decision.to_string(),
            decision.reason.clone(),
            decision.credential_id.map_or_else(|| "-".to_owned(), |id| id.to_string()),
        ]
    });
    let decided = table::render_table(&["RESOURCE", "DECISION", "REASON", "CREDENTIAL"], rows, ctx);
    format!("{}\n\n{decided}", table::render_pairs(&pairs, ctx))
}

#[cfg(test)]
mod tests {
    use chrono::{DateTime, TimeDelta};
    use cynode_domain::ids::CredentialId;
    use cynode_domain::model::InferenceOutcome;
    use cynode_domain::policy::Effect;
    use cynode_wire::inferences::EgressDecisionView;

    use super::*;

    #[test]
    fn a_call_is_shown_with_the_rule_and_the_credential_that_let_it_through() {
        let ctx = RenderContext { now: DateTime::UNIX_EPOCH + TimeDelta::seconds(60), width: None };
        let credential = CredentialId::from(uuid::Uuid::from_u128(9));
        let decided = |resource: &str, decision, reason: &str, credential| EgressDecisionView {
            decided_at: DateTime::UNIX_EPOCH,
            resource: resource.to_owned(),
            decision,
            reason: reason.to_owned(),
            credential_id: credential,
        };
        let decisions = vec![
            decided("far/chat", Effect::Deny, "provider allows rules", None),
            decided("near/chat", Effect::Allow, "rule 1", Some(credential)),
        ];
        let call = super::super::tests::call(InferenceOutcome::Success, Some(1_250_000));

        let text = render(&InferenceDetailView { call, decisions }, ctx);

        assert!(text.contains("local/tiny"), "{text}");
        assert!(text.contains("1.250000"), "{text}");
        let lines: Vec<&str> = text.lines().rev().take(2).collect();
        assert!(lines[0].contains("near/chat") && lines[0].contains("rule 1"), "{text}");
        assert!(lines[0].ends_with(&credential.to_string()), "{text}");
        assert!(lines[1].contains("deny") && lines[1].ends_with('-'), "{text}");
    }
}
