//! The built-in tools: one file each, with name, schema, scope and handler.
//!
//! Start at [`all`]. A handler runs after the whole pipeline agreed: its arguments fit its schema,
//! and the ids in them belong to the caller. What it may do beyond that, the operations decide.

mod apmas;
mod artifact;
mod db;
mod fault;
mod help;
mod memory;
mod node;
mod pm;
mod sandbox;
mod schema;
mod skills;
mod web;

use std::sync::Arc;

use cynode_domain::ids::TaskId;
use cynode_domain::policy::{Principal, ToolScope};
use cynode_ops::analysts::Analysts;
use cynode_ops::findings::Findings;
use cynode_ops::memory::Memory;
use cynode_ops::preferences::Preferences;
use cynode_ops::runs::{Runs, Steering, Voice};
use cynode_ops::sandboxes::Sandboxes;
use cynode_ops::schedules::Schedules;
use cynode_ops::settings::Settings;
use cynode_ops::skills::Skills;
use cynode_ops::tools::{BuiltinTool, Definition};
use cynode_ops::{Artifacts, Caller, Messages, Nodes, Projects, Tasks, Work};
use futures_util::future::BoxFuture;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};

pub(crate) use fault::ToolFault;
pub(crate) use web::FETCH as WEB_FETCH;

use crate::Identity;
use crate::pipeline::Setting;
use crate::snapshot::Snapshot;

/// The operations that built-in tools call.
#[derive(Clone)]
pub struct Services {
    /// Tasks and jobs.
    pub tasks: Tasks,
    /// Projects.
    pub projects: Projects,
    /// Work that comes due by the clock.
    pub schedules: Schedules,
    /// Files of tasks.
    pub artifacts: Artifacts,
    /// Worker nodes.
    pub nodes: Nodes,
    /// Handles on workspaces of tasks.
    pub sandboxes: Sandboxes,
    /// Settings of the installation.
    pub settings: Settings,
    /// Wishes about how work is done.
    pub preferences: Preferences,
    /// What agents note while their job runs.
    pub memory: Memory,
    /// Texts that tell agents how to work.
    pub skills: Skills,
    /// What verifications found.
    pub findings: Findings,
    /// Runs, looked back at.
    pub runs: Runs,
    /// What is done to runs.
    pub steering: Steering,
    /// What agents and the project manager say.
    pub messages: Messages,
    /// Units of work.
    pub work: Work,
    /// Who verifies what no rule can; nobody without any.
    pub analysts: Option<Analysts>,
}

/// What a handler works with.
pub struct ToolContext {
    /// The operations.
    pub(crate) services: Arc<Services>,
    /// Who calls.
    pub(crate) who: Arc<Identity>,
    /// The task and project that the call is about.
    pub(crate) setting: Setting,
    /// What further decisions are made by while the tool works.
    pub(crate) snapshot: Arc<Snapshot>,
}

impl ToolContext {
    /// The task that the call is about.
    fn task(&self) -> Result<TaskId, ToolFault> {
        self.setting.task.ok_or_else(|| ToolFault::invalid("task_id is missing"))
    }

    /// For whom the call is made, and whether they make it themselves.
    fn speaker(&self) -> (&Caller, Voice) {
        let voice = match self.who.agent {
            Principal::User => Voice::Person,
            Principal::Agent(_) => Voice::Agent,
        };
        (&self.who.caller, voice)
    }
}

type Answered = BoxFuture<'static, Result<Value, ToolFault>>;

/// What a call of a tool does to what there is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ToolEffect {
    /// It only looks. That somebody looked may be noted; what was looked at stays as it is.
    Looks,
    /// It changes something, here or elsewhere.
    Changes,
}

/// A built-in tool.
pub struct Builtin {
    /// Its canonical name.
    pub name: &'static str,
    /// Its name for people.
    pub title: &'static str,
    /// What it does, for models.
    pub description: &'static str,
    /// Where it may be called from.
    pub scope: ToolScope,
    /// Whether it only looks.
    pub effect: ToolEffect,
    /// The JSON Schema of its arguments.
    pub input: fn() -> Value,
    /// The JSON Schema of its results.
    pub output: fn() -> Value,
    /// Does it.
    pub(crate) run: fn(ToolContext, Value) -> Answered,
}

