//! Where state is kept: SQLite in the data directory, or PostgreSQL.
//!
//! Start at [`Store`]: it opens a database and runs operations, each in one transaction, over a
//! [`Tx`]. What a transaction can do is the sum of narrow traits, one per aggregate
//! ([`TaskStore`], [`LeaseStore`], …). There is one implementation of each, in SQL that both engines
//! understand; `tests/it` holds the laws and runs every one of them against both.
//!
//! Backends hold no business rules: ids are made by the caller and written down as given. Leases
//! are the exception: each grant gets an id of its own here, and its times are read from the
//! database's clock, so that no process's own clock can keep or lose a lease.
//!
//! Invariant: the only SQL of the product is in this crate.

mod agent_checkpoints;
mod agent_messages;
mod agent_tokens;
mod artifacts;
mod audit;
mod changes;
mod chat;
mod chat_records;
mod column;
mod credentials;
mod decisions;
mod error;
mod events;
mod findings;
mod groups;
mod inferences;
mod job_memory;
mod jobs;
mod kept_execs;
mod leases;
mod ledger;
mod many;
mod mcp_servers;
mod mcp_tools;
mod migrate;
mod model_providers;
mod nodes;
mod notices;
mod operation;
mod param;
mod placement;
mod postgres;
mod preferences;
mod projects;
mod quarantine;
mod questions;
mod report_claims;
mod rules;
mod runs;
mod sandboxes;
mod schedule_due;
mod schedule_runs;
mod schedules;
mod sessions;
mod settings;
mod skills;
mod sqlite;
mod standing;
mod steer;
mod store;
mod task_agents;
mod tasks;
mod tx;
mod users;
mod verdicts;
mod work_units;
mod workflow;

pub use agent_checkpoints::{AgentCheckpoint, AgentCheckpointStore};
pub use agent_messages::{Message, MessageFilter, MessageOrder, MessageStore, NewMessage};
pub use agent_tokens::{AgentToken, AgentTokenStore, Binding, TokenOrigin};
pub use artifacts::{Artifact, ArtifactStore, BeforeStep, JobOutput};
pub use audit::chain::{ChainHead, Seal, Sealed};
pub use audit::lane::{AuditLane, Now};
pub use audit::verify::{ChainReport, verify};
pub use audit::{
    AuditCall, AuditCaller, AuditCursor, AuditFilter, AuditOutcome, AuditRecord, AuditStore,
    StoredCall,
};
pub use changes::{AccessChangeFilter, Change, ChangeStore};
pub use chat::{Home, Thread, ThreadMessage, ThreadStore};
pub use chat_records::{ChatRecord, ChatRecordStore};
pub use credentials::{Credential, CredentialStore};
pub use decisions::{Decision, DecisionFilter, DecisionStore};
pub use error::Error;
pub use events::{Event, EventCursor, EventFilter, EventPage, EventStore, NewEvent, NotACursor};
pub use findings::{Finder, Finding, FindingPlace, FindingStore};
pub use groups::{Group, GroupStore, Member, NewMember};
pub use inferences::{
    EgressDecision, InferenceCall, InferenceFilter, InferenceStore, InferenceSums, SpendingLimits,
};
pub use job_memory::{MemoryStore, Note, NoteTotals};
pub use jobs::{Job, JobStore, NewJob};
pub use kept_execs::{KeepExecs, KeptExecStore};
pub use leases::{Fenced, HolderStore, Lease, LeaseStore, Waiting};
pub use ledger::Entry;
pub use mcp_servers::{McpServer, ServerStore, ServerTransport};
pub use mcp_tools::{Definition, McpTool, ToolStore};
pub use model_providers::{ModelProvider, ModelProviderStore};
pub use nodes::{Node, NodeStore, NodeTenure};
pub use notices::Notices;
pub use placement::PlacementStore;
pub use preferences::{Preference, PreferenceChange, PreferenceStore};
pub use projects::{Project, ProjectStore};
pub use quarantine::{QuarantineStore, QuarantinedRow};
pub use questions::{Asked, NewQuestion, QuestionStore};
pub use report_claims::{Began, ClaimedReport, ReportClaim, ReportClaimStore};
pub use rules::{AccessChange, RuleStore, StoredRule};
pub use runs::{PastTransition, RecordedRun, RunStore};
pub use sandboxes::{ExecCounts, Sandbox, SandboxStore};
pub use schedule_due::{DueSchedule, DueStore, ScheduleAhead};
pub use schedule_runs::{
    NewScheduleRun, PutOff, ScheduleClaim, ScheduleRun, ScheduleRunStore, ScheduledTask,
    ScheduledTaskStore,
};
pub use schedules::{Schedule, ScheduleStore};
pub use sessions::{ApiToken, Session, SessionStore};
pub use settings::{Setting, SettingChange, SettingStore};
pub use skills::{Skill, SkillFilter, SkillStore};
pub use standing::{HeldBy, Place, RunFilter, RunTask, StandingRun, StandingStore};
pub use steer::{Act, Branch, Seed, SteerStore};
pub use store::{Engine, Store};
pub use task_agents::{TaskAgent, TaskAgentStore};
pub use tasks::{NewTask, Task, TaskFilter, TaskOptions, TaskStore};
pub use tx::Tx;
pub use users::{AuthEvent, User, UserStore};
pub use verdicts::{StepJob, StepVerdict, VerdictStore};
pub use work_units::{WorkPlan, WorkStore, WorkUnit};
pub use workflow::{
    Checkpoint, Claim, Close, Effect, Granted, Held, Move, MoveStore, Moved, Run, Told, Transition,
    Versions, WorkflowStore,
};
