//! Everything a decision needs, immutable: built when something changes, then swapped in whole.
//!
//! Start at [`Snapshot::build`], which takes plain data ([`World`]). Schemas are compiled and rules
//! are sorted to their tools here, once, so that a call neither compiles nor searches.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use chrono::{DateTime, Utc};
use cynode_domain::ids::ServerId;
use cynode_domain::policy::rules::{INVOKE, Rule, TOOL};
use cynode_domain::policy::{ToolScope, allowlist};
use jsonschema::Validator;
use serde_json::Value;

use crate::mirror::{self, Mirrored};
use crate::rpc;

/// The registry as it is stored.
#[derive(Debug, Clone, Default)]
pub struct World {
    /// Grows with every change.
    pub revision: i64,
    /// Every tool.
    pub tools: Vec<ToolRow>,
    /// Every installed server.
    pub servers: Vec<ServerRow>,
    /// Every access rule.
    pub rules: Vec<Rule>,
    /// Every setting.
    pub settings: BTreeMap<String, Value>,
}

/// A tool as it is stored.
#[derive(Debug, Clone)]
pub struct ToolRow {
    /// Its canonical name: `db.task.get`, or `<server>.<tool>`.
    pub name: String,
    /// The server it belongs to; none for built-in tools.
    pub server: Option<ServerId>,
    /// Where it may be called from.
    pub scope: ToolScope,
    /// Whether an administrator left it on.
    pub is_enabled: bool,
    /// Whether its definition changed since an administrator approved it.
    pub needs_review: bool,
    /// The definition as clients see it, without the name: title, description, schemas, annotations.
    pub definition: Value,
}

/// An installed server as it is stored.
#[derive(Debug, Clone)]
pub struct ServerRow {
    /// Its id.
    pub id: ServerId,
    /// Its name in `<server>.<tool>`.
    pub slug: String,
    /// Whether it is on.
    pub is_enabled: bool,
    /// When it last changed.
    pub updated_at: DateTime<Utc>,
}

/// A tool, ready to be decided on.
#[derive(Debug)]
pub struct Tool {
    /// Its canonical name.
    pub name: String,
    /// The server it belongs to; none for built-in tools.
    pub server: Option<Arc<Server>>,
    /// Where it may be called from.
    pub scope: ToolScope,
    /// Whether an administrator left it on.
    pub is_enabled: bool,
    /// Whether its definition changed since an administrator approved it.
    pub needs_review: bool,
    /// The setting that must be `true` for it to work.
    pub setting: Option<&'static str>,
    /// The ids in its arguments that belong to somebody.
    pub scoped: ScopedIds,
    /// The rules that are about it.
    pub(crate) rules: Vec<Arc<Rule>>,
    /// What its arguments must look like; an error if its schema is none.
    pub(crate) input: Result<Validator, String>,
    /// What its structured results must look like.
    pub(crate) output: Option<Result<Validator, String>>,
    /// The arguments that headers must repeat, in the revision that knows such headers.
    pub(crate) mirrored: Vec<Mirrored>,
    /// Its entry in a list at `/mcp`.
    pub(crate) listed: String,
    /// Its entry in a list at `/mcp/<server>`.
    pub(crate) listed_bare: String,
}

/// Which scoped ids a tool's arguments may hold. Tools of installed servers have none: what they
/// call `task_id` is not ours.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "five kinds of ids, each there or not")]
pub struct ScopedIds {
    /// `task_id`
    pub task: bool,
    /// `job_id`
    pub job: bool,
    /// `run_id`
    pub run: bool,
    /// `project_id`
    pub project: bool,
    /// `scope_id`, of the kind that `scope_type` says
    pub scope: bool,
}

/// An installed server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Server {
    /// Its id.
    pub id: ServerId,
    /// Its name.
    pub slug: String,
    /// Whether it is on.
    pub is_enabled: bool,
    /// When it last changed.
    pub updated_at: DateTime<Utc>,
}

