//! Multi-row inserts: 64, 32, … 1 rows per statement, so that few statements are prepared and sent.
//!
//! Every parameter occurs once and in order, so both engines read the statements alike.

use std::fmt::Write as _;

use crate::param::Param;

/// At most 64 rows per statement.
const MAX_POWER: usize = 6;

/// The insert statements of a table.
pub struct InsertStatements {
    columns: usize,
    /// For 1, 2, 4, … rows.
    statements: Vec<String>,
}

impl InsertStatements {
    /// For these columns, separated by commas.
    pub fn for_table(table: &str, columns: &str) -> Self {
        let count = columns.split(',').count();
        let statement = |power: usize| insert_statement(table, columns, count, 1 << power);
        Self { columns: count, statements: (0..=MAX_POWER).map(statement).collect() }
    }

    /// Appends `end` to every statement, such as an `ON CONFLICT` clause.
    #[must_use]
    pub fn with_suffix(mut self, end: &str) -> Self {
        self.statements.iter_mut().for_each(|statement| statement.push_str(end));
        self
    }

    /// The statement for one row.
    pub fn one(&self) -> &str {
        &self.statements[0]
    }

    /// The statements for the rows whose values follow each other in `values`. SQLite gets one statement per
    /// row: then it needs no statement journal.
    pub fn for_values<'a>(
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

fn insert_statement(table: &str, columns: &str, count: usize, rows: usize) -> String {
    let mut sql = format!("INSERT INTO {table} ({columns}) VALUES ");
    for row in 0..rows {
        let first = row * count + 1;
        for number in first..first + count {
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
        let inserts = InsertStatements::for_table("t", "a, b");
        let values: Vec<Param> = (0..2 * 69_i64).map(Param::Int).collect();

        let parted = inserts.for_values(&values, false);
        let alone = inserts.for_values(&values, true);

        assert_eq!(inserts.one(), "INSERT INTO t (a, b) VALUES ($1, $2)");
        let sizes: Vec<usize> = parted.iter().map(|(_, values)| values.len() / 2).collect();
        assert_eq!(sizes, [64, 4, 1]);
        assert!(parted[1].0.ends_with("($7, $8)"), "{}", parted[1].0);
        assert_eq!(alone.len(), 69);
        assert!(inserts.for_values(&[], false).is_empty());
    }
}
