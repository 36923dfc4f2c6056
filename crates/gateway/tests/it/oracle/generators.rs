//! Generators of random inputs.

use proptest::prelude::*;
use proptest::sample::select;
use serde_json::{Value, json};

use super::inputs::{DecisionInputs, DecisionRule, NAMES, SmallId};
use super::uuid;

fn small_id() -> impl Strategy<Value = Option<SmallId>> {
    prop_oneof![2 => Just(None), 2 => Just(Some(1_u128)), 1 => Just(Some(2_u128))]
}

/// Mostly true: inputs that are denied early compare little.
fn mostly_true() -> impl Strategy<Value = bool> {
    prop::bool::weighted(0.9)
}

fn decision_rule() -> impl Strategy<Value = DecisionRule> {
    let subject = prop_oneof![
        4 => Just(("system", 0)),
        1 => (1_u128..3).prop_map(|id| ("user", id)),
        1 => (1_u128..3).prop_map(|id| ("group", id)),
        1 => (1_u128..3).prop_map(|id| ("project", id)),
        1 => (1_u128..3).prop_map(|id| ("task", id)),
        1 => select(&["pm", "pa", "sandbox"][..]).prop_map(|agent| (agent, 0)),
    ];
    let pattern = select(
        &["*", "db.*", "db.task.get", "artifact.*", "files.*", "files.read", "sandbox.*"][..],
    );
    let only = prop_oneof![3 => Just(vec![]), 1 => Just(vec!["user", "pm"])];
    let action = prop_oneof![9 => Just("mcp.tool.invoke"), 1 => Just("web.fetch")];
    let kind = prop_oneof![9 => Just("mcp.tool"), 1 => Just("web.domain")];
    (subject, action, kind, pattern, prop::bool::weighted(0.8), -2_i64..3, only).prop_map(
        |(subject, action, kind, pattern, allows, priority, only)| DecisionRule {
            subject,
            action,
            kind,
            pattern,
            allows,
            priority,
            only,
        },
    )
}

fn id_argument() -> impl Strategy<Value = Option<Value>> {
    prop_oneof![
        6 => Just(None),
        6 => (1_u128..4).prop_map(|id| Some(uuid(id).to_string().into())),
        1 => Just(Some("nonsense".into())),
        1 => Just(Some(7.into())),
    ]
}

fn arguments() -> impl Strategy<Value = Vec<(&'static str, Value)>> {
    let text = prop_oneof![9 => Just(Some(json!("x"))), 1 => Just(Some(json!(7))), 1 => Just(None)];
    let extra = prop_oneof![19 => Just(None), 1 => Just(Some(json!(1)))];
    (text, extra, id_argument(), id_argument(), id_argument(), id_argument()).prop_map(
        |(text, extra, task, job, run, project)| {
            let all = [
                ("text", text),
                ("extra", extra),
                ("task_id", task),
                ("job_id", job),
                ("run_id", run),
                ("project_id", project),
            ];
            all.into_iter().filter_map(|(name, value)| value.map(|value| (name, value))).collect()
        },
    )
}

pub(super) fn decision_inputs() -> impl Strategy<Value = DecisionInputs> {
    let identity = (
        select(&["pm", "pa", "sandbox", "user"][..]),
        1_u128..3,
        small_id(),
        small_id(),
        small_id(),
        small_id(),
        small_id(),
    );
    let tool = (
        select(&NAMES[..]),
        select(&NAMES[..]),
        mostly_true(),
        mostly_true(),
        mostly_true(),
        mostly_true(),
    );
    let scope = prop_oneof![3 => Just("both"), 1 => Just("pm"), 1 => Just("sandbox")];
    let setting = prop_oneof![
        Just(None),
        Just(Some(json!(true))),
        Just(Some(json!(false))),
        Just(Some(json!("true")))
    ];
    let facts = (
        prop::collection::btree_map(1_u128..4, 1_u128..4, 0..4),
        prop::collection::btree_map(1_u128..4, 1_u128..4, 0..4),
        prop::collection::btree_map(1_u128..4, 1_u128..4, 0..4),
        prop::collection::vec(1_u128..4, 0..3),
    );
    let rest = (scope, setting, arguments(), facts, prop::collection::vec(decision_rule(), 0..5));
    (identity, tool, rest).prop_map(|(identity, tool, rest)| {
        let (caller, user, group, bound_task, bound_job, bound_run, bound_project) = identity;
        let (name, other, is_asked, enabled, is_unchanged, server_enabled) = tool;
        let (scope, setting, arguments, (tasks, jobs, runs, projects), rules) = rest;
        DecisionInputs {
            caller,
            user,
            group,
            bound_task,
            bound_job,
            bound_run,
            bound_project,
            request: if is_asked { name } else { other },
            tool: name,
            enabled,
            changed: !is_unchanged,
            scope,
            server_enabled,
            setting,
            arguments,
            tasks,
            jobs,
            runs,
            projects,
            rules,
        }
    })
}