impl Builtin {
    /// The tool as the registry knows it.
    pub fn registered(&self) -> BuiltinTool {
        let hints = json!({ "readOnlyHint": self.effect == ToolEffect::Looks });
        BuiltinTool {
            name: self.name.to_owned(),
            scope: self.scope,
            definition: Definition {
                title: Some(self.title.to_owned()),
                description: self.description.to_owned(),
                input_schema: (self.input)(),
                output_schema: Some((self.output)()),
                other: Map::from_iter([("annotations".to_owned(), hints)]),
            },
        }
    }
}

/// Every built-in tool.
pub fn all() -> Vec<Builtin> {
    let mut tools = vec![help::get::TOOL];
    tools.extend(apmas::all());
    tools.extend(artifact::all());
    tools.extend(db::all());
    tools.extend(memory::all());
    tools.extend(node::all());
    tools.extend(pm::all());
    tools.extend(sandbox::all());
    tools.extend(skills::all());
    tools.extend(web::all());
    tools
}

/// The schemas of every built-in tool by name, as `docs/reference/tool-schemas.json` publishes them.
pub fn schemas() -> Value {
    let schema = |tool: &Builtin| {
        let schemas = json!({ "inputSchema": (tool.input)(), "outputSchema": (tool.output)() });
        (tool.name.to_owned(), schemas)
    };
    Value::Object(all().iter().map(schema).collect())
}

/// Arguments as a handler wants them. They fit the schema; a schema that promises less than the
/// handler needs is a fault of ours, told as one of the caller's.
fn read<T: DeserializeOwned>(arguments: Value) -> Result<T, ToolFault> {
    serde_json::from_value(arguments).map_err(|error| ToolFault::invalid(error.to_string()))
}

/// Arguments without the ids that the context stage has read.
fn without_ids(mut arguments: Value) -> Value {
    if let Some(members) = arguments.as_object_mut() {
        members.remove("task_id");
        members.remove("project_id");
    }
    arguments
}

