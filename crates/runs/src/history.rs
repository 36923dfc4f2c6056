//! The history of a run: its transitions with the changed fields, and the acts of people.

use cynode_domain::ids::RunId;
use cynode_domain::name_or_id::NameOrId;
use cynode_domain::run::next_node;
use cynode_store::{RunAction, Transition, Tx};
use cynode_wire::page::{Page, PageQuery};
use cynode_wire::runs::{ActView, HistoryItem, HistoryRow};
use cynode_workflow_state::changes::StateRecord;
use serde_json::{Map, Value};

use super::{RunError, RunQueries, find_shared_run};
use cynode_resources::Caller;
use cynode_resources::paging::PageRequest;

/// A range of a run's history, with each row converted to `T`.
pub(super) struct HistoryRange<T> {
    pub(super) rows: Vec<T>,
    /// Acts of people after the rows of this range, or before its first row.
    pub(super) acts: Vec<RunAction>,
    pub(super) next_cursor: Option<String>,
}

/// Converts a row with the states before and after it; the first row has none before it. States may be big: at most
/// two of them are in memory.
type RowMapper<T> = fn(Transition, Option<&Value>, &Value) -> T;

impl RunQueries {
    /// Returns a page of a run's history, oldest first.
    pub async fn history(
        &self,
        caller: &Caller,
        run: &NameOrId<RunId>,
        query: &PageQuery,
    ) -> Result<Page<HistoryItem>, RunError> {
        let part = self.load_range(caller, run, query, row_view).await?;
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

    /// Reads a range of a run's history in one transaction.
    pub(super) async fn load_range<T: Send + 'static>(
        &self,
        caller: &Caller,
        run: &NameOrId<RunId>,
        query: &PageQuery,
        see: RowMapper<T>,
    ) -> Result<HistoryRange<T>, RunError> {
        let request = PageRequest::<i64>::parse(query)?;
        let (caller, run) = (caller.clone(), run.to_owned());
        let (after, limit) = (request.before.unwrap_or(0).max(0), i64::from(request.fetch) - 1);
        self.store
            .read(move |tx| {
                Box::pin(async move {
                    let run = find_shared_run(tx, &caller, &run).await?.record.run.id;
                    read_range(tx, run, after, limit, see).await
                })
            })
            .await
    }
}

async fn read_range<T>(
    tx: &mut Tx,
    run: RunId,
    after: i64,
    limit: i64,
    see: RowMapper<T>,
) -> Result<HistoryRange<T>, RunError> {
    let newest = tx.history_last(run).await?.map_or(0, |row| row.sequence);
    let last = after.saturating_add(limit).min(newest);
    let mut state = match after {
        0 => None,
        _ => tx.state_at(run, after).await?,
    };
    let mut rows = vec![];
    for row in tx.history_range(run, after.saturating_add(1), last).await? {
        let now = match row.record.clone() {
            StateRecord::Full(whole) => whole,
            StateRecord::Changes(changes) => {
                let mut next = state.clone().unwrap_or_else(|| Value::Object(Map::new()));
                changes.apply(&mut next).map_err(|error| {
                    let (column, reason) = ("changes".to_owned(), error.to_string());
                    cynode_store::Error::Unreadable { column, reason }
                })?;
                next
            }
        };
        rows.push(see(row, state.as_ref(), &now));
        state = Some(now);
    }
    let has_more = last < newest;
    // Acts after the last row belong to the next range, if there is one.
    let until = if has_more { last - 1 } else { i64::MAX };
    let acts = tx.run_action_list(run, after, until).await?;
    Ok(HistoryRange { rows, acts, next_cursor: has_more.then(|| last.to_string()) })
}

fn row_view(row: Transition, before: Option<&Value>, after: &Value) -> HistoryRow {
    HistoryRow {
        sequence: row.sequence,
        next_node: next_node(&row.node, &row.edge).map(ToOwned::to_owned),
        node: row.node,
        edge: row.edge,
        step_index: row.step_index,
        job_id: row.job,
        changed: changed_fields(before, after),
        duration_ms: row.duration_ms,
        recorded_at: row.recorded_at.unwrap_or_default(),
    }
}

fn act_view(act: RunAction) -> ActView {
    ActView {
        sequence: act.sequence,
        verb: act.verb,
        by: act.handle,
        detail: act.detail,
        recorded_at: act.recorded_at.unwrap_or_default(),
    }
}

/// The names of fields that differ. A field that is added with an empty value is left out.
fn changed_fields(before: Option<&Value>, after: &Value) -> Vec<String> {
    let none = Map::new();
    let (before, after) =
        (before.and_then(Value::as_object).unwrap_or(&none), after.as_object().unwrap_or(&none));
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

        assert_eq!(changed_fields(Some(&before), &after), ["a", "gone", "new"]);
    }
}
