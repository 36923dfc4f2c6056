//! Forward-only migrations, embedded in the binary.

use crate::store::DatabaseEngine;
use crate::{Error, Store, Tx};

/// One migration, in both dialects.
struct Migration {
    version: i64,
    postgres: &'static str,
    sqlite: &'static str,
}

const MIGRATIONS: &[Migration] = &[
    Migration {
        version: 1,
        postgres: include_str!("../migrations/postgres/0001_init.sql"),
        sqlite: include_str!("../migrations/sqlite/0001_init.sql"),
    },
    Migration {
        version: 2,
        postgres: include_str!("../migrations/postgres/0002_gateway.sql"),
        sqlite: include_str!("../migrations/sqlite/0002_gateway.sql"),
    },
    Migration {
        version: 3,
        postgres: include_str!("../migrations/postgres/0003_catalogue.sql"),
        sqlite: include_str!("../migrations/sqlite/0003_catalogue.sql"),
    },
    Migration {
        version: 4,
        postgres: include_str!("../migrations/postgres/0004_agents.sql"),
        sqlite: include_str!("../migrations/sqlite/0004_agents.sql"),
    },
    Migration {
        version: 5,
        postgres: include_str!("../migrations/postgres/0005_history.sql"),
        sqlite: include_str!("../migrations/sqlite/0005_history.sql"),
    },
    Migration {
        version: 6,
        postgres: include_str!("../migrations/postgres/0006_runs.sql"),
        sqlite: include_str!("../migrations/sqlite/0006_runs.sql"),
    },
    Migration {
        version: 7,
        postgres: include_str!("../migrations/postgres/0007_heartbeats.sql"),
        sqlite: include_str!("../migrations/sqlite/0007_heartbeats.sql"),
    },
    Migration {
        version: 8,
        postgres: include_str!("../migrations/postgres/0008_egress.sql"),
        sqlite: include_str!("../migrations/sqlite/0008_egress.sql"),
    },
    Migration {
        version: 9,
        postgres: include_str!("../migrations/postgres/0009_decisions.sql"),
        sqlite: include_str!("../migrations/sqlite/0009_decisions.sql"),
    },
    Migration {
        version: 10,
        postgres: include_str!("../migrations/postgres/0010_chat.sql"),
        sqlite: include_str!("../migrations/sqlite/0010_chat.sql"),
    },
    Migration {
        version: 11,
        postgres: include_str!("../migrations/postgres/0011_steps.sql"),
        sqlite: include_str!("../migrations/sqlite/0011_steps.sql"),
    },
    Migration {
        version: 12,
        postgres: include_str!("../migrations/postgres/0012_schedules.sql"),
        sqlite: include_str!("../migrations/sqlite/0012_schedules.sql"),
    },
    Migration {
        version: 13,
        postgres: include_str!("../migrations/postgres/0013_sandboxes.sql"),
        sqlite: include_str!("../migrations/sqlite/0013_sandboxes.sql"),
    },
    Migration {
        version: 14,
        postgres: include_str!("../migrations/postgres/0014_schedule_tries.sql"),
        sqlite: include_str!("../migrations/sqlite/0014_schedule_tries.sql"),
    },
    Migration {
        version: 15,
        postgres: include_str!("../migrations/postgres/0015_chat_turns.sql"),
        sqlite: include_str!("../migrations/sqlite/0015_chat_turns.sql"),
    },
    Migration {
        version: 16,
        postgres: include_str!("../migrations/postgres/0016_groups.sql"),
        sqlite: include_str!("../migrations/sqlite/0016_groups.sql"),
    },
    Migration {
        version: 17,
        postgres: include_str!("../migrations/postgres/0017_claims.sql"),
        sqlite: include_str!("../migrations/sqlite/0017_claims.sql"),
    },
    Migration {
        version: 18,
        postgres: include_str!("../migrations/postgres/0018_changes.sql"),
        sqlite: include_str!("../migrations/sqlite/0018_changes.sql"),
    },
    Migration {
        version: 19,
        postgres: include_str!("../migrations/postgres/0019_spending.sql"),
        sqlite: include_str!("../migrations/sqlite/0019_spending.sql"),
    },
    Migration {
        version: 20,
        postgres: include_str!("../migrations/postgres/0020_token_origin.sql"),
        sqlite: include_str!("../migrations/sqlite/0020_token_origin.sql"),
    },
    Migration {
        version: 21,
        postgres: include_str!("../migrations/postgres/0021_kept.sql"),
        sqlite: include_str!("../migrations/sqlite/0021_kept.sql"),
    },
    Migration {
        version: 22,
        postgres: include_str!("../migrations/postgres/0022_job_outputs.sql"),
        sqlite: include_str!("../migrations/sqlite/0022_job_outputs.sql"),
    },
    Migration {
        version: 23,
        postgres: include_str!("../migrations/postgres/0023_incarnations.sql"),
        sqlite: include_str!("../migrations/sqlite/0023_incarnations.sql"),
    },
    Migration {
        version: 24,
        postgres: include_str!("../migrations/postgres/0024_verification.sql"),
        sqlite: include_str!("../migrations/sqlite/0024_verification.sql"),
    },
    Migration {
        version: 25,
        postgres: include_str!("../migrations/postgres/0025_health.sql"),
        sqlite: include_str!("../migrations/sqlite/0025_health.sql"),
    },
    Migration {
        version: 26,
        postgres: include_str!("../migrations/postgres/0026_lists.sql"),
        sqlite: include_str!("../migrations/sqlite/0026_lists.sql"),
    },
    Migration {
        version: 27,
        postgres: include_str!("../migrations/postgres/0027_requests.sql"),
        sqlite: include_str!("../migrations/sqlite/0027_requests.sql"),
    },
    Migration {
        version: 28,
        postgres: include_str!("../migrations/postgres/0028_inbox.sql"),
        sqlite: include_str!("../migrations/sqlite/0028_inbox.sql"),
    },
    Migration {
        version: 29,
        postgres: include_str!("../migrations/postgres/0029_accounts.sql"),
        sqlite: include_str!("../migrations/sqlite/0029_accounts.sql"),
    },
];

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
    for migration in MIGRATIONS.iter().filter(|migration| migration.version > found) {
        let sql = match engine {
            DatabaseEngine::Postgres => migration.postgres,
            DatabaseEngine::Sqlite => migration.sqlite,
        };
        tx.batch(sql).await?;
        tx.execute("INSERT INTO schema_version VALUES ($1)", &[migration.version.into()]).await?;
    }
    Ok(())
}
