//! Questions of runs to people.
//!
//! Invariant: a run has at most one open question, because it stands still until that is answered.

use async_trait::async_trait;
use chrono::{DateTime, Utc};
use cynode_domain::ids::{RunId, TaskId, UserId};
use cynode_domain::question::{Answer, Question};
use serde_json::json;

use crate::column::Row;
use crate::param::params;
use crate::quarantine::tables;
use crate::{Error, Tx};

/// A question, and what was answered.
#[derive(Debug, Clone, PartialEq)]
pub struct Asked {
    /// The run that asks.
    pub run: RunId,
    /// Its task.
    pub task: TaskId,
    /// Unique in the run; the answer is an effect under the same key.
    pub key: String,
    /// The node that asks.
    pub asked_by: String,
    /// The question.
    pub question: Question,
    /// When it was asked.
    pub asked_at: DateTime<Utc>,
    /// Until when an answer is waited for.
    pub answer_by: Option<DateTime<Utc>>,
    /// The answer.
    pub answer: Option<Answer>,
    /// When it was answered.
    pub answered_at: Option<DateTime<Utc>>,
}

/// A question on its way in.
#[derive(Debug, Clone, PartialEq)]
pub struct NewQuestion {
    /// The run that asks.
    pub run: RunId,
    /// Its task.
    pub task: TaskId,
    /// Unique in the run.
    pub key: String,
    /// The node that asks.
    pub asked_by: String,
    /// The question.
    pub question: Question,
    /// For how long an answer is waited for; for ever when absent.
    pub within_ms: Option<i64>,
}

/// Questions of runs to people.
#[async_trait]
pub trait QuestionStore {
    /// Asks; false if the run has asked this before.
    async fn question_ask(&mut self, question: &NewQuestion) -> Result<bool, Error>;
    /// The question of a run that was asked last, answered or not.
    async fn question_last(&mut self, run: RunId) -> Result<Option<Asked>, Error>;
    /// Every question of a run, oldest first.
    async fn question_list(&mut self, run: RunId) -> Result<Vec<Asked>, Error>;
    /// Keeps an answer; false if there is one already.
    async fn question_answer(
        &mut self,
        asked: &Asked,
        answer: &Answer,
        by: Option<UserId>,
    ) -> Result<bool, Error>;
    /// Open questions of open runs whose time is over.
    async fn question_overdue(&mut self, limit: u32) -> Result<Vec<Asked>, Error>;
}

#[async_trait]
impl QuestionStore for Tx {
    async fn question_ask(&mut self, question: &NewQuestion) -> Result<bool, Error> {
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

    async fn question_last(&mut self, run: RunId) -> Result<Option<Asked>, Error> {
        let sql = "SELECT * FROM run_questions WHERE run_id = $1
                   ORDER BY asked_at DESC, key DESC LIMIT 1";
        self.one(&tables::QUESTIONS, sql, params![run], asked).await
    }

    async fn question_list(&mut self, run: RunId) -> Result<Vec<Asked>, Error> {
        let sql = "SELECT * FROM run_questions WHERE run_id = $1 ORDER BY asked_at, key";
        self.list(&tables::QUESTIONS, sql, params![run], asked).await
    }

    async fn question_answer(
        &mut self,
        asked: &Asked,
        answer: &Answer,
        by: Option<UserId>,
    ) -> Result<bool, Error> {
        let sql = "UPDATE run_questions SET answer = $3, answered_by = $4,
                   answered_at = cynode_now()
                   WHERE run_id = $1 AND key = $2 AND answered_at IS NULL";
        let params = params![asked.run, &asked.key, json!(answer), by];
        Ok(self.execute(sql, params).await? == 1)
    }

    async fn question_overdue(&mut self, limit: u32) -> Result<Vec<Asked>, Error> {
        let sql = "SELECT q.* FROM run_questions q JOIN runs r ON r.id = q.run_id
                   WHERE q.answered_at IS NULL AND q.answer_by <= cynode_now() AND r.runnable
                   ORDER BY q.answer_by LIMIT $1";
        self.page(&tables::QUESTIONS, sql, params![limit], asked).await
    }
}

pub(crate) fn asked(row: &Row) -> Result<Asked, Error> {
    let answer: Option<serde_json::Value> = row.get("answer")?;
    let answer = answer.map(serde_json::from_value).transpose();
    Ok(Asked {
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
