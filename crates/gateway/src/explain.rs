//! The decision without the call: what a call would meet, stage by stage.

use async_trait::async_trait;
use cynode_domain::policy::{ErrorKind, Stage};
use cynode_ops::access::{Audience, Explain};
use cynode_wire::tools::{ExplainView, StageVerdict, StageView};
use serde_json::Value;
use serde_json::value::RawValue;

use crate::Gateway;
use crate::gateway::Inner;
use crate::identity::Identity;
use crate::pipeline::{self, Denial, Setting, context};
use crate::rpc;
use crate::snapshot::{Snapshot, Tool};

impl Gateway {
    /// Whether `who` may call `tool` with these arguments: the very decision that calls meet,
    /// without the call and without a record.
    pub async fn decide(
        &self,
        who: &Identity,
        tool: &str,
        arguments: Option<&RawValue>,
    ) -> Result<Setting, Denial> {
        let admitted = self.inner.decide(&self.inner.snapshot(), who, tool, arguments).await?;
        Ok(admitted.setting)
    }
}

#[async_trait]
impl Explain for Gateway {
    async fn explain(
        &self,
        identity: &Identity,
        tool: &str,
        arguments: Option<&Value>,
        audience: Audience,
    ) -> ExplainView {
        let snapshot = self.inner.snapshot();
        let is_hidden =
            |found: &Tool| audience == Audience::Caller && pipeline::is_concealed(found, identity);
        let known = match pipeline::known(&snapshot, tool) {
            Ok(found) if is_hidden(found) => Err(pipeline::unknown_tool(tool)),
            known => known,
        };
        let mut in_advance = Ok(());
        let mut stages =
            vec![view(Stage::Authenticate, &Ok(format!("a {} caller", identity.agent)))];
        match known {
            Ok(tool) => {
                in_advance = pipeline::rules_in_advance(tool, identity);
                stages.push(view(Stage::Known, &Ok(format!("\"{}\" exists", tool.name))));
                stages.extend(static_stages(&snapshot, tool, identity));
                stages.extend(self.inner.late_stages(tool, identity, arguments).await);
            }
            Err(denial) => {
                stages.push(view(Stage::Known, &Err(denial)));
                stages.extend(rest_after(Stage::Known).map(not_asked));
            }
        }
        let refuses = |stage: &&StageView| stage.verdict == StageVerdict::Refuse;
        let refused_by = stages.iter().find(refuses).map(|stage| match in_advance {
            // A call does not get as far as its arguments.
            Err(_) if stage.stage >= Stage::Arguments => Stage::Rules,
            _ => stage.stage,
        });
        ExplainView { allowed: refused_by.is_none(), refused_by, stages }
    }
}

fn static_stages(snapshot: &Snapshot, tool: &Tool, who: &Identity) -> [StageView; 5] {
    let said = |stage, verdict: Result<(), Denial>, yes: &str| {
        view(stage, &verdict.map(|()| yes.to_owned()))
    };
    let guard = tool
        .setting
        .map_or_else(|| "no setting guards it".to_owned(), |setting| format!("{setting} is true"));
    [
        said(Stage::Enabled, pipeline::enabled(tool), "it is turned on"),
        said(Stage::Review, pipeline::reviewed(tool), "it is what was approved"),
        said(Stage::Allowlist, pipeline::allowlisted(tool, who), "the role may reach it"),
        said(Stage::Scope, pipeline::in_scope(tool, who), "its scope admits the caller"),
        said(Stage::Setting, pipeline::switched_on(snapshot, tool), &guard),
    ]
}

impl Inner {
    async fn late_stages(
        &self,
        tool: &Tool,
        who: &Identity,
        arguments: Option<&Value>,
    ) -> Vec<StageView> {
        let bound = Setting { task: who.task, project: who.project };
        let rest = view(Stage::Limits, &self.rest_of(tool));
        let Some(arguments) = arguments else {
            let verdict =
                pipeline::rules(tool, who, bound).map(|rule| format!("rule {rule} allows it"));
            return vec![
                not_asked(Stage::Arguments),
                not_asked(Stage::Context),
                view(Stage::Rules, &verdict),
                rest,
            ];
        };
        let raw = rpc::raw(arguments.to_string());
        let checked = pipeline::arguments::check(tool, Some(&raw), self.options.max_request_bytes);
        let judged = match &checked {
            Ok(value) => Some(self.judge_context(tool, who, value).await),
            Err(_) => None,
        };
        let setting =
            judged.as_ref().and_then(|judged| judged.as_ref().ok()).copied().unwrap_or(bound);
        let rules = pipeline::rules(tool, who, setting).and_then(|rule| {
            pipeline::hosts::named(&self.snapshot(), tool, who, setting, arguments)?;
            Ok(format!("rule {rule} allows it"))
        });
        vec![
            view(Stage::Arguments, &checked.map(|_| "they fit the schema".to_owned())),
            judged.map_or_else(
                || not_asked(Stage::Context),
                |judged| {
                    view(Stage::Context, &judged.map(|_| "the ids are the caller's".to_owned()))
                },
            ),
            view(Stage::Rules, &rules),
            rest,
        ]
    }

    /// Stage `limits`, as far as it can be foreseen.
    fn rest_of(&self, tool: &Tool) -> Result<String, Denial> {
        let Some(server) = &tool.server else { return Ok("it has no server".to_owned()) };
        self.rests(server).map_or(Ok("its server is not left alone".to_owned()), Err)
    }

    /// Stage `context`, with what must be looked up for it.
    pub(crate) async fn judge_context(
        &self,
        tool: &Tool,
        who: &Identity,
        arguments: &Value,
    ) -> Result<Setting, Denial> {
        let ids = context::ids(tool.scoped, arguments)?;
        let needed = context::needed(who, &ids);
        let facts = if needed.is_nothing() {
            context::Facts::default()
        } else {
            self.backend.facts(who, &needed).await.map_err(|fault| {
                tracing::warn!(
                    error = &fault as &dyn std::error::Error,
                    "ids of a call could not be looked up"
                );
                Denial::new(
                    Stage::Context,
                    ErrorKind::ServiceUnavailable,
                    "the ids cannot be looked up now",
                )
            })?
        };
        context::check(who, &ids, &facts)
    }
}

fn view(stage: Stage, verdict: &Result<String, Denial>) -> StageView {
    match verdict {
        Ok(reason) => StageView { stage, verdict: StageVerdict::Pass, reason: reason.clone() },
        Err(denial) => {
            StageView { stage, verdict: StageVerdict::Refuse, reason: denial.message.clone() }
        }
    }
}

fn not_asked(stage: Stage) -> StageView {
    StageView { stage, verdict: StageVerdict::Skipped, reason: "not asked".to_owned() }
}

/// The stages after `stage`, up to the limits.
fn rest_after(stage: Stage) -> impl Iterator<Item = Stage> {
    Stage::ALL.iter().copied().filter(move |later| *later > stage && *later <= Stage::Limits)
}
