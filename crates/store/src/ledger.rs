//! Rows that are added all the time and never change: what was said, and how it went.
//!
//! Start at [`Store::enter`]. On PostgreSQL one writer ([`lane`]) puts the entries of everybody who waits
//! into few statements and one commit.

pub(crate) mod lane;

use crate::chat::{MESSAGE_INSERTS, message_params};
use crate::chat_records::{RECORD_INSERTS, record_params};
use crate::inferences::{CALL_INSERTS, DECISION_INSERTS, call_params, decision_params};
use crate::param::Param;
use crate::tx::check;
use crate::{
    ChatRecord, EgressDecision, Error, InferenceCall, Store, ThreadMessage, Tx, store::Backend,
};

/// A row to add.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Entry {
    /// Something was said in a thread.
    Message(ThreadMessage),
    /// A request to chat ended.
    Turn(ChatRecord),
    /// A call to a model ended.
    Call(InferenceCall),
    /// A call to a model was decided.
    Decision(EgressDecision),
}

impl Store {
    /// Adds entries in one transaction: all of them are kept, or none is. Whoever comes at the same
    /// time shares the commit, and nobody's failure is another's. Entries that were handed over are
    /// written also if the caller goes away.
    pub async fn enter(&self, entries: Vec<Entry>) -> Result<(), Error> {
        match &self.0 {
            Backend::Postgres(postgres) => postgres.enter(entries).await,
            Backend::Sqlite(_) => {
                self.write(move |tx| Box::pin(async move { write(tx, &entries).await })).await
            }
        }
    }
}

async fn write(tx: &mut Tx, entries: &[Entry]) -> Result<(), Error> {
    let rows = Rows::of(entries)?;
    tx.execute_all(&rows.statements(tx.is_sqlite())).await.map(drop)
}

/// Values of rows, one after the other, for each table.
#[derive(Default)]
struct Rows {
    messages: Vec<Param>,
    turns: Vec<Param>,
    calls: Vec<Param>,
    decisions: Vec<Param>,
}

impl Rows {
    fn of<'a>(entries: impl IntoIterator<Item = &'a Entry>) -> Result<Self, Error> {
        let mut rows = Self::default();
        for entry in entries {
            match entry {
                Entry::Message(message) => rows.messages.extend(message_params(message)),
                Entry::Turn(turn) => rows.turns.extend(record_params(turn)),
                Entry::Call(call) => rows.calls.extend(call_params(call)),
                Entry::Decision(decision) => rows.decisions.extend(decision_params(decision)),
            }
        }
        let all = [&rows.messages, &rows.turns, &rows.calls, &rows.decisions];
        all.into_iter().try_for_each(|values| check(values))?;
        Ok(rows)
    }

    /// The same rows behind those that there are.
    fn add(&mut self, more: &Self) {
        self.messages.extend_from_slice(&more.messages);
        self.turns.extend_from_slice(&more.turns);
        self.calls.extend_from_slice(&more.calls);
        self.decisions.extend_from_slice(&more.decisions);
    }

    /// How much text they hold, about.
    fn bytes(&self) -> usize {
        let all = [&self.messages, &self.turns, &self.calls, &self.decisions];
        all.into_iter().flatten().map(Param::text_bytes).sum()
    }

    fn statements(&self, is_sqlite: bool) -> Vec<(&str, &[Param])> {
        let tables = [
            (&*MESSAGE_INSERTS, &self.messages),
            (&*RECORD_INSERTS, &self.turns),
            (&*CALL_INSERTS, &self.calls),
            (&*DECISION_INSERTS, &self.decisions),
        ];
        tables.into_iter().flat_map(|(table, values)| table.of(values, is_sqlite)).collect()
    }
}