impl Tool {
    /// Its name on its own server.
    pub fn bare_name(&self) -> &str {
        match &self.server {
            Some(server) => {
                self.name.strip_prefix(&format!("{}.", server.slug)).unwrap_or(&self.name)
            }
            None => &self.name,
        }
    }
}

/// Everything a decision needs.
#[derive(Debug, Default)]
pub struct Snapshot {
    /// The revision of the registry it was built from.
    pub revision: i64,
    tools: HashMap<String, Arc<Tool>>,
    /// By name, for lists.
    ordered: Vec<Arc<Tool>>,
    servers: HashMap<String, Arc<Server>>,
    settings: BTreeMap<String, Value>,
    rules: Vec<Arc<Rule>>,
    /// Whether headers must repeat arguments of any tool.
    pub(crate) has_mirrored: bool,
}

impl Snapshot {
    /// Compiles `world`. A tool whose schema cannot be compiled stays, and refuses every call.
    pub fn build(world: World) -> Self {
        let rules: Vec<_> = world.rules.into_iter().map(Arc::new).collect();
        let servers: HashMap<_, _> = world.servers.into_iter().map(server).collect();
        let by_id: HashMap<_, _> =
            servers.values().map(|server| (server.id, Arc::clone(server))).collect();
        let mut ordered: Vec<_> = world
            .tools
            .into_iter()
            // A tool of a server that is gone is gone.
            .filter(|row| row.server.is_none_or(|id| by_id.contains_key(&id)))
            .map(|row| Arc::new(tool(row, &by_id, &rules)))
            .collect();
        ordered.sort_by(|one, other| one.name.cmp(&other.name));
        let tools = ordered.iter().map(|tool| (tool.name.clone(), Arc::clone(tool))).collect();
        let has_mirrored = ordered.iter().any(|tool| !tool.mirrored.is_empty());
        let (revision, settings) = (world.revision, world.settings);
        Self { revision, tools, ordered, servers, settings, rules, has_mirrored }
    }

    /// The tool with this canonical name.
    pub fn tool(&self, name: &str) -> Option<&Arc<Tool>> {
        self.tools.get(name)
    }

    /// Every tool after `after`, by name.
    pub(crate) fn tools_after(&self, after: Option<&str>) -> &[Arc<Tool>] {
        let start = match after {
            Some(after) => self.ordered.partition_point(|tool| tool.name.as_str() <= after),
            None => 0,
        };
        self.ordered.get(start..).unwrap_or_default()
    }

    /// The server with this name.
    pub fn server(&self, slug: &str) -> Option<&Arc<Server>> {
        self.servers.get(slug)
    }

    /// Every server.
    pub(crate) fn servers(&self) -> impl Iterator<Item = &Arc<Server>> {
        self.servers.values()
    }

    /// The tools of a server.
    pub(crate) fn tools_of(&self, server: ServerId) -> impl Iterator<Item = &Arc<Tool>> {
        self.ordered
            .iter()
            .filter(move |tool| tool.server.as_ref().is_some_and(|own| own.id == server))
    }

    /// Whether a setting is `true`. Absent is not.
    pub fn is_on(&self, setting: &str) -> bool {
        self.settings.get(setting) == Some(&Value::Bool(true))
    }

    /// The value of a setting.
    pub fn setting(&self, key: &str) -> Option<&Value> {
        self.settings.get(key)
    }

    /// Every rule.
    pub(crate) fn rules(&self) -> &[Arc<Rule>] {
        &self.rules
    }
}

fn server(row: ServerRow) -> (String, Arc<Server>) {
    let server = Server {
        id: row.id,
        slug: row.slug.clone(),
        is_enabled: row.is_enabled,
        updated_at: row.updated_at,
    };
    (row.slug, Arc::new(server))
}

