//! Rows that are appended at a high rate and never change: chat messages and records of model calls.

use futures_util::future::BoxFuture;

use crate::batch::{BatchStatements, BatchWrite, ReturnedRow};
use crate::chat::{MESSAGE_INSERTS, message_params};
use crate::chat_records::{RECORD_INSERTS, record_params};
use crate::inferences::{CALL_INSERTS, DECISION_INSERTS, call_params, decision_params};
use crate::{ChatRecord, EgressDecision, Error, InferenceCall, ThreadMessage, Tx};

/// A row to append.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Entry {
    ThreadMessage(ThreadMessage),
    /// The record of a chat request.
    ChatRecord(ChatRecord),
    /// The record of a model call.
    InferenceCall(InferenceCall),
    /// An egress decision.
    EgressDecision(EgressDecision),
}

/// Rows to append in one transaction: all of them are stored, or none is.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct AppendRows(pub Vec<Entry>);

impl BatchWrite for AppendRows {
    type Output = ();

    fn statements(&self) -> Result<BatchStatements, Error> {
        let mut statements = BatchStatements::default();
        for entry in &self.0 {
            match entry {
                Entry::ThreadMessage(message) => {
                    statements.insert(&MESSAGE_INSERTS, message_params(message));
                }
                Entry::ChatRecord(turn) => statements.insert(&RECORD_INSERTS, record_params(turn)),
                Entry::InferenceCall(call) => statements.insert(&CALL_INSERTS, call_params(call)),
                Entry::EgressDecision(decision) => {
                    statements.insert(&DECISION_INSERTS, decision_params(decision));
                }
            }
        }
        statements.checked()
    }

    fn output(&self, _: ReturnedRow) -> Result<(), Error> {
        Ok(())
    }

    fn run<'a>(&'a self, tx: &'a mut Tx) -> BoxFuture<'a, Result<(), Error>> {
        Box::pin(async move {
            let statements = self.statements()?;
            tx.execute_all(&statements.inserts(tx.is_sqlite())).await.map(drop)
        })
    }
}
