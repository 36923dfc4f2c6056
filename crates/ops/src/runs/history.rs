//! How a run went: its transitions with what each changed, and what people did in between.

use cynode_domain::changes::StateRecord;
use cynode_domain::ids::RunId;
use cynode_domain::run::next_node;
use cynode_store::{Act, StandingStore, SteerStore, Transition, Tx, WorkflowStore};
use cynode_wire::page::{Page, PageQuery};
use cynode_wire::runs::{ActView, HistoryItem, HistoryRow};
use serde_json::{Map, Value};

use super::{RunError, Runs, find};
use crate::Caller;
use crate::paging::PageRequest;

/// A part of a run's history, each row as `T` sees it.
pub(super) struct Part<T> {
    pub(super) rows: Vec<T>,
    /// What people did after the rows of this part, or before the first of them.
    pub(super) acts: Vec<Act>,
    /// Where the next part begins, if there is one.
    pub(super) next_cursor: Option<String>,
}

/// Makes something of a row and the states before and after it. States may be big, so that no more
/// than two of them are in memory.
type See<T> = fn(Transition, &Value, &Value) -> T;

impl Runs {
    /// A page of a run's history, oldest first.
    pub async fn history(
        &self,
        caller: &Caller,
        run: &str,
        query: &PageQuery,
    ) -> Result<Page<HistoryItem>, RunError> {
        let part = self.part(caller, run, query, row_view).await?;
        let mut items = vec![];
        let mut acts = part.acts.into_iter().peekable();
        for row in part.rows {
            while let Some(act) = acts.next_if(|act| act.sequence < row.sequence) {
                items.push(HistoryItem::Act(act_view(act)));
            }
            items.push(HistoryItem::Transition(row));
        }
        items.extend(acts.map(|act| HistoryItem::Act(act_view(act))));
        Ok(Page { items, next_cursor: part.next_cursor })
    }

    /// A part of a run's history, read over one view of the data.
    pub(super) async fn part<T: Send + 'static>(
        &self,
        caller: &Caller,
        run: &str,
        query: &PageQuery,
        see: See<T>,
    ) -> Result<Part<T>, RunError> {
        let request = PageRequest::<i64>::check(query)?;
        let (caller, run) = (caller.clone(), run.to_owned());
        let (after, limit) = (request.before.unwrap_or(0).max(0), i64::from(request.fetch) - 1);
        self.store
            .read(move |tx| {
                Box::pin(async move {
                    let run = find(tx, &caller, &run).await?.recorded.run.id;
                    read(tx, run, (after, limit), see).await
                })
            })
            .await
    }
}

async fn read<T>(
    tx: &mut Tx,
    run: RunId,
    (after, limit): (i64, i64),
    see: See<T>,
) -> Result<Part<T>, RunError> {
    let newest = tx.history_last(run).await?.map_or(0, |row| row.sequence);
    let last = after.saturating_add(limit).min(newest);
    let mut state = match after {
        0 => Value::Object(Map::new()),
        _ => tx.state_at(run, after).await?.unwrap_or_default(),
    };
    let mut rows = vec![];
    for row in tx.history_range(run, after.saturating_add(1), last).await? {
        let before = state.clone();
        match row.record.clone() {
            StateRecord::Whole(whole) => state = whole,
            StateRecord::Changes(changes) => changes.apply(&mut state).map_err(|error| {
                let (column, reason) = ("changes".to_owned(), error.to_string());
                cynode_store::Error::Unreadable { column, reason }
            })?,
        }
        rows.push(see(row, &before, &state));
    }
    let has_more = last < newest;
    // What was done after the last row of a part belongs to the next one, if there is a next one.
    let until = if has_more { last - 1 } else { i64::MAX };
    let acts = tx.act_list(run, after, until).await?;
    Ok(Part { rows, acts, next_cursor: has_more.then(|| last.to_string()) })
}

fn row_view(row: Transition, before: &Value, after: &Value) -> HistoryRow {
    HistoryRow {
        sequence: row.sequence,
        next_node: next_node(&row.node, &row.edge).map(ToOwned::to_owned),
        node: row.node,
        edge: row.edge,
        step_index: row.step_index,
        job_id: row.job,
        changed: changed(before, after),
        duration_ms: row.duration_ms,
        recorded_at: row.recorded_at.unwrap_or_default(),
    }
}

fn act_view(act: Act) -> ActView {
    ActView {
        sequence: act.sequence,
        verb: act.verb,
        by: act.handle,
        detail: act.detail,
        recorded_at: act.recorded_at.unwrap_or_default(),
    }
}

/// The names of fields that differ. A field that begins as nothing is not worth telling.
fn changed(before: &Value, after: &Value) -> Vec<String> {
    let none = Map::new();
    let (before, after) = (before.as_object().unwrap_or(&none), after.as_object().unwrap_or(&none));
    let is_nothing = |value: Option<&Value>| match value {
        None | Some(Value::Null) => true,
        Some(Value::Object(map)) => map.is_empty(),
        Some(Value::Array(list)) => list.is_empty(),
        Some(_) => false,
    };
    let mut names: Vec<_> = before.keys().chain(after.keys()).cloned().collect();
    names.sort_unstable();
    names.dedup();
    names.retain(|name| {
        let (old, new) = (before.get(name), after.get(name));
        old != new && !(is_nothing(old) && is_nothing(new))
    });
    names
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn fields_that_differ_are_named_and_empty_beginnings_are_not() {
        let before = json!({"a": 1, "gone": 2, "same": [1]});
        let after = json!({"a": 2, "same": [1], "new": "x", "empty": {}, "none": null});

        assert_eq!(changed(&before, &after), ["a", "gone", "new"]);
    }
}
