//! Messages of agents that wait for a person's answer.

use cynode_domain::ids::MessageId;
use cynode_wire::inbox::{AnswerMessage, InboxItem, InboxQuery};
use cynode_wire::page::Page;
use reqwest::Method;

use crate::request::{read_json, send};
use crate::{Client, ClientError};

impl Client {
    /// `GET /v1/inbox`
    pub async fn inbox_list(&self, query: &InboxQuery) -> Result<Page<InboxItem>, ClientError> {
        read_json(send(self.request(Method::GET, &["v1", "inbox"]).query(query)).await?).await
    }

    /// `POST /v1/inbox/{message}/answer`
    pub async fn inbox_answer(
        &self,
        message: MessageId,
        body: &AnswerMessage,
    ) -> Result<InboxItem, ClientError> {
        self.post(&["v1", "inbox", &message.to_string(), "answer"], body).await
    }
}
