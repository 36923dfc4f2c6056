//! The database engine of a test.
//!
//! A behaviour is an ordinary `async fn` of its file; [`on_each_engine!`](crate::on_each_engine), once in the file, lists it and
//! makes the tests `sqlite::<behaviour>` and `postgres::<behaviour>` of it. A behaviour that is not listed is
//! unused, which the compiler reports.

use std::future::Future;

pub use crate::on_each_engine;
use crate::{TestDatabase, migrated_postgres_database, sqlite_database};

/// The database engine.
#[derive(Debug, Clone, Copy)]
pub enum Engine {
    Sqlite,
    Postgres,
}

tokio::task_local! {
    /// The engine of the running test. Ambient because fixtures are created deep inside helpers.
    static ENGINE: Engine;
}

/// Runs a behaviour on an engine.
pub async fn run_on(engine: Engine, behaviour: impl Future<Output = ()>) {
    ENGINE.scope(engine, Box::pin(behaviour)).await;
}

/// A fresh database of the engine of the test; SQLite where a test names none.
pub async fn database() -> TestDatabase {
    match ENGINE.try_with(|engine| *engine) {
        Ok(Engine::Postgres) => migrated_postgres_database().await,
        Ok(Engine::Sqlite) | Err(_) => sqlite_database(),
    }
}

/// Makes each behaviour of this file a test on either engine.
#[macro_export]
macro_rules! on_each_engine {
    ($($behaviour:ident,)+) => {
        mod sqlite {
            $(
                #[tokio::test]
                async fn $behaviour() {
                    use $crate::engines::{Engine, run_on};
                    run_on(Engine::Sqlite, super::$behaviour()).await;
                }
            )+
        }

        mod postgres {
            $(
                #[tokio::test]
                async fn $behaviour() {
                    use $crate::engines::{Engine, run_on};
                    run_on(Engine::Postgres, super::$behaviour()).await;
                }
            )+
        }
    };
}
