//! State differences between two history rows, of one run or of two.

use cynode_domain::ids::RunId;
use cynode_domain::name_or_id::NameOrId;
use cynode_store::{RunOverview, Tx};
use cynode_wire::runs::{DiffQuery, DiffView, DifferenceView, ParentView};
use serde_json::Value;

use super::{RunError, RunQueries, find_shared_run};
use cynode_resources::Caller;

/// Further differences are only counted.
const MAX_SHOWN: usize = 500;

impl RunQueries {
    /// Compares the states at two rows.
    pub async fn diff(
        &self,
        caller: &Caller,
        run: &NameOrId<RunId>,
        query: DiffQuery,
    ) -> Result<DiffView, RunError> {
        let (caller, run) = (caller.clone(), run.to_owned());
        self.store
            .read(move |tx| {
                Box::pin(async move {
                    let one = find_shared_run(tx, &caller, &run).await?;
                    let other = match &query.with {
                        Some(name_or_id) => {
                            find_shared_run(tx, &caller, &name_or_id.into()).await?
                        }
                        None => one.clone(),
                    };
                    compare_rows(tx, one, other, &query).await
                })
            })
            .await
    }
}

async fn compare_rows(
    tx: &mut Tx,
    one: RunOverview,
    other: RunOverview,
    query: &DiffQuery,
) -> Result<DiffView, RunError> {
    let newest = newest_sequence(tx, &other).await?;
    let to = query.to.unwrap_or(newest);
    let from = match query.from {
        Some(from) => from,
        None if query.with.is_some() => self::newest_sequence(tx, &one).await?,
        None => to.saturating_sub(1),
    };
    let (before, after) = (load_state(tx, &one, from).await?, load_state(tx, &other, to).await?);
    let mut differences = vec![];
    collect_differences("", Some(&before), Some(&after), &mut differences);
    let left_out = differences.len().saturating_sub(MAX_SHOWN);
    differences.truncate(MAX_SHOWN);
    Ok(DiffView {
        from: ParentView { run_id: one.record.run.id, sequence: from },
        to: ParentView { run_id: other.record.run.id, sequence: to },
        differences,
        left_out: u32::try_from(left_out).unwrap_or(u32::MAX),
    })
}

async fn newest_sequence(tx: &mut Tx, run: &RunOverview) -> Result<i64, RunError> {
    Ok(tx.history_last(run.record.run.id).await?.map_or(0, |row| row.sequence))
}

/// Loads the state at a row; row 0 is the empty state.
async fn load_state(tx: &mut Tx, run: &RunOverview, sequence: i64) -> Result<Value, RunError> {
    let id = run.record.run.id;
    if sequence == 0 {
        return Ok(Value::Object(serde_json::Map::new()));
    }
    if let Some(state) = tx.state_at(id, sequence).await? {
        return Ok(state);
    }
    let newest = newest_sequence(tx, run).await?;
    Err(RunError::RowNotFound { run: id, sequence, newest })
}

/// Collects every differing value with its JSON pointer.
fn collect_differences(
    path: &str,
    before: Option<&Value>,
    after: Option<&Value>,
    found: &mut Vec<DifferenceView>,
) {
    match (before, after) {
        (before, after) if before == after => {}
        (Some(Value::Object(old)), Some(Value::Object(new))) => {
            let mut names: Vec<_> = old.keys().chain(new.keys()).collect();
            names.sort_unstable();
            names.dedup();
            for name in names {
                let place = format!("{path}/{}", name.replace('~', "~0").replace('/', "~1"));
                collect_differences(&place, old.get(name), new.get(name), found);
            }
        }
        (Some(Value::Array(old)), Some(Value::Array(new))) => {
            for index in 0..old.len().max(new.len()) {
                collect_differences(
                    &format!("{path}/{index}"),
                    old.get(index),
                    new.get(index),
                    found,
                );
            }
        }
        (before, after) => found.push(DifferenceView {
            path: path.to_owned(),
            before: before.cloned(),
            after: after.cloned(),
        }),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn only_what_differs_is_told_by_its_path() {
        let before = json!({"same": 1, "plan": {"steps": ["a", "b"]}, "gone": true, "a/b": 1});
        let after = json!({"same": 1, "plan": {"steps": ["a", "c", "d"]}, "a/b": null});
        let mut found = vec![];

        collect_differences("", Some(&before), Some(&after), &mut found);

        let told: Vec<_> = found.iter().map(|one| one.path.as_str()).collect();
        assert_eq!(told, ["/a~1b", "/gone", "/plan/steps/1", "/plan/steps/2"]);
        assert_eq!((&found[0].before, &found[0].after), (&Some(json!(1)), &Some(Value::Null)));
        assert_eq!((&found[1].after, &found[3].before), (&None, &None));
    }
}
