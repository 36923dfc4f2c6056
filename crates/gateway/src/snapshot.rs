//! The policy snapshot: immutable, rebuilt on each registry change and swapped in whole.
//!
//! Start at [`PolicySnapshot::build`], which takes plain data ([`RegistryData`]). Schemas are compiled and rules
//! are assigned to their tools here, once, so that a call neither compiles nor searches.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use chrono::{DateTime, Utc};
use cynode_domain::ids::{ProfileId, ServerId, UserId};
use cynode_domain::policy::rules::{AccessRule, AccessedServer, INVOKE, TOOL};
use cynode_domain::policy::{ToolScope, allowlist};
use cynode_resources::profiles::NarrowingProfile;
use cynode_schema::{CompiledSchema, SchemaError};
use serde_json::Value;

use cynode_upstream::mirrored_headers;
use cynode_upstream::mirrored_headers::MirroredArgument;
use cynode_upstream::rpc;

/// The stored registry.
#[derive(Debug, Clone, Default)]
pub struct RegistryData {
    /// Grows with every change.
    pub revision: i64,
    pub tools: Vec<ToolRow>,
    pub servers: Vec<ServerRow>,
    pub rules: Vec<AccessRule>,
    pub settings: BTreeMap<String, Value>,
    /// The profiles that narrow something.
    pub profiles: Vec<NarrowingProfile>,
}

/// A stored tool.
#[derive(Debug, Clone)]
pub struct ToolRow {
    /// Its canonical name: `db.task.get`, or `<server>.<tool>`.
    pub name: String,
    /// `None` for built-in tools.
    pub server: Option<ServerId>,
    /// Where it may be called from.
    pub scope: ToolScope,
    pub is_enabled: bool,
    /// Whether its definition changed since an administrator approved it.
    pub needs_review: bool,
    /// The definition as clients see it, without the name: title, description, schemas,
    /// annotations.
    pub definition: Value,
}

/// A stored server.
#[derive(Debug, Clone)]
pub struct ServerRow {
    pub id: ServerId,
    /// Its name in `<server>.<tool>`; unique for each owner, and among the servers of the system.
    pub slug: String,
    pub owner: UserId,
    /// Whether an administrator installed it for every user.
    pub is_system: bool,
    pub is_enabled: bool,
    pub updated_at: DateTime<Utc>,
}

/// A tool, compiled for decisions.
#[derive(Debug)]
pub struct PolicyTool {
    /// Its canonical name.
    pub name: String,
    /// `None` for built-in tools.
    pub server: Option<Arc<PolicyServer>>,
    /// Where it may be called from.
    pub scope: ToolScope,
    pub is_enabled: bool,
    /// Whether its definition changed since an administrator approved it.
    pub needs_review: bool,
    /// The setting that must be `true` for it to work.
    pub setting: Option<&'static str>,
    /// The scoped ids in its arguments.
    pub scoped: ScopedIds,
    /// The rules that match it.
    pub(crate) rules: Vec<Arc<AccessRule>>,
    /// Validates its arguments; an error if its schema is invalid.
    pub(crate) input: Result<CompiledSchema, SchemaError>,
    /// Validates its structured results.
    pub(crate) output: Option<Result<CompiledSchema, SchemaError>>,
    /// The arguments that are mirrored in headers, in the revision that has such headers.
    pub(crate) mirrored: Vec<MirroredArgument>,
    /// Its entry in a list at `/mcp`.
    pub(crate) listed: String,
    /// Its entry in a list at `/mcp/<server>`.
    pub(crate) listed_bare: String,
}

/// Which scoped ids a tool's arguments may hold. Tools of installed servers have none: their
/// `task_id` is unrelated.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "five kinds of ids, each there or not")]
pub struct ScopedIds {
    pub task: bool,
    pub job: bool,
    pub run: bool,
    pub project: bool,
    /// `scope_id`, of the kind in `scope_type`.
    pub scope: bool,
}

/// An installed server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PolicyServer {
    pub id: ServerId,
    pub slug: String,
    pub owner: UserId,
    pub is_system: bool,
    pub is_enabled: bool,
    pub updated_at: DateTime<Utc>,
}

impl PolicyServer {
    /// The server in an access request.
    pub fn accessed(&self) -> AccessedServer {
        AccessedServer { id: self.id, owner: self.owner, is_system: self.is_system }
    }
}

