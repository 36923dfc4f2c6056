//! The tables whose rows can be quarantined: their keys, how to select a row by key, and how to decode it.

use crate::{
    Error, agent_checkpoints, agent_profiles, agent_tokens, artifacts, audit, capability_leases,
    changes, chat, chat_records, credentials, decisions, dependencies, events, findings, forges,
    groups, inferences, job_memory, jobs, join_tokens, knowledge_documents, leases, mcp_servers,
    mcp_tools, model_providers, nodes, notices, preferences, profiles, project_memory, projects,
    questions, report_claims, rules, run_control, run_overview, sandboxes, schedule_runs,
    schedules, sessions, settings, skills, task_agents, tasks, traces, unit_attempts, users,
    verdicts, work_requests, work_units, workflow,
};
use cynode_sql::Param;
use cynode_sql::Row;

/// A table whose rows are decoded one by one.
pub(crate) struct DecodedTable {
    pub(crate) name: &'static str,
    /// The key columns, as named in results. Only the last may be text.
    key: &'static [KeyColumn],
    /// The select clause where `SELECT *` lacks decoded columns, and the prefix of its key columns.
    selected: Option<(&'static str, &'static str)>,
    /// Fails if a row cannot be decoded.
    pub(crate) check: fn(&Row) -> Result<(), Error>,
}

