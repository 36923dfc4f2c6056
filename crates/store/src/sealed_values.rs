//! Encrypted values outside of other tables. The keys are not in the database.

use crate::{Error, Tx};
use cynode_sql::params;

/// An encrypted value and the id of its key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SealedValue {
    /// What the value belongs to; the encryption is bound to it.
    pub name: String,
    pub key: String,
    pub sealed: Vec<u8>,
}

impl Tx {
    pub async fn sealed_value_put(&mut self, value: &SealedValue) -> Result<(), Error> {
        let sql = "INSERT INTO sealed_values (name, key_id, sealed) VALUES ($1, $2, $3)
                   ON CONFLICT (name) DO UPDATE SET key_id = excluded.key_id, sealed = excluded.sealed";
        self.execute(sql, params![&value.name, &value.key, &*value.sealed]).await.map(drop)
    }

    /// Replaces a value, unless it was changed or deleted since it was read.
    pub async fn sealed_value_replace(
        &mut self,
        old: &SealedValue,
        key: &str,
        sealed: &[u8],
    ) -> Result<bool, Error> {
        let sql = "UPDATE sealed_values SET key_id = $2, sealed = $3
                   WHERE name = $1 AND key_id = $4 AND sealed = $5";
        let params = params![&old.name, key, sealed, &old.key, &*old.sealed];
        Ok(self.execute(sql, params).await? == 1)
    }

    pub async fn sealed_value_get(&mut self, name: &str) -> Result<Option<SealedValue>, Error> {
        let row = self.row("SELECT * FROM sealed_values WHERE name = $1", params![name]).await?;
        row.as_ref().map(value).transpose()
    }

    /// Lists every value: a key is replaced for all of them or for none.
    pub async fn sealed_value_list(&mut self) -> Result<Vec<SealedValue>, Error> {
        let rows = self.rows("SELECT * FROM sealed_values ORDER BY name", &[]).await?;
        rows.iter().map(value).collect()
    }

    pub async fn sealed_value_delete(&mut self, name: &str) -> Result<(), Error> {
        self.execute("DELETE FROM sealed_values WHERE name = $1", params![name]).await.map(drop)
    }
}

fn value(row: &cynode_sql::Row) -> Result<SealedValue, Error> {
    Ok(SealedValue { name: row.get("name")?, key: row.get("key_id")?, sealed: row.get("sealed")? })
}