impl PolicyTool {
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

/// The immutable policy snapshot.
#[derive(Debug, Default)]
pub struct PolicySnapshot {
    /// The revision of the registry it was built from.
    pub revision: i64,
    builtins: HashMap<String, Arc<PolicyTool>>,
    tools: HashMap<ServerId, BTreeMap<String, Arc<PolicyTool>>>,
    /// Sorted by name, for lists.
    ordered: Vec<Arc<PolicyTool>>,
    servers: HashMap<ServerId, Arc<PolicyServer>>,
    /// The servers of each name, oldest first.
    names: HashMap<String, Vec<Arc<PolicyServer>>>,
    settings: BTreeMap<String, Value>,
    profiles: HashMap<ProfileId, NarrowingProfile>,
    rules: Vec<Arc<AccessRule>>,
    /// Whether any tool has mirrored arguments.
    pub(crate) has_mirrored: bool,
}

impl PolicySnapshot {
    /// Compiles `world`. A tool with an invalid schema stays, and every call of it is denied.
    pub fn build(world: RegistryData) -> Self {
        let rules: Vec<_> = world.rules.into_iter().map(Arc::new).collect();
        let servers: HashMap<_, _> = world.servers.into_iter().map(build_server).collect();
        let mut names: HashMap<_, Vec<Arc<PolicyServer>>> = HashMap::new();
        for server in servers.values() {
            names.entry(server.slug.clone()).or_default().push(Arc::clone(server));
        }
        for named in names.values_mut() {
            named.sort_by_key(|server| server.id);
        }
        let mut ordered: Vec<_> = world
            .tools
            .into_iter()
            // Tools of a removed server are skipped.
            .filter(|row| row.server.is_none_or(|id| servers.contains_key(&id)))
            .map(|row| Arc::new(build_tool(row, &servers, &rules)))
            .collect();
        ordered.sort_by(|one, other| one.name.cmp(&other.name));
        let (mut builtins, mut tools) = (HashMap::new(), HashMap::<_, BTreeMap<_, _>>::new());
        for tool in &ordered {
            let (name, tool) = (tool.name.clone(), Arc::clone(tool));
            match &tool.server {
                None => drop(builtins.insert(name, tool)),
                Some(server) => drop(tools.entry(server.id).or_default().insert(name, tool)),
            }
        }
        let has_mirrored = ordered.iter().any(|tool| !tool.mirrored.is_empty());
        let (revision, settings) = (world.revision, world.settings);
        let profiles = world.profiles.into_iter().map(|profile| (profile.id, profile)).collect();
        Self {
            revision,
            builtins,
            tools,
            ordered,
            servers,
            names,
            settings,
            profiles,
            rules,
            has_mirrored,
        }
    }

    /// The built-in tool with this name.
    pub fn builtin(&self, name: &str) -> Option<&Arc<PolicyTool>> {
        self.builtins.get(name)
    }

    /// The tool of a server with this canonical name.
    pub fn tool_of(&self, server: ServerId, name: &str) -> Option<&Arc<PolicyTool>> {
        self.tools.get(&server)?.get(name)
    }

    /// The tools after `after`, sorted by name.
    pub(crate) fn tools_after(&self, after: Option<&str>) -> &[Arc<PolicyTool>] {
        let start = match after {
            Some(after) => self.ordered.partition_point(|tool| tool.name.as_str() <= after),
            None => 0,
        };
        self.ordered.get(start..).unwrap_or_default()
    }

    pub fn server(&self, id: ServerId) -> Option<&Arc<PolicyServer>> {
        self.servers.get(&id)
    }

    /// The servers with this name, of every owner, oldest first.
    pub(crate) fn servers_named(&self, slug: &str) -> &[Arc<PolicyServer>] {
        self.names.get(slug).map_or(&[], Vec::as_slice)
    }

    pub(crate) fn servers(&self) -> impl Iterator<Item = &Arc<PolicyServer>> {
        self.servers.values()
    }

    pub(crate) fn tools_of(&self, server: ServerId) -> impl Iterator<Item = &Arc<PolicyTool>> {
        self.tools.get(&server).into_iter().flat_map(BTreeMap::values)
    }

    /// Whether a setting is `true`. Absent is not.
    pub fn is_setting_on(&self, setting: &str) -> bool {
        self.settings.get(setting) == Some(&Value::Bool(true))
    }

    pub fn setting(&self, key: &str) -> Option<&Value> {
        self.settings.get(key)
    }

    /// The profile, if it narrows something.
    pub(crate) fn profile(&self, id: ProfileId) -> Option<&NarrowingProfile> {
        self.profiles.get(&id)
    }

