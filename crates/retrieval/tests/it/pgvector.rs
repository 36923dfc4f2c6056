//! The extension pgvector as a peer: the same vectors in its HNSW index, on a server of its own.

use std::fmt::Write as _;
use std::path::Path;

use cynode_testkit::DurableServer;
use tokio_postgres::{Client, NoTls};

/// The directory of the programs of a PostgreSQL that has pgvector; set by `cargo xtask bench retrieval`.
const PROGRAMS_VAR: &str = "CYNODE_TEST_PGVECTOR";

/// Vectors in a table with an index by cosine distance.
pub(crate) struct PgvectorIndex {
    client: Client,
    _server: DurableServer,
}

impl PgvectorIndex {
    /// Starts the peer, which is no part of the product and which the tests do not need.
    pub(crate) async fn start_if_installed() -> Option<Self> {
        let programs = std::env::var_os(PROGRAMS_VAR)?;
        let server = DurableServer::start_with_programs(Path::new(&programs)).unwrap();
        let (client, connection) = tokio_postgres::connect(&server.url(), NoTls).await.unwrap();
        #[expect(clippy::disallowed_methods, reason = "ends with the test")]
        tokio::spawn(connection);
        client.batch_execute("CREATE EXTENSION vector").await.unwrap();
        Some(Self { client, _server: server })
    }

    /// Replaces the vectors; a search returns their positions.
    pub(crate) async fn fill(&self, vectors: &[Vec<f32>]) {
        let dimensions = vectors.first().map_or(0, Vec::len);
        let mut sql = format!(
            "DROP TABLE IF EXISTS passages;
             CREATE TABLE passages (number int PRIMARY KEY, embedding vector({dimensions}));"
        );
        for (number, vector) in vectors.iter().enumerate() {
            writeln!(sql, "INSERT INTO passages VALUES ({number}, '{}');", literal(vector))
                .unwrap();
        }
        sql.push_str("CREATE INDEX ON passages USING hnsw (embedding vector_cosine_ops);");
        self.client.batch_execute(&sql).await.unwrap();
    }

    /// The positions of the nearest vectors, nearest first.
    pub(crate) async fn search(&self, vector: &[f32], limit: usize) -> Vec<usize> {
        let sql = format!(
            "SELECT number FROM passages ORDER BY embedding <=> '{}' LIMIT {limit}",
            literal(vector)
        );
        let rows = self.client.query(&sql, &[]).await.unwrap();
        rows.iter().map(|row| usize::try_from(row.get::<_, i32>(0)).unwrap()).collect()
    }
}

fn literal(vector: &[f32]) -> String {
    let numbers: Vec<String> = vector.iter().map(ToString::to_string).collect();
    format!("[{}]", numbers.join(","))
}
