//! The built-in tools: one file each, with name, schema, scope and handler.
//!
//! Start at [`all`]. A handler runs after the whole pipeline has passed: its arguments are valid,
//! and the ids in them belong to the caller. The operations check all further permissions.

mod apmas;
mod artifact;
mod db;
mod fault;
mod git;
pub(crate) mod handlers;
mod help;
mod knowledge;
mod memory;
mod node;
mod pm;
mod profile_access;
mod project_memory;
mod sandbox;
mod schema;
mod skills;
mod web;

use std::future::ready;
use std::sync::Arc;

use cynode_analysts::AnalystService;
use cynode_domain::name_or_id::NameOrId;
use cynode_domain::policy::{ErrorKind, Principal, ToolScope};
use cynode_execution::findings::FindingService;
use cynode_execution::tasks::ListedProfiles;
use cynode_execution::{ArtifactService, NodeService, TaskService};
use cynode_ops::capability_leases::CapabilityLeases;
use cynode_ops::memory::JobNotes;
use cynode_ops::sandboxes::Sandboxes;
use cynode_ops::schedules::Schedules;
use cynode_ops::{AgentMessages, AgentProfiles, WorkService};
use cynode_requests::RequestService;
use cynode_resources::Projects;
use cynode_resources::preferences::PreferenceService;
use cynode_resources::profiles::Profiles;
use cynode_resources::project_memory::ProjectMemory;
use cynode_resources::settings::InstallationSettings;
use cynode_resources::skills::Skills;
use cynode_resources::{Actor, ActorKind};
use cynode_resources::{tools::BuiltinTool, tools::McpToolDefinition};
use cynode_retrieval::Knowledge;
use cynode_runs::{RunOperations, RunQueries};
use cynode_wire::tool_calls::ToolCall;
use futures_util::future::BoxFuture;
use serde::Serialize;
use serde_json::{Map, Value, json};

pub(crate) use fault::ToolFault;

use crate::Identity;
use crate::pipeline::CallScope;
use crate::snapshot::PolicySnapshot;

/// The operations that built-in tools call.
#[derive(Clone)]
pub struct ToolServices {
    pub tasks: TaskService,
    /// `None` if this process accepts no requests.
    pub requests: Option<RequestService>,
    pub projects: Projects,
    pub profiles: Profiles,
    pub project_memory: ProjectMemory,
    pub knowledge: Knowledge,
    pub schedules: Schedules,
    pub artifacts: ArtifactService,
    pub nodes: NodeService,
    pub agent_profiles: AgentProfiles,
    pub sandboxes: Sandboxes,
    pub leases: CapabilityLeases,
    pub settings: InstallationSettings,
    pub preferences: PreferenceService,
    pub memory: JobNotes,
    pub skills: Skills,
    pub findings: FindingService,
    pub runs: RunQueries,
    pub steering: RunOperations,
    pub messages: AgentMessages,
    pub work: WorkService,
    /// Analysts that verify criteria in prose; `None` if there are none.
    pub analysts: Option<AnalystService>,
}

/// The context of a handler.
pub struct ToolContext {
    pub(crate) services: Arc<ToolServices>,
    pub(crate) identity: Arc<Identity>,
    /// The task and project that the call is about.
    pub(crate) call_scope: CallScope,
    /// For further decisions while the tool runs.
    pub(crate) snapshot: Arc<PolicySnapshot>,
}

impl ToolContext {
    fn requests(&self) -> Result<&RequestService, ToolFault> {
        let missing =
            || ToolFault::new(ErrorKind::NotImplemented, "requests are not accepted here");
        self.services.requests.as_ref().ok_or_else(missing)
    }

    /// The profiles whose work a list has. A token that is bound to no task is one of a default profile.
    fn listed_profiles(&self) -> ListedProfiles {
        match self.identity.agent {
            Principal::User => ListedProfiles::All,
            Principal::Agent(_) => ListedProfiles::Default,
        }
    }

    /// The user that the call is made for, and whether they make it themselves.
    fn calling_user(&self) -> Actor<'_> {
        let kind = match self.identity.agent {
            Principal::User => ActorKind::Person,
            Principal::Agent(_) => ActorKind::Agent,
        };
        Actor { caller: &self.identity.caller, kind }
    }
}

