//! Questions of runs to people.
//!
//! Invariant: a run has at most one open question, because it waits until that is answered.

use chrono::{DateTime, Utc};
use cynode_domain::ids::{RunId, TaskId, UserId};
use cynode_domain::question::{Answer, Question};
use serde_json::json;

use crate::quarantine::tables;
use crate::{Error, Tx};
use cynode_sql::Row;
use cynode_sql::params;

/// A question with its answer.
#[derive(Debug, Clone, PartialEq)]
pub struct RunQuestion {
    pub run: RunId,
    pub task: TaskId,
    /// Unique in the run; the answer is recorded as an effect under the same key.
    pub key: String,
    /// The workflow node that asked.
    pub asked_by: String,
    pub question: Question,
    pub asked_at: DateTime<Utc>,
    /// The deadline for an answer.
    pub answer_by: Option<DateTime<Utc>>,
    pub answer: Option<Answer>,
    pub answered_at: Option<DateTime<Utc>>,
}

/// A question to add.
#[derive(Debug, Clone, PartialEq)]
pub struct NewRunQuestion {
    pub run: RunId,
    pub task: TaskId,
    /// Unique in the run.
    pub key: String,
    /// The workflow node that asks.
    pub asked_by: String,
    pub question: Question,
    /// How long the run waits for an answer; without limit if absent.
    pub within_ms: Option<i64>,
}

impl Tx {
    /// Adds a question; returns false if the run already has it.
    pub async fn question_insert(&mut self, question: &NewRunQuestion) -> Result<bool, Error> {
        let sql = "INSERT INTO run_questions
                   (run_id, key, task_id, asked_by, question, asked_at, answer_by)
                   VALUES ($1, $2, $3, $4, $5, cynode_now(),
                       CASE WHEN $6 /*pg ::bigint */ IS NULL THEN NULL ELSE cynode_after($6) END)
                   ON CONFLICT DO NOTHING";
        let params = params![
            question.run,
            &question.key,
            question.task,
            &question.asked_by,
            json!(question.question),
            question.within_ms,
        ];
        Ok(self.execute(sql, params).await? == 1)
    }

    /// Returns the newest question of a run, answered or not.
    pub async fn question_last(&mut self, run: RunId) -> Result<Option<RunQuestion>, Error> {
        let sql = "SELECT * FROM run_questions WHERE run_id = $1
                   ORDER BY asked_at DESC, key DESC LIMIT 1";
        self.one(&tables::QUESTIONS, sql, params![run], run_question).await
    }

    /// Lists the questions of a run, oldest first.
    pub async fn question_list(&mut self, run: RunId) -> Result<Vec<RunQuestion>, Error> {
        let sql = "SELECT * FROM run_questions WHERE run_id = $1 ORDER BY asked_at, key";
        self.list(&tables::QUESTIONS, sql, params![run], run_question).await
    }

    /// Stores an answer; returns false if there is one already.
    pub async fn question_answer(
        &mut self,
        pending: &RunQuestion,
        answer: &Answer,
        by: Option<UserId>,
    ) -> Result<bool, Error> {
        let sql = "UPDATE run_questions SET answer = $3, answered_by = $4,
                   answered_at = cynode_now()
                   WHERE run_id = $1 AND key = $2 AND answered_at IS NULL";
        let params = params![pending.run, &pending.key, json!(answer), by];
        Ok(self.execute(sql, params).await? == 1)
    }

    /// Lists open questions of open runs whose deadline has passed.
    pub async fn question_list_overdue(&mut self, limit: u32) -> Result<Vec<RunQuestion>, Error> {
        let sql = "SELECT q.* FROM run_questions q JOIN runs r ON r.id = q.run_id
                   WHERE q.answered_at IS NULL AND q.answer_by <= cynode_now() AND r.runnable
                   ORDER BY q.answer_by LIMIT $1";
        self.page(&tables::QUESTIONS, sql, params![limit], run_question).await
    }
}

pub(crate) fn run_question(row: &Row) -> Result<RunQuestion, Error> {
    let answer: Option<serde_json::Value> = row.get("answer")?;
    let answer = answer.map(serde_json::from_value).transpose();
    Ok(RunQuestion {
        run: row.id("run_id")?,
        task: row.id("task_id")?,
        key: row.get("key")?,
        asked_by: row.get("asked_by")?,
        question: row.json("question")?,
        asked_at: row.get("asked_at")?,
        answer_by: row.get("answer_by")?,
        answer: answer.map_err(|error| Error::unreadable("answer", error.to_string()))?,
        answered_at: row.get("answered_at")?,
    })
}