    pub(crate) fn rules(&self) -> &[Arc<AccessRule>] {
        &self.rules
    }
}

fn build_server(row: ServerRow) -> (ServerId, Arc<PolicyServer>) {
    let server = PolicyServer {
        id: row.id,
        slug: row.slug,
        owner: row.owner,
        is_system: row.is_system,
        is_enabled: row.is_enabled,
        updated_at: row.updated_at,
    };
    (row.id, Arc::new(server))
}

fn build_tool(
    row: ToolRow,
    servers: &HashMap<ServerId, Arc<PolicyServer>>,
    rules: &[Arc<AccessRule>],
) -> PolicyTool {
    let server = row.server.and_then(|id| servers.get(&id)).cloned();
    let schema = row.definition.get("inputSchema").cloned().unwrap_or(Value::Bool(false));
    let is_about = |rule: &&Arc<AccessRule>| {
        rule.server.is_none_or(|named| row.server == Some(named))
            && rule.action.matches(INVOKE)
            && rule.resource_type.matches(TOOL)
            && rule.resource.matches(&row.name)
    };
    let mut tool = PolicyTool {
        setting: if server.is_none() { allowlist::guarding_setting(&row.name) } else { None },
        scoped: if server.is_none() { scoped_ids(&schema) } else { ScopedIds::default() },
        rules: rules.iter().filter(is_about).cloned().collect(),
        input: compile(&schema),
        output: row.definition.get("outputSchema").map(compile),
        // Discovery skips tools with invalid annotations.
        mirrored: mirrored_headers::parse_mirrored_arguments(&schema).unwrap_or_default(),
        listed: render_list_entry(&row.name, &row.definition),
        listed_bare: String::new(),
        name: row.name,
        server,
        scope: row.scope,
        is_enabled: row.is_enabled,
        needs_review: row.needs_review,
    };
    tool.listed_bare = render_list_entry(tool.bare_name(), &row.definition);
    tool
}

/// Compiles a schema. References to other documents are not resolved: there is no network access.
fn compile(schema: &Value) -> Result<CompiledSchema, SchemaError> {
    CompiledSchema::compile(schema)
}

fn scoped_ids(schema: &Value) -> ScopedIds {
    let has = |name: &str| schema.pointer("/properties").is_some_and(|all| all.get(name).is_some());
    ScopedIds {
        task: has("task_id"),
        job: has("job_id"),
        run: has("run_id"),
        project: has("project_id"),
        scope: has("scope_type") && has("scope_id"),
    }
}

fn render_list_entry(name: &str, definition: &Value) -> String {
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
            owner: UserId::generate(),
            is_system: false,
            is_enabled: true,
            updated_at: DateTime::UNIX_EPOCH,
        }];
        let tools =
            vec![row("files.read.all", Some(id), &json!({ "properties": { "task_id": {} } }))];

        let snapshot =
            PolicySnapshot::build(RegistryData { tools, servers, ..RegistryData::default() });

        let tool = snapshot.tool_of(id, "files.read.all").unwrap();
        assert_eq!(tool.bare_name(), "read.all");
        assert!(tool.listed.contains(r#""name":"files.read.all""#));
        assert!(tool.listed_bare.contains(r#""name":"read.all""#));
        assert_eq!(tool.scoped, ScopedIds::default(), "a server's task_id is its own");
    }

    #[test]
    fn a_tool_of_a_server_that_is_gone_is_gone() {
        let id = ServerId::generate();
        let tools = vec![row("files.read", Some(id), &json!({}))];

        assert!(
            PolicySnapshot::build(RegistryData { tools, ..RegistryData::default() })
                .tool_of(id, "files.read")
                .is_none()
        );
    }

    #[test]
    fn a_schema_that_refers_to_the_network_compiles_to_a_refusal() {
        let schema = json!({ "$ref": "https://example.com/schema.json" });

        let snapshot = PolicySnapshot::build(RegistryData {
            tools: vec![row("a", None, &schema)],
            ..RegistryData::default()
        });

        assert!(snapshot.builtin("a").unwrap().input.is_err());
    }

    #[test]
    fn ids_in_the_schema_of_a_built_in_tool_are_scoped() {
        let schema = json!({ "properties": { "task_id": {}, "job_id": {} } });

        let snapshot = PolicySnapshot::build(RegistryData {
            tools: vec![row("a", None, &schema)],
            ..RegistryData::default()
        });

        let expected = ScopedIds { task: true, job: true, ..ScopedIds::default() };
        assert_eq!(snapshot.builtin("a").unwrap().scoped, expected);
    }
}
