//! Verdicts on steps, for people.
//!
//! The journal of a run holds the verdict that its runner received; these rows hold the final one, also after a
//! person has settled an open verdict.

use cynode_domain::ids::{JobId, RunId, TaskId};
use cynode_domain::status::JobStatus;
use cynode_domain::verdict::Verdict;
use serde_json::{Value, json};

use crate::quarantine::tables;
use crate::{Error, Tx};
use cynode_sql::Row;
use cynode_sql::params;

/// The verdict of a run on the result of a job.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StepVerdict {
    /// The run that requested it.
    pub run: RunId,
    /// One attempt at one step.
    pub job: JobId,
    pub task: TaskId,
    pub verdict: Verdict,
}

/// A job of a step, without its result.
#[derive(Debug, Clone, PartialEq)]
pub struct StepJob {
    pub id: JobId,
    pub run: RunId,
    /// The step of the plan, from 0.
    pub step_index: u32,
    /// The attempt at that step, from 1.
    pub attempt: u32,
    pub status: JobStatus,
    /// The commands to execute.
    pub payload: Value,
}

/// Verdicts on steps.
impl Tx {
    /// Writes a verdict, replacing the run's earlier one on the same job.
    pub async fn verdict_put(&mut self, verdict: &StepVerdict) -> Result<(), Error> {
        let sql = "INSERT INTO step_verdicts (run_id, job_id, task_id, verdict, recorded_at)
                   VALUES ($1, $2, $3, $4, cynode_now())
                   ON CONFLICT (run_id, job_id) DO UPDATE
                   SET verdict = excluded.verdict, recorded_at = excluded.recorded_at";
        let StepVerdict { run, job, task, verdict } = verdict;
        self.execute(sql, params![*run, *job, *task, json!(verdict)]).await.map(drop)
    }

    /// Lists the verdicts of all runs of a task, oldest run first.
    pub async fn verdict_list(&mut self, task: TaskId) -> Result<Vec<StepVerdict>, Error> {
        let sql = "SELECT * FROM step_verdicts WHERE task_id = $1 ORDER BY run_id, job_id";
        self.list(&tables::STEP_VERDICTS, sql, params![task], step_verdict).await
    }

    /// Lists the verdicts of one run, by job.
    pub async fn verdict_list_run(&mut self, run: RunId) -> Result<Vec<StepVerdict>, Error> {
        let sql = "SELECT * FROM step_verdicts WHERE run_id = $1 ORDER BY job_id";
        // All or none: a person's answer must not settle an older verdict.
        self.all(&tables::STEP_VERDICTS, sql, params![run], step_verdict).await
    }

    /// Lists the jobs of a task at steps before this one, oldest first, without their output.
    pub async fn step_job_list(
        &mut self,
        task: TaskId,
        before: u32,
    ) -> Result<Vec<StepJob>, Error> {
        let sql = "SELECT id, run_id, step_index, attempt, status, payload FROM jobs
                   WHERE task_id = $1 AND step_index < $2 ORDER BY id";
        let job = |row: &Row| {
            Ok(StepJob {
                id: row.id("id")?,
                run: row.id("run_id")?,
                step_index: row.count("step_index")?,
                attempt: row.count("attempt")?,
                status: row.keyword("status")?,
                payload: row.get("payload")?,
            })
        };
        self.list(&tables::JOBS, sql, params![task, before], job).await
    }
}

pub(crate) fn step_verdict(row: &Row) -> Result<StepVerdict, Error> {
    Ok(StepVerdict {
        run: row.id("run_id")?,
        job: row.id("job_id")?,
        task: row.id("task_id")?,
        verdict: row.json("verdict")?,
    })
}