/// A result as callers get it.
fn show(result: impl Serialize) -> Result<Value, ToolFault> {
    serde_json::to_value(result).map_err(|error| ToolFault::internal(&error))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use cynode_domain::policy::{Principal, allowlist};

    use super::*;

    #[test]
    fn every_built_in_tool_has_its_own_name_and_schemas_that_compile() {
        let names: BTreeSet<_> = all().iter().map(|tool| tool.name).collect();

        assert_eq!(names.len(), all().len());
        for tool in all() {
            for schema in [(tool.input)(), (tool.output)()] {
                assert_eq!(schema["type"], "object", "{}", tool.name);
                jsonschema::validator_for(&schema)
                    .unwrap_or_else(|fault| panic!("{}: {fault}", tool.name));
            }
        }
    }

    #[test]
    fn the_published_schemas_are_those_of_the_tools() {
        let file = include_str!("../../../docs/reference/tool-schemas.json");
        let published: Value = serde_json::from_str(file).unwrap();
        let (published, real) = (published.as_object().unwrap(), schemas());

        let names: Vec<_> = published.keys().collect();
        assert_eq!(names, real.as_object().unwrap().keys().collect::<Vec<_>>());
        for (name, schema) in published {
            assert_eq!(*schema, real[name], "{name} has changed: run `cargo xtask openapi`");
        }
    }

    #[test]
    fn every_built_in_tool_can_be_reached_by_somebody() {
        for tool in all() {
            let reaches = |caller: &Principal| {
                tool.scope.admits(*caller) && allowlist::is_allowlisted(*caller, tool.name)
            };
            assert!(Principal::ALL.iter().any(reaches), "{}", tool.name);
        }
    }

    /// Tools that are about no single task. A new tool without `task_id` has to be added here, with a reason.
    const WITHOUT_TASK: &[&str] = &[
        // Their scope is named by scope_type and scope_id.
        "db.preference.create",
        "db.preference.delete",
        "db.preference.get",
        "db.preference.list",
        "db.preference.update",
        // Projects, schedules, settings and nodes belong to no task.
        "db.project.create",
        "db.project.get",
        "db.project.list",
        "db.schedule.create",
        "db.schedule.delete",
        "db.schedule.get",
        "db.schedule.list",
        "db.schedule.make_tasks",
        "db.schedule.runs",
        "db.schedule.update",
        "db.system_setting.create",
        "db.system_setting.delete",
        "db.system_setting.get",
        "db.system_setting.list",
        "db.system_setting.update",
        // Before there is a task, and over all of them.
        "db.task.create",
        "db.task.list",
        "node.get",
        "node.list",
        "sandbox.allowed_images.list",
    ];

    /// Tools that another id binds to a task, or that work without a task too.
    const TASK_IS_OPTIONAL: &[&str] = &[
        "db.job.get",
        "db.job.update_status",
        "db.message.list",
        "db.preference.effective",
        "db.run.answer",
        "db.run.get",
        "db.run.history",
        "help.get",
        "pm.analyst.request",
        "skills.create",
        "skills.delete",
        "skills.get",
        "skills.list",
        "skills.update",
    ];

    /// Tools that are about one job.
    const JOB_IS_REQUIRED: &[&str] = &[
        "db.job.get",
        "db.job.update_status",
        "memory.add",
        "memory.delete",
        "memory.list",
        "memory.retrieve",
        "pm.analyst.request",
        "sandbox.destroy",
        "sandbox.exec",
        "sandbox.get_file",
        "sandbox.put_file",
        "sandbox.stream_logs",
    ];

    /// Tools whose argument schema takes `id` (`None`: not at all, `Some`: whether it is required).
    fn tools_by_id(id: &str, wanted: Option<bool>) -> BTreeSet<&'static str> {
        let takes = |tool: &Builtin| {
            let schema = (tool.input)();
            let member = schema["properties"].get(id)?;
            assert_eq!(member["format"], "uuid", "{}: {id}", tool.name);
            Some(schema["required"].as_array().is_some_and(|names| names.contains(&id.into())))
        };
        all().iter().filter(|tool| takes(tool) == wanted).map(|tool| tool.name).collect()
    }

    fn set(names: &[&'static str]) -> BTreeSet<&'static str> {
        names.iter().copied().collect()
    }

    #[test]
    fn task_and_job_scoped_tools_have_their_id_in_their_schema() {
        // Every other tool requires task_id, whatever its name is.
        assert_eq!(tools_by_id("task_id", None), set(WITHOUT_TASK));
        assert_eq!(tools_by_id("task_id", Some(false)), set(TASK_IS_OPTIONAL));
        assert_eq!(tools_by_id("job_id", Some(true)), set(JOB_IS_REQUIRED));
        let of_a_task = tools_by_id("task_id", Some(true));
        for name in ["db.task.get", "db.task.result", "db.task.logs", "db.task.cancel"] {
            assert!(of_a_task.contains(name), "{name}");
        }
        assert!(of_a_task.contains("artifact.put"));
    }

    #[test]
    fn run_scoped_tools_have_their_run_in_their_schema() {
        for name in ["db.run.answer", "db.run.get", "db.run.history"] {
            let tool = all().into_iter().find(|tool| tool.name == name).unwrap();
            assert_eq!((tool.input)()["required"], serde_json::json!(["run_id"]), "{name}");
        }
    }

    /// The rows of a table of the reference, cell by cell.
    fn rows(heading: &str) -> Vec<Vec<String>> {
        let reference = include_str!("../../../docs/reference/tools.md");
        let (_, section) = reference.split_once(heading).unwrap();
        let section = section.split_once("\n## ").map_or(section, |(section, _)| section);
        let row = |line: &str| line.split('|').map(|cell| cell.trim().to_owned()).collect();
        section.lines().filter(|line| line.starts_with("| `")).map(row).collect()
    }

    #[test]
    fn the_reference_names_exactly_the_tools_that_there_are() {
        let told: BTreeSet<_> =
            rows("\n## Built in\n").into_iter().map(|row| row[1..4].to_vec()).collect();
        let real: BTreeSet<_> = all()
            .iter()
            .map(|tool| {
                let effect = format!("{:?}", tool.effect).to_lowercase();
                vec![format!("`{}`", tool.name), tool.scope.to_string(), effect]
            })
            .collect();
        assert_eq!(told, real);
        for row in rows("\n## Built in\n") {
            let is_it = |tool: &Builtin| format!("`{}`", tool.name) == row[1];
            let tool = all().into_iter().find(is_it).unwrap();
            assert!(tool.description.starts_with(&row[4]), "{}: {}", tool.name, tool.description);
        }
        for row in rows("\n## Planned\n") {
            for tool in all() {
                let name = format!("`{}`", tool.name);
                assert!(!row[1].contains(&name), "{name} is there: it is not planned");
            }
        }
    }
}
