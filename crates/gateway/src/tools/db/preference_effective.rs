//! `db.preference.effective`

use cynode_domain::policy::ToolScope;
use cynode_ops::preferences::Subject;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::tools::schema::{id, object, result};
use crate::tools::{Builtin, ToolContext, ToolEffect, ToolFault, read, show};

/// What holds.
pub(crate) const TOOL: Builtin = Builtin {
    name: "db.preference.effective",
    title: "Get the preferences that hold",
    description: "The preferences that hold for a task (or a project, or the user): of each key the value of the strongest scope, task over project over user over group over system. Entries that are not what they say they are come back as skipped.",
    scope: ToolScope::Pm,
    effect: ToolEffect::Looks,
    input,
    output,
    run: |context, arguments| Box::pin(run(context, arguments)),
};

fn input() -> Value {
    object(
        &[],
        json!({
            "task_id": id("task"),
            "project_id": id("project"),
            "include_sources": { "type": "boolean", "description": "Whether to say where each value comes from." },
        }),
    )
}

fn output() -> Value {
    result(&["effective", "skipped"])
}

#[derive(Deserialize)]
struct Arguments {
    include_sources: Option<bool>,
}

async fn run(context: ToolContext, arguments: Value) -> Result<Value, ToolFault> {
    let Arguments { include_sources } = read(arguments)?;
    // The context stage has judged the ids, and filled in those that the token is bound to.
    let subject = match (context.setting.task, context.setting.project) {
        (Some(task), _) => Subject::Task(task),
        (None, Some(project)) => Subject::Project(project),
        (None, None) => Subject::Caller,
    };
    let with_sources = include_sources.unwrap_or(false);
    let preferences = &context.services.preferences;
    show(preferences.effective(&context.who.caller, subject, with_sources).await?)
}
