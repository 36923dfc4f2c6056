//! Dry run of a decision: the verdict of each stage, without the call.

use async_trait::async_trait;
use cynode_domain::policy::{ErrorKind, Stage};
use cynode_ops::{access::Audience, access::ToolAccessExplainer};
use cynode_wire::tools::{ExplainView, StageVerdict, StageView};
use serde_json::Value;
use serde_json::value::RawValue;

use crate::McpGateway;
use crate::gateway::GatewayInner;
use crate::identity::Identity;
use crate::pipeline;
use crate::pipeline::CallScope;
use crate::pipeline::Denial;
use crate::pipeline::context;
use crate::snapshot::PolicySnapshot;
use crate::snapshot::PolicyTool;
use cynode_upstream::rpc;

impl McpGateway {
    /// Decides whether `who` may call `tool` with these arguments. Same decision as for a call, but
    /// without execution and record.
    pub async fn decide(
        &self,
        identity: &Identity,
        tool: &str,
        arguments: Option<&RawValue>,
    ) -> Result<CallScope, Denial> {
        let admitted = self.inner.decide(&self.inner.snapshot(), identity, tool, arguments).await?;
        Ok(admitted.call_scope)
    }
}

#[async_trait]
impl ToolAccessExplainer for McpGateway {
    async fn explain(
        &self,
        identity: &Identity,
        tool: &str,
        arguments: Option<&Value>,
        audience: Audience,
    ) -> ExplainView {
        // Always current: a person explains a decision after changing what it depends on.
        let snapshot = self.inner.snapshot_containing(|_| false).await;
        let is_hidden = |found: &PolicyTool| {
            audience == Audience::Caller && pipeline::is_concealed(&snapshot, found, identity)
        };
        let known = match pipeline::check_known(&snapshot, identity, tool) {
            Ok(found) if is_hidden(found) => Err(pipeline::unknown_tool(tool)),
            known => known,
        };
        let mut in_advance = Ok(());
        let mut stages =
            vec![stage_view(Stage::Authenticate, &Ok(format!("a {} caller", identity.agent)))];
        match known {
            Ok(tool) => {
                in_advance = pipeline::precheck_rules(&snapshot, tool, identity);
                stages.push(stage_view(Stage::Known, &Ok(format!("\"{}\" exists", tool.name))));
                stages.extend(static_stages(&snapshot, tool, identity));
                stages.extend(self.inner.late_stages(tool, identity, arguments).await);
            }
            Err(denial) => {
                stages.push(stage_view(Stage::Known, &Err(denial)));
                stages.extend(stages_after(Stage::Known).map(not_evaluated));
            }
        }
        let refuses = |stage: &&StageView| stage.verdict == StageVerdict::Refuse;
        let refused_by = stages.iter().find(refuses).map(|stage| match in_advance {
            // A call would be rejected before its arguments are checked.
            Err(_) if stage.stage >= Stage::Arguments => Stage::Rules,
            _ => stage.stage,
        });
        ExplainView { allowed: refused_by.is_none(), refused_by, stages }
    }
}

fn static_stages(
    snapshot: &PolicySnapshot,
    tool: &PolicyTool,
    identity: &Identity,
) -> [StageView; 5] {
    let said = |stage, verdict: Result<(), Denial>, yes: &str| {
        stage_view(stage, &verdict.map(|()| yes.to_owned()))
    };
    let guard = tool.setting.map_or_else(
        || "not guarded by a setting".to_owned(),
        |setting| format!("{setting} is true"),
    );
    [
        said(Stage::Enabled, pipeline::check_enabled(tool), "tool is enabled"),
        said(Stage::Review, pipeline::check_reviewed(tool), "definition is approved"),
        said(
            Stage::Allowlist,
            pipeline::check_allowlisted(tool, identity),
            "allowed for this role",
        ),
        said(Stage::Scope, pipeline::check_scope(tool, identity), "scope allows this caller"),
        said(Stage::Setting, pipeline::check_setting(snapshot, tool), &guard),
    ]
}

