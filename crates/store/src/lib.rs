//! The persistent state: SQLite in the data directory, or PostgreSQL.
//!
//! Start at [`Store`]: it opens a database and runs operations, each in one transaction, over a [`Tx`]. Each
//! resource has a file with its row types and the methods of [`Tx`] for them, in SQL for both engines;
//! `tests/it` runs every test against both.
//!
//! The store has no business rules: callers create ids. Leases are the exception: the store creates the id of
//! each grant, and takes all times from the database's clock, so that the clock of no process can extend or
//! shorten a lease.
//!
//! Invariant: all SQL of the product is in this crate, except the two statements of `cynode-sql` that listen and
//! notify.

mod agent_checkpoints;
mod agent_messages;
mod agent_profiles;
mod agent_tokens;
mod append_rows;
mod artifacts;
mod audit;
mod batch;
mod capability_leases;
mod changes;
mod chat;
mod chat_records;
mod credentials;
mod decisions;
mod dependencies;
mod events;
mod exec_retention;
mod findings;
mod forges;
mod groups;
mod inferences;
mod job_logs;
mod job_memory;
mod jobs;
mod join_tokens;
mod knowledge_documents;
mod knowledge_passages;
mod leases;
mod listed_profiles;
mod lookups;
mod mcp_servers;
mod mcp_tools;
mod migrate;
mod model_providers;
mod nodes;
mod notice_outbox;
mod notices;
mod operation;
mod placement;
mod postgres;
mod preferences;
mod profiles;
mod project_contexts;
mod project_memory;
mod projects;
mod quarantine;
mod questions;
mod report_claims;
mod request_lists;
mod rules;
mod run_control;
mod run_overview;
mod runs;
mod sandboxes;
mod schedule_due;
mod schedule_runs;
mod schedules;
mod sealed_values;
mod sessions;
mod settings;
mod skill_versions;
mod skills;
mod sqlite;
mod storage;
mod store;
mod task_agents;
mod tasks;
mod trace_scope;
mod traces;
mod tx;
mod unit_attempts;
mod users;
mod verdicts;
mod work_requests;
mod work_units;
mod workflow;

pub use cynode_audit::RecordSeal;
pub use cynode_audit::{AuditCall, AuditCaller, AuditOutcome, AuditRecord, CallRecord, ChainHead};
pub use cynode_audit::{AuditCursor, AuditFilter, LOG_CHAIN, LogSealing, StoredCall};
pub use cynode_audit::{AuditKeys, ChainPosition, ChainReport, ChainVerifier, KnownPosition};
pub use cynode_audit::{InvalidPosition, PositionSource, SignedClaim, SignedPosition};
pub use cynode_domain::event_cursor::{EventCursor, InvalidEventCursor};
pub use cynode_domain::server_transport::{ServerSecrets, ServerTransport};
pub use cynode_sql::{Error, NotificationChannel};

