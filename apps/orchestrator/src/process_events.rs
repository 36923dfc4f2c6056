//! Events of the process itself, for its log.

use cynode_domain::trace::{TraceActor, TraceEntry, TraceEventKind, TraceField};
use cynode_resources::{DatabaseEngine, Store};
use cynode_runtime::trace_recorder::log_event;

pub(crate) fn log_database_connected(store: &Store) {
    let engine = match store.engine() {
        DatabaseEngine::Postgres => "postgres",
        DatabaseEngine::Sqlite => "sqlite",
    };
    let connected = TraceEntry::new(TraceEventKind::BackendConnected)
        .with(TraceField::Backend, engine)
        .with(TraceField::BackendPurpose, "state");
    log_event(None, TraceActor::Orchestrator, &connected);
}