impl GatewayInner {
    async fn late_stages(
        &self,
        tool: &PolicyTool,
        identity: &Identity,
        arguments: Option<&Value>,
    ) -> Vec<StageView> {
        let bound = CallScope { task: identity.task, project: identity.project };
        let rest = stage_view(Stage::Limits, &self.limits_verdict(tool));
        let Some(arguments) = arguments else {
            let verdict = pipeline::rules(&self.snapshot(), tool, identity, bound)
                .map(|rule| format!("rule {rule} allows it"));
            return vec![
                not_evaluated(Stage::Arguments),
                not_evaluated(Stage::Context),
                stage_view(Stage::Rules, &verdict),
                rest,
            ];
        };
        let raw = rpc::raw(arguments.to_string());
        let checked = pipeline::arguments::check(tool, Some(&raw), self.options.max_request_bytes);
        let judged = match &checked {
            Ok(value) => Some(self.check_context(tool, identity, value).await),
            Err(_) => None,
        };
        let setting =
            judged.as_ref().and_then(|judged| judged.as_ref().ok()).copied().unwrap_or(bound);
        let rules = pipeline::rules(&self.snapshot(), tool, identity, setting).and_then(|rule| {
            pipeline::hosts::check_named_host(
                &self.snapshot(),
                tool,
                identity,
                setting,
                arguments,
            )?;
            Ok(format!("rule {rule} allows it"))
        });
        vec![
            stage_view(Stage::Arguments, &checked.map(|_| "arguments match the schema".to_owned())),
            judged.map_or_else(
                || not_evaluated(Stage::Context),
                |judged| {
                    stage_view(
                        Stage::Context,
                        &judged.map(|_| "ids belong to the caller".to_owned()),
                    )
                },
            ),
            stage_view(Stage::Rules, &rules),
            rest,
        ]
    }

    /// Stage `limits`, as far as it is predictable.
    fn limits_verdict(&self, tool: &PolicyTool) -> Result<String, Denial> {
        let Some(server) = &tool.server else {
            return Ok("built-in tool: no server limits".to_owned());
        };
        self.circuit_denial(server).map_or(Ok("server is healthy (circuit closed)".to_owned()), Err)
    }

    /// Stage `context`, including its lookups.
    pub(crate) async fn check_context(
        &self,
        tool: &PolicyTool,
        identity: &Identity,
        arguments: &Value,
    ) -> Result<CallScope, Denial> {
        let ids = context::parse_ids(tool.scoped, arguments)?;
        let needed = context::needed_lookups(identity, &ids);
        let facts = if needed.is_empty() {
            context::IdLookupResults::default()
        } else {
            self.backend.look_up_ids(identity, &needed).await.map_err(|fault| {
                tracing::warn!(error = &fault as &dyn std::error::Error, "id lookup failed");
                Denial::new(
                    Stage::Context,
                    ErrorKind::ServiceUnavailable,
                    "the ids cannot be looked up now; try again shortly",
                )
            })?
        };
        context::check(identity, &ids, &facts)
    }
}

fn stage_view(stage: Stage, verdict: &Result<String, Denial>) -> StageView {
    match verdict {
        Ok(reason) => StageView { stage, verdict: StageVerdict::Pass, reason: reason.clone() },
        Err(denial) => {
            StageView { stage, verdict: StageVerdict::Refuse, reason: denial.message.clone() }
        }
    }
}

fn not_evaluated(stage: Stage) -> StageView {
    StageView { stage, verdict: StageVerdict::Skipped, reason: "not evaluated".to_owned() }
}

/// The stages after `stage`, up to `limits`.
fn stages_after(stage: Stage) -> impl Iterator<Item = Stage> {
    Stage::ALL.iter().copied().filter(move |later| *later > stage && *later <= Stage::Limits)
}