/// A key column.
#[derive(Clone, Copy)]
enum KeyColumn {
    Uuid(&'static str),
    Text(&'static str),
    Int(&'static str),
}

impl DecodedTable {
    /// The key of a row, also if the key itself cannot be decoded.
    pub(crate) fn key_of(&self, row: &Row) -> String {
        let part = |key: &KeyColumn| match *key {
            KeyColumn::Uuid(name) => row.id_text(name),
            KeyColumn::Text(name) => row.get::<String>(name).unwrap_or_else(|_| "?".to_owned()),
            KeyColumn::Int(name) => {
                row.get::<i64>(name).map_or_else(|_| "?".to_owned(), |value| value.to_string())
            }
        };
        self.key.iter().map(part).collect::<Vec<_>>().join("/")
    }

    /// The statement that selects a row by the [`DecodedTable::params`] of its key.
    pub(crate) fn select(&self) -> String {
        let all = format!("SELECT * FROM {}", self.name);
        let (select, prefix) = self.selected.unwrap_or((&all, ""));
        let condition = |(index, key): (usize, &KeyColumn)| {
            let number = index + 1;
            match *key {
                // On SQLite an id is ordinary text.
                KeyColumn::Uuid(name) => format!(
                    "{prefix}{name} = /*pg CAST(CAST( */ ${number} /*pg AS text) AS uuid) */"
                ),
                KeyColumn::Text(name) | KeyColumn::Int(name) => {
                    format!("{prefix}{name} = ${number}")
                }
            }
        };
        let conditions: Vec<_> = self.key.iter().enumerate().map(condition).collect();
        format!("{select} WHERE {}", conditions.join(" AND "))
    }

    /// The parameters of [`DecodedTable::select`] for a key.
    pub(crate) fn params(&self, key: &str) -> Vec<Param> {
        let parts = key.splitn(self.key.len(), '/');
        let param = |(key, part): (&KeyColumn, &str)| match key {
            KeyColumn::Uuid(_) | KeyColumn::Text(_) => Param::from(part),
            KeyColumn::Int(_) => Param::from(part.parse::<i64>().unwrap_or(-1)),
        };
        self.key.iter().zip(parts).map(param).collect()
    }
}

pub(super) fn find_table(name: &str) -> Option<&'static DecodedTable> {
    TABLES.iter().copied().find(|table| table.name == name)
}

macro_rules! tables {
    ($($table:ident = $name:literal [$($kind:ident $column:literal),+]
       $(from $select:expr, $prefix:literal)? => $decode:expr;)+) => {
        $(
            pub(crate) static $table: DecodedTable = DecodedTable {
                name: $name,
                key: &[$(KeyColumn::$kind($column)),+],
                selected: tables!(@selected $($select, $prefix)?),
                check: |row| $decode(row).map(drop),
            };
        )+

        static TABLES: &[&DecodedTable] = &[$(&$table),+];
    };
    (@selected) => { None };
    (@selected $select:expr, $prefix:literal) => { Some(($select, $prefix)) };
}

tables! {
    ACCESS_CHANGES = "access_control_audit_log" [Uuid "id"] => changes::access_change;
    AGENT_CHECKPOINTS = "agent_checkpoints" [Uuid "id"] => agent_checkpoints::checkpoint;
    AGENT_MESSAGES = "agent_messages" [Uuid "id"] => report_claims::claimed;
    AGENT_CANARIES = "agent_canaries" [Uuid "profile_id", Int "revision", Uuid "node_id"]
        from agent_profiles::CANARY, "c." => agent_profiles::canary;
    AGENT_PROFILES = "agent_profiles" [Uuid "id"] => agent_profiles::profile;
    AGENT_TOKENS = "agent_tokens" [Uuid "id"] => agent_tokens::token;
    API_TOKENS = "api_tokens" [Uuid "id"] => sessions::token;
    ARTIFACTS = "task_artifacts" [Uuid "id"] => artifacts::artifact;
    AUDIT_CALLS = "mcp_tool_call_audit_log" [Uuid "id"] from audit::STORED_CALL, "c."
        => audit::stored_call;
    AUTH_EVENTS = "auth_audit_log" [Uuid "id"] => users::auth_event;
    CHAT_MESSAGES = "chat_messages" [Uuid "id"] => chat::message;
    CHAT_RECORDS = "chat_audit_log" [Uuid "id"] => chat_records::record;
    CAPABILITY_LEASES = "capability_leases" [Uuid "id"] => capability_leases::capability_lease;
    CHECKPOINTS = "workflow_checkpoints" [Uuid "task_id"] => workflow::position;
    CREDENTIALS = "api_credentials" [Uuid "id"] => credentials::credential;
    DECISIONS = "pm_decisions" [Uuid "id"] => decisions::decision;
    DEPENDENCIES = "task_dependencies" [Uuid "task_id", Uuid "depends_on_task_id"]
        => dependencies::dependency;
    EFFECTS = "workflow_effects" [Uuid "run_id", Text "key"] => workflow::effect;
    EGRESS_DECISIONS = "egress_audit" [Uuid "id"] => inferences::decision;
    EVENTS = "events" [Int "seq"] => events::event;
    FINDINGS = "verification_findings" [Uuid "id"] => findings::finding;
    FORGES = "project_forges" [Uuid "id"] => forges::forge;
    GROUPS = "user_groups" [Uuid "id"] => groups::group;
    HISTORY = "workflow_history" [Uuid "run_id", Int "sequence"] => workflow::transition;
    INFERENCES = "brain_calls" [Uuid "id"] => inferences::call;
    JOBS = "jobs" [Uuid "id"] => jobs::job;
    JOB_OUTPUTS = "job_outputs" [Uuid "job_id", Text "path"] from artifacts::OUTPUT, "o."
        => artifacts::output;
    JOB_MEMORY = "job_memory" [Uuid "job_id", Text "key"] => job_memory::note;
    KNOWLEDGE_DOCUMENTS = "knowledge_documents" [Uuid "id"] => knowledge_documents::document;
    JOIN_TOKENS = "node_join_tokens" [Uuid "id"] => join_tokens::join_token;
    LEASE_KEYS = "lease_keys" [Text "id"] => capability_leases::lease_key;
    LEASES = "task_workflow_leases" [Uuid "task_id"] from leases::LEASE, "" => leases::lease;
    MEMBERS = "user_group_members" [Uuid "group_id", Uuid "user_id"] => groups::membership;
    NODES = "nodes" [Uuid "id"] from nodes::NODE, "n." => nodes::node;
    NOTICE_CHANNELS = "notice_channels" [Uuid "id"] => notices::channel;
    NOTICE_DELIVERIES = "notice_deliveries" [Uuid "id"] => notices::delivery;
    PREFERENCES = "preference_entries" [Uuid "id"] => preferences::preference;
    PREFERENCE_CHANGES = "preference_audit_log" [Uuid "id"] => changes::preference_change;
    PROFILES = "profiles" [Uuid "id"] => profiles::profile;
    PROJECT_MEMORY = "project_memory" [Uuid "id"] => project_memory::entry;
    PROJECTS = "projects" [Uuid "id"] => projects::project;
    PROVIDERS = "model_providers" [Text "name"] => model_providers::provider;
    QUESTIONS = "run_questions" [Uuid "run_id", Text "key"] => questions::run_question;
    RULES = "access_control_rules" [Uuid "id"] => rules::stored_rule;
    RUNS = "runs" [Uuid "id"] from run_overview::RUN_OVERVIEW, "r." => run_overview::overview;
    RUN_ACTS = "run_acts" [Uuid "id"] => run_control::run_action;
    SANDBOXES = "sandboxes" [Uuid "id"] from sandboxes::SANDBOX, "s." => sandboxes::sandbox;
    SCHEDULES = "schedules" [Uuid "id"] => schedules::schedule;
    SCHEDULE_RUNS = "schedule_runs" [Uuid "id"] => schedule_runs::run;
    SERVERS = "mcp_servers" [Uuid "id"] => mcp_servers::server;
    SESSIONS = "refresh_sessions" [Uuid "id"] => sessions::session;
    SETTINGS = "system_settings" [Text "key"] => settings::setting;
    SETTING_CHANGES = "system_settings_audit_log" [Uuid "id"] => changes::setting_change;
    SKILLS = "skills" [Uuid "id"] => skills::skill;
    STEP_VERDICTS = "step_verdicts" [Uuid "run_id", Uuid "job_id"] => verdicts::step_verdict;
    TASKS = "tasks" [Uuid "id"] => tasks::task;
    TASK_AGENTS = "task_agents" [Uuid "id"] => task_agents::agent;
    THREADS = "chat_threads" [Uuid "id"] from chat::THREAD, "t." => chat::thread;
    TOOLS = "mcp_tools" [Uuid "id"] => mcp_tools::tool;
    TRACE_EVENTS = "trace_events" [Uuid "id"] => traces::trace_event;
    USERS = "users" [Uuid "id"] => users::user;
    UNIT_ATTEMPTS = "unit_attempts" [Uuid "task_id", Text "unit_id", Int "number"]
        from unit_attempts::ATTEMPT, "a." => unit_attempts::attempt;
    WORK_PLANS = "work_plans" [Uuid "task_id"] => work_units::plan;
    WORK_REQUESTS = "work_requests" [Uuid "task_id"] => work_requests::request;
    WORK_UNITS = "work_units" [Uuid "task_id", Text "unit_id"] => work_units::unit;
}
