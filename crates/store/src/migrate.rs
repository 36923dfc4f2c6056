//! Forward-only migrations, embedded in the binary.

use crate::store::DatabaseEngine;
use crate::{Error, Store, Tx};

/// One migration, in both dialects.
struct Migration {
    version: i64,
    postgres: &'static str,
    sqlite: &'static str,
}

/// Embeds the files of each number and name.
macro_rules! migrations {
    ($($version:literal $name:literal,)+) => {
        &[$(Migration {
            version: $version,
            postgres: include_str!(concat!("../migrations/postgres/", $name, ".sql")),
            sqlite: include_str!(concat!("../migrations/sqlite/", $name, ".sql")),
        }),+]
    };
}

const MIGRATIONS: &[Migration] = migrations! {
    1 "0001_init",
    2 "0002_gateway",
    3 "0003_catalogue",
    4 "0004_agents",
    5 "0005_history",
    6 "0006_runs",
    7 "0007_heartbeats",
    8 "0008_egress",
    9 "0009_decisions",
    10 "0010_chat",
    11 "0011_steps",
    12 "0012_schedules",
    13 "0013_sandboxes",
    14 "0014_schedule_tries",
    15 "0015_chat_turns",
    16 "0016_groups",
    17 "0017_claims",
    18 "0018_changes",
    19 "0019_spending",
    20 "0020_token_origin",
    21 "0021_kept",
    22 "0022_job_outputs",
    23 "0023_incarnations",
    24 "0024_verification",
    25 "0025_health",
    26 "0026_lists",
    27 "0027_requests",
    28 "0028_inbox",
    29 "0029_accounts",
    30 "0030_node_keys",
    31 "0031_audit_signatures",
    32 "0032_server_review",
    33 "0033_fair_jobs",
    34 "0034_storage",
    35 "0035_server_owners",
    36 "0036_agent_profiles",
    37 "0037_capability_leases",
    39 "0039_agent_stops",
    40 "0040_work_requests",
    41 "0041_notifications",
    42 "0042_forges",
    43 "0043_request_order",
    44 "0044_shared_projects",
    45 "0045_profiles",
    46 "0046_project_memory",
    48 "0048_traces",
    49 "0049_skill_versions",
    50 "0050_project_contexts",
    51 "0051_trace_profiles",
    52 "0052_knowledge",
    53 "0053_project_repositories",
    54 "0054_request_wakes",
    55 "0055_task_names",
};

/// What the migrations up to [`SQLITE_BASELINE_VERSION`] make of an empty database: SQLite parses the schema again for
/// each of their statements, which takes longer than the rest of a first start. `tests/it/baseline.rs` compares it
/// with the migrations, and writes it.
const SQLITE_BASELINE: &str = include_str!("../migrations/sqlite_baseline.sql");
const SQLITE_BASELINE_VERSION: i64 = 52;

/// An arbitrary number; the same in every process, so that only one process migrates a PostgreSQL database at a
/// time.
const MIGRATION_LOCK: &str = "SELECT pg_advisory_xact_lock(4277009)";

/// Migrates the schema to the newest version in one transaction.
pub(crate) async fn migrate(store: &Store) -> Result<(), Error> {
    let engine = store.engine();
    store.write(move |tx| Box::pin(apply_all(tx, engine))).await
}

async fn apply_all(tx: &mut Tx, engine: DatabaseEngine) -> Result<(), Error> {
    if engine == DatabaseEngine::Postgres {
        tx.batch(MIGRATION_LOCK).await?;
    }
    tx.batch("CREATE TABLE IF NOT EXISTS schema_version (version bigint NOT NULL)").await?;
    let found = tx.row("SELECT max(version) AS version FROM schema_version", &[]).await?;
    let found = match found {
        Some(row) => row.get::<Option<i64>>("version")?.unwrap_or(0),
        None => 0,
    };
    let known = MIGRATIONS.last().map_or(0, |migration| migration.version);
    if found > known {
        return Err(Error::Newer { found, known });
    }
    let mut found = found;
    if found == 0 && engine == DatabaseEngine::Sqlite {
        tx.batch(SQLITE_BASELINE).await?;
        found = SQLITE_BASELINE_VERSION;
        for migration in MIGRATIONS.iter().filter(|migration| migration.version <= found) {
            record_version(tx, migration.version).await?;
        }
    }
    for migration in MIGRATIONS.iter().filter(|migration| migration.version > found) {
        let sql = match engine {
            DatabaseEngine::Postgres => migration.postgres,
            DatabaseEngine::Sqlite => migration.sqlite,
        };
        tx.batch(sql).await?;
        record_version(tx, migration.version).await?;
    }
    Ok(())
}

async fn record_version(tx: &mut Tx, version: i64) -> Result<(), Error> {
    tx.execute("INSERT INTO schema_version VALUES ($1)", &[version.into()]).await.map(drop)
}