impl ToolContext {
    /// The profile of new work: for an agent its own, and it may name no other one; for a person the named one.
    async fn profile_for_work(&self, named: Option<String>) -> Result<Option<String>, ToolFault> {
        let (Principal::Agent(_), Some(own)) = (self.identity.agent, self.identity.profile_id)
        else {
            return Ok(named);
        };
        let project = match self.call_scope.project {
            Some(project) => project.into(),
            None => NameOrId::Name("default".to_owned()),
        };
        let named = named.map(NameOrId::from);
        let profiles = &self.services.profiles;
        // A token that is bound to no project works in the default profiles of others.
        let is_elsewhere = self.identity.project.is_none() && self.call_scope.project.is_some();
        if named.is_none() && is_elsewhere {
            return Ok(None);
        }
        let own_name = NameOrId::Id(own);
        let found = profiles.get(
            &self.identity.caller,
            &project,
            Some(named.as_ref().unwrap_or(&own_name)),
        );
        let found = found.await?;
        if found.id != own {
            let why = "an agent works in its own profile: leave the profile out";
            return Err(ToolFault::new(ErrorKind::Forbidden, why));
        }
        Ok((!found.is_default).then(|| own.to_string()))
    }
}

type ToolFuture = BoxFuture<'static, Result<Value, ToolFault>>;

/// Whether a call of a tool changes state.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ToolSideEffect {
    /// Access may still be logged.
    ReadOnly,
    Mutating,
}

/// A built-in tool.
pub struct BuiltinToolSpec {
    /// Its canonical name.
    pub name: &'static str,
    /// Its name for people.
    pub title: &'static str,
    /// For models.
    pub description: &'static str,
    /// Where it may be called from.
    pub scope: ToolScope,
    pub side_effect: ToolSideEffect,
    /// The JSON Schema of its arguments, derived from their type.
    pub input: fn() -> Value,
    /// The JSON Schema of its results.
    pub output: fn() -> Value,
    pub(crate) run: fn(ToolContext, Value) -> ToolFuture,
}

impl BuiltinToolSpec {
    /// The tool as it is stored in the registry.
    pub fn to_registry_tool(&self) -> BuiltinTool {
        let hints = json!({ "readOnlyHint": self.side_effect == ToolSideEffect::ReadOnly });
        BuiltinTool {
            name: self.name.to_owned(),
            scope: self.scope,
            definition: McpToolDefinition {
                title: Some(self.title.to_owned()),
                description: self.description.to_owned(),
                input_schema: (self.input)(),
                output_schema: Some((self.output)()),
                other: Map::from_iter([("annotations".to_owned(), hints)]),
            },
        }
    }
}

pub fn all() -> Vec<BuiltinToolSpec> {
    let mut tools = vec![help::get::TOOL];
    tools.extend(apmas::all());
    tools.extend(artifact::all());
    tools.extend(db::all());
    tools.extend(git::all());
    tools.extend(handlers::all());
    tools.extend(knowledge::all());
    tools.extend(memory::all());
    tools.extend(node::all());
    tools.extend(pm::all());
    tools.extend(project_memory::all());
    tools.extend(sandbox::all());
    tools.extend(skills::all());
    tools.extend(web::all());
    tools
}

/// The description and schemas of every built-in tool by name, as `docs/reference/tool-schemas.json`
/// publishes them.
pub fn schemas() -> Value {
    let schema = |tool: &BuiltinToolSpec| {
        let schemas = json!({
            "description": tool.description, "inputSchema": (tool.input)(), "outputSchema": (tool.output)(),
        });
        (tool.name.to_owned(), schemas)
    };
    Value::Object(all().iter().map(schema).collect())
}

/// Deserialises the arguments and calls the handler.
fn dispatch<C, F>(
    handler: fn(ToolContext, C) -> F,
    context: ToolContext,
    arguments: Value,
) -> ToolFuture
where
    C: ToolCall + Send,
    F: Future<Output = Result<Value, ToolFault>> + Send + 'static,
{
    match parse_arguments(arguments) {
        Ok(call) => Box::pin(handler(context, call)),
        Err(fault) => Box::pin(ready(Err(fault))),
    }
}

/// Deserialises arguments. They are valid against the schema, which is derived from the same type;
/// what the schema cannot express is rejected here.
fn parse_arguments<C: ToolCall>(arguments: Value) -> Result<C, ToolFault> {
    serde_json::from_value(arguments).map_err(|error| ToolFault::invalid(error.to_string()))
}