pub use agent_checkpoints::AgentCheckpoint;
pub use agent_messages::{AgentMessage, MessageFilter, MessageOrder, NewAgentMessage};
pub use agent_profiles::{AgentCanary, AgentProfile, ProfileAdmission};
pub use agent_tokens::{AgentToken, JobAgent, TokenBinding, TokenOrigin};
pub use append_rows::{AppendRows, Entry};
pub use artifacts::{Artifact, EarlierSteps, JobOutput};
pub use audit::edge::{ChainExtension, EdgeSealedRecord};
pub use audit::writer::{AuditWriter, NowFn};
pub use audit::{SealedRecord, SignedHead};
pub use batch::{BatchStatements, BatchWrite, ReturnedRow};
pub use capability_leases::{CapabilityLease, TrustedLeaseKey};
pub use changes::{AccessChangeFilter, ChangeRecord};
pub use chat::{DefaultProjectContext, Thread, ThreadMessage};
pub use chat_records::ChatRecord;
pub use credentials::Credential;
pub use decisions::{DecisionFilter, ManagerDecision};
pub use events::{EventFilter, EventPage, NewEvent, OutboxEvent};
pub use exec_retention::KeepExecs;
pub use findings::{FindingAuthorship, FindingSubject, StoredFinding};
pub use forges::ProjectForge;
pub use groups::{Group, GroupMember, NewGroupMember};
pub use inferences::{
    EgressDecision, InferenceCall, InferenceFilter, InferenceSums, SpendingLimits,
};
pub use job_memory::{JobNote, JobNoteTotals};
pub use jobs::{Job, NewJob, WaitingUser};
pub use join_tokens::JoinToken;
pub use knowledge_documents::{
    DocumentSelection, KnowledgeDocument, KnowledgeSource, KnowledgeTotals,
};
pub use knowledge_passages::{KnowledgePassage, NewPassage, TermChange};
pub use leases::{Lease, LeaseWait, StaleLease};
pub use listed_profiles::ListedProfiles;
pub use lookups::{Dependency, NewestRun, NodeSummary};
pub use mcp_servers::McpServer;
pub use mcp_tools::{McpToolDefinition, StoredTool};
pub use model_providers::ModelProvider;
pub use nodes::{Node, NodeProcessRow};
pub use notices::{
    ChannelHealth, DeliveryFilter, NoticeChannel, NoticeClaim, NoticeDelivery, RetryDelays,
};
pub use preferences::{Preference, PreferenceChange};
pub use profiles::{NarrowingProfile, Profile, ProfileContents};
pub use project_contexts::MAX_PROJECT_CONTEXTS;
pub use project_memory::MemoryEntry;
pub use projects::Project;
pub use quarantine::QuarantinedRow;
pub use questions::{NewRunQuestion, RunQuestion};
pub use report_claims::{AttemptStarted, ClaimedReport, ReportClaim};
pub use request_lists::{RequestFilter, RequestOverview};
pub use rules::{AccessChange, StoredRule};
pub use run_control::{BranchSeed, RunAction, RunBranch};
pub use run_overview::{LeaseHolder, RunFilter, RunOverview, RunPosition, RunTaskSummary};
pub use runs::{RunRecord, TransitionSummary};
pub use sandboxes::{ExecCounts, Sandbox};
pub use schedule_due::{DueSchedule, ScheduleWait};
pub use schedule_runs::{NewScheduleRun, ReleaseReason, ScheduleClaim, ScheduleRun, ScheduledTask};
pub use schedules::Schedule;
pub use sealed_values::SealedValue;
pub use sessions::{ApiToken, Session};
pub use settings::{Setting, SettingChange};
pub use skill_versions::{SkillScan, SkillVersion};
pub use skills::{Skill, SkillFilter};
pub use storage::{DeletedFiles, ProjectStorage, counted_bytes};
pub use store::{DatabaseEngine, Store};
pub use task_agents::TaskAgent;
pub use tasks::{NewTask, Task, TaskFilter, TaskParent, TaskScope};
pub use trace_scope::TraceProfile;
pub use traces::{
    TraceCounts, TraceEventRow, TraceFilter, TraceJob, TraceListFilter, TraceRun, TraceTask,
    TraceTransition,
};
pub use tx::Tx;
pub use unit_attempts::{AttemptStatus, UnitAttempt};
pub use users::{AuthEvent, User};
pub use verdicts::{StepJob, StepVerdict};
pub use work_requests::{
    CallerFacts, ClaimScope, ClaimedRequest, RequestClaim, RequestOfTask, WorkRequest,
};
pub use work_units::{WorkPlan, WorkUnit};
pub use workflow::{
    Checkpoint, Effect, EffectWrite, EventPayload, GrantedRun, GraphVersionRange, LeaseToken, Run,
    RunClaim, RunClosure, Transition, TransitionOutcome, TransitionWrite,
};
