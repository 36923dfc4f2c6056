//! The statements of several batch writes as few statements: items of the same text become the arrays of one
//! statement.

use super::{BatchStatements, ReturnedRow};
use crate::Error;
use cynode_sql::Param;
use cynode_sql::Row;

/// The statements of several writes.
#[derive(Default)]
pub(super) struct MergedStatements {
    /// The texts, each with an array for each parameter.
    pub(super) queries: Vec<(&'static str, Vec<Param>)>,
    /// The rows to insert.
    pub(super) inserts: BatchStatements,
    /// For each write, where its item is.
    positions: Vec<Option<ItemPosition>>,
}

#[derive(Clone, Copy)]
struct ItemPosition {
    /// The index of the text.
    query: usize,
    /// The index in its arrays.
    item: usize,
}

impl MergedStatements {
    pub(super) fn new<'a>(writes: impl IntoIterator<Item = &'a BatchStatements>) -> Self {
        let mut merged = Self::default();
        for write in writes {
            let position = write.item.as_ref().map(|(sql, values)| merged.add_item(sql, values));
            merged.positions.push(position);
            for (table, values) in &write.rows {
                merged.inserts.insert(table, values.iter().cloned());
            }
        }
        merged
    }

    fn add_item(&mut self, sql: &'static str, values: &[Param]) -> ItemPosition {
        let known = self.queries.iter().position(|(text, _)| std::ptr::eq(*text, sql));
        let query = known.unwrap_or_else(|| {
            self.queries.push((sql, vec![Param::Array(vec![]); values.len()]));
            self.queries.len() - 1
        });
        let mut item = 0;
        for (array, value) in self.queries[query].1.iter_mut().zip(values) {
            if let Param::Array(array) = array {
                item = array.len();
                array.push(value.clone());
            }
        }
        ItemPosition { query, item }
    }

    /// Distributes the rows of each query to the writes, in their order.
    pub(super) fn distribute(&self, returned: Vec<Vec<Row>>) -> Result<Vec<ReturnedRow>, Error> {
        let mut by_item = Vec::with_capacity(returned.len());
        for ((_, arrays), rows) in self.queries.iter().zip(returned) {
            let mut slots: Vec<Option<Row>> = vec![];
            slots.resize_with(item_count(arrays), || None);
            for row in rows {
                let item: i64 = row.get("item")?;
                let index = usize::try_from(item - 1).unwrap_or(usize::MAX);
                let slot = slots.get_mut(index);
                *slot.ok_or_else(|| Error::unreadable("item", "no such item"))? = Some(row);
            }
            by_item.push(slots);
        }
        let mut take = |at: ItemPosition| by_item.get_mut(at.query)?.get_mut(at.item)?.take();
        Ok(self.positions.iter().map(|at| ReturnedRow(at.and_then(&mut take))).collect())
    }
}

fn item_count(arrays: &[Param]) -> usize {
    match arrays.first() {
        Some(Param::Array(items)) => items.len(),
        _ => 0,
    }
}

/// The values of a single item, each as an array.
pub(crate) fn one_item(values: Vec<Param>) -> Vec<Param> {
    values.into_iter().map(|value| Param::Array(vec![value])).collect()
}