/// Serialises a result.
fn to_json(result: impl Serialize) -> Result<Value, ToolFault> {
    serde_json::to_value(result).map_err(|error| ToolFault::internal(&error))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use cynode_domain::policy::{Principal, allowlist};
    use cynode_schema::CompiledSchema;

    use super::*;

    #[test]
    fn every_built_in_tool_has_its_own_name_and_schemas_that_compile() {
        let names: BTreeSet<_> = all().iter().map(|tool| tool.name).collect();

        assert_eq!(names.len(), all().len());
        for tool in all() {
            for schema in [(tool.input)(), (tool.output)()] {
                assert_eq!(schema["type"], "object", "{}", tool.name);
                CompiledSchema::compile(&schema)
                    .unwrap_or_else(|fault| panic!("{}: {fault}", tool.name));
            }
        }
    }

    /// Every schema inside `schema`, itself included.
    fn subschemas<'a>(schema: &'a Value, all: &mut Vec<&'a Value>) {
        all.push(schema);
        if let Some(properties) = schema["properties"].as_object() {
            properties.values().for_each(|inner| subschemas(inner, all));
        }
        if schema["items"].is_object() {
            subschemas(&schema["items"], all);
        }
    }

    #[test]
    fn argument_schemas_are_closed_and_in_the_form_that_models_read() {
        for tool in all() {
            let schema = (tool.input)();
            let mut parts = vec![];
            subschemas(&schema, &mut parts);

            assert_eq!(schema["additionalProperties"], false, "{}", tool.name);
            for part in parts {
                for noise in ["$ref", "$defs", "$schema", "anyOf", "allOf", "title", "default"] {
                    assert_eq!(part.get(noise), None, "{}: {part}", tool.name);
                }
                assert!(part.get("format").is_none_or(|it| it == "uuid"), "{}: {part}", tool.name);
                let allows_null =
                    part.get("type").is_some_and(|it| it.to_string().contains("null"));
                assert!(!allows_null, "{}: {part}", tool.name);
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

    /// Tools that are about no single task. A new tool without `task_id` must be added here, with a
    /// reason.
    const WITHOUT_TASK: &[&str] = &[
        // Their scope is given by scope_type and scope_id.
        "db.preference.create",
        "db.preference.delete",
        "db.preference.get",
        "db.preference.list",
        "db.preference.update",
        // Projects, schedules, settings and nodes belong to no task.
        "db.profile.get",
        "db.profile.list",
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
        "db.agent_profile.list",
        // Before there is a task.
        "git.repo.validate",
        // Functions of their arguments alone.
        "cuga.modular.tools.date.add",
        "cuga.modular.tools.date.between",
        "cuga.modular.tools.json.extract",
        "cuga.modular.tools.math.evaluate",
        "cuga.modular.tools.table.from_csv",
        "cuga.modular.tools.text.diff",
        "cuga.modular.tools.text.statistics",
        "cuga.modular.tools.web.json",
        // Before there is a task, and over all of them.
        "db.request.create",
        "db.request.list",
        "db.task.create",
        "db.task.list",
        // A trace may have several tasks, and that of a conversation has none.
        "db.trace.get",
        "node.get",
        "node.list",
        // What a project knows outlives its tasks.
        "knowledge.delete",
        "knowledge.fetch",
        "knowledge.ingest",
        "knowledge.list",
        "knowledge.search",
        "project_memory.add",
        "project_memory.delete",
        "project_memory.get",
        "project_memory.list",
        "project_memory.search",
        "sandbox.allowed_images.add",
        "sandbox.allowed_images.list",
    ];

    /// Tools that another id binds to a task, or that also work without a task.
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

    const JOB_IS_REQUIRED: &[&str] = &[
        "db.job.get",
        "db.job.update_status",
        "memory.add",
        "memory.delete",
        "memory.list",
        "memory.retrieve",
        "node.lease.create",
        "pm.analyst.request",
        "sandbox.destroy",
        "sandbox.exec",
        "sandbox.get_file",
        "sandbox.put_file",
        "sandbox.stream_logs",
    ];

    /// Tools whose argument schema has `id` (`None`: not at all, `Some`: whether it is required).
    fn tools_by_id(id: &str, wanted: Option<bool>) -> BTreeSet<&'static str> {
        let takes = |tool: &BuiltinToolSpec| {
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
        // Every other tool requires task_id.
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
                let side_effect = match tool.side_effect {
                    ToolSideEffect::ReadOnly => "read-only",
                    ToolSideEffect::Mutating => "mutating",
                };
                vec![format!("`{}`", tool.name), tool.scope.to_string(), side_effect.to_owned()]
            })
            .collect();
        assert_eq!(told, real);
        for row in rows("\n## Built in\n") {
            let is_it = |tool: &BuiltinToolSpec| format!("`{}`", tool.name) == row[1];
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
