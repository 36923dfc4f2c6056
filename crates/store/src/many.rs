//! Many rows for a table in few statements: 64, 32, … 1 rows at a time, so that there are few texts
//! to prepare and little to send.
//!
//! Every parameter stands once and in order, so that both engines read the statements alike.

use std::fmt::Write as _;

use crate::param::Param;

/// One statement inserts 64 rows at most.
const MAX_POWER: usize = 6;

/// The statements that insert rows into a table.
pub(crate) struct Inserts {
    columns: usize,
    /// For 1, 2, 4, … rows.
    statements: Vec<String>,
}

impl Inserts {
    pub(crate) fn for_table(table: &str, columns: &[&str]) -> Self {
        let statement = |power: usize| insert_statement(table, columns, 1 << power);
        Self { columns: columns.len(), statements: (0..=MAX_POWER).map(statement).collect() }
    }

    /// The same, with `end` behind every statement: what to do with a row that is there already.
    pub(crate) fn ending(mut self, end: &str) -> Self {
        self.statements.iter_mut().for_each(|statement| statement.push_str(end));
        self
    }

    /// The statement for a single row.
    pub(crate) fn one(&self) -> &str {
        &self.statements[0]
    }

    /// The rows whose values stand one after the other in `values`. One row for each statement is
    /// what SQLite likes best: it then needs no way back.
    pub(crate) fn of<'a>(
        &'a self,
        mut values: &'a [Param],
        is_sqlite: bool,
    ) -> Vec<(&'a str, &'a [Param])> {
        let most = if is_sqlite { 0 } else { MAX_POWER };
        let mut all = vec![];
        for (power, statement) in self.statements[..=most].iter().enumerate().rev() {
            while let Some((now, later)) = values.split_at_checked(self.columns << power)
                && !now.is_empty()
            {
                all.push((statement.as_str(), now));
                values = later;
            }
        }
        all
    }
}

fn insert_statement(table: &str, columns: &[&str], rows: usize) -> String {
    let mut sql = format!("INSERT INTO {table} ({}) VALUES ", columns.join(", "));
    for row in 0..rows {
        let first = row * columns.len() + 1;
        for number in first..first + columns.len() {
            let _ = write!(sql, "{}${number}", if number == first { "(" } else { ", " });
        }
        sql.push_str(if row + 1 == rows { ")" } else { "), " });
    }
    sql
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_parted_into_few_statements_that_hold_all_of_them() {
        let inserts = Inserts::for_table("t", &["a", "b"]);
        let values: Vec<Param> = (0..2 * 69_i64).map(Param::Int).collect();

        let parted = inserts.of(&values, false);
        let alone = inserts.of(&values, true);

        assert_eq!(inserts.one(), "INSERT INTO t (a, b) VALUES ($1, $2)");
        let sizes: Vec<usize> = parted.iter().map(|(_, values)| values.len() / 2).collect();
        assert_eq!(sizes, [64, 4, 1]);
        assert!(parted[1].0.ends_with("($7, $8)"), "{}", parted[1].0);
        assert_eq!(alone.len(), 69);
        assert!(inserts.of(&[], false).is_empty());
    }
}