fn tool(row: ToolRow, servers: &HashMap<ServerId, Arc<Server>>, rules: &[Arc<Rule>]) -> Tool {
    let server = row.server.and_then(|id| servers.get(&id)).cloned();
    let schema = row.definition.get("inputSchema").cloned().unwrap_or(Value::Bool(false));
    let is_about = |rule: &&Arc<Rule>| {
        rule.action.matches(INVOKE)
            && rule.resource_type.matches(TOOL)
            && rule.resource.matches(&row.name)
    };
    let mut tool = Tool {
        setting: if server.is_none() { allowlist::setting_of(&row.name) } else { None },
        scoped: if server.is_none() { scoped(&schema) } else { ScopedIds::default() },
        rules: rules.iter().filter(is_about).cloned().collect(),
        input: compile(&schema),
        output: row.definition.get("outputSchema").map(compile),
        // Tools whose annotations cannot be used are not taken over from their servers.
        mirrored: mirror::declared(&schema).unwrap_or_default(),
        listed: listed(&row.name, &row.definition),
        listed_bare: String::new(),
        name: row.name,
        server,
        scope: row.scope,
        is_enabled: row.is_enabled,
        needs_review: row.needs_review,
    };
    tool.listed_bare = listed(tool.bare_name(), &row.definition);
    tool
}

/// Compiles a schema. References to other documents are not followed: nothing here has a network.
fn compile(schema: &Value) -> Result<Validator, String> {
    jsonschema::options().build(schema).map_err(|error| error.to_string())
}

fn scoped(schema: &Value) -> ScopedIds {
    let has = |name: &str| schema.pointer("/properties").is_some_and(|all| all.get(name).is_some());
    ScopedIds {
        task: has("task_id"),
        job: has("job_id"),
        run: has("run_id"),
        project: has("project_id"),
        scope: has("scope_type") && has("scope_id"),
    }
}

fn listed(name: &str, definition: &Value) -> String {
    let mut entry = definition.as_object().cloned().unwrap_or_default();
    entry.insert("name".to_owned(), name.into());
    rpc::raw(Value::Object(entry).to_string()).get().to_owned()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn row(name: &str, server: Option<ServerId>, schema: &Value) -> ToolRow {
        ToolRow {
            name: name.to_owned(),
            server,
            scope: ToolScope::Both,
            is_enabled: true,
            needs_review: false,
            definition: json!({ "description": "d", "inputSchema": schema }),
        }
    }

    #[test]
    fn a_tool_of_a_server_is_listed_with_and_without_its_prefix() {
        let id = ServerId::generate();
        let servers = vec![ServerRow {
            id,
            slug: "files".to_owned(),
            is_enabled: true,
            updated_at: DateTime::UNIX_EPOCH,
        }];
        let tools =
            vec![row("files.read.all", Some(id), &json!({ "properties": { "task_id": {} } }))];

        let snapshot = Snapshot::build(World { tools, servers, ..World::default() });

        let tool = snapshot.tool("files.read.all").unwrap();
        assert_eq!(tool.bare_name(), "read.all");
        assert!(tool.listed.contains(r#""name":"files.read.all""#));
        assert!(tool.listed_bare.contains(r#""name":"read.all""#));
        assert_eq!(tool.scoped, ScopedIds::default(), "a server's task_id is its own");
    }

    #[test]
    fn a_tool_of_a_server_that_is_gone_is_gone() {
        let tools = vec![row("files.read", Some(ServerId::generate()), &json!({}))];

        assert!(Snapshot::build(World { tools, ..World::default() }).tool("files.read").is_none());
    }

    #[test]
    fn a_schema_that_refers_to_the_network_compiles_to_a_refusal() {
        let schema = json!({ "$ref": "https://example.com/schema.json" });

        let snapshot =
            Snapshot::build(World { tools: vec![row("a", None, &schema)], ..World::default() });

        assert!(snapshot.tool("a").unwrap().input.is_err());
    }

    #[test]
    fn ids_in_the_schema_of_a_built_in_tool_are_scoped() {
        let schema = json!({ "properties": { "task_id": {}, "job_id": {} } });

        let snapshot =
            Snapshot::build(World { tools: vec![row("a", None, &schema)], ..World::default() });

        let expected = ScopedIds { task: true, job: true, ..ScopedIds::default() };
        assert_eq!(snapshot.tool("a").unwrap().scoped, expected);
    }
}
