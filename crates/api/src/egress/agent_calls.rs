//! What the model routes of agents share: authentication with an agent token, request limits, the start of a stream.

use std::pin::Pin;
use std::time::Duration;

use cynode_domain::policy::Principal;
use cynode_models::egress::{Egress, EgressError, EgressStream};
use cynode_resources::agents::{AgentIdentity, AgentTokens};
use cynode_resources::request_limits::{RequestLimits, RequestPermit, Requester};
use futures_util::{StreamExt as _, TryStreamExt as _, stream};
use tokio::time::timeout;

use crate::openai_error::OpenAiError;

/// How long a response waits for the first chunk before the stream starts without one.
const FIRST_CHUNK_WAIT: Duration = Duration::from_secs(5);

/// State of the model routes of agents.
#[derive(Clone)]
pub(crate) struct AgentEgressState {
    pub(crate) egress: Egress,
    pub(crate) agents: AgentTokens,
    pub(crate) limits: RequestLimits,
}

impl AgentEgressState {
    /// Authenticates the agent and counts its request. User tokens are rejected: users have the chat route.
    pub(super) async fn admit_agent(
        &self,
        token: Option<&str>,
    ) -> Result<(AgentIdentity, RequestPermit), OpenAiError> {
        let token = token.ok_or_else(|| OpenAiError::not_an_agent("send an agent token"))?;
        let identity = self.agents.authenticate(token).await?;
        if let Principal::User = identity.agent {
            return Err(OpenAiError::not_an_agent("this route accepts agent tokens only"));
        }
        let permit = self.limits.admit(Requester::from(&identity));
        let permit = permit.map_err(OpenAiError::agent_over_limit)?;
        let permit = permit.with_sign(self.agents.hold_sign(&identity));
        Ok((identity, permit))
    }
}

/// Returns the stream, or an error that occurs before the first chunk. A provider may need minutes for a long prompt:
/// after [`FIRST_CHUNK_WAIT`] the stream starts without a chunk, keep-alives follow, and an error is an item of it.
pub(super) async fn begin_stream(
    mut begun: Pin<Box<dyn Future<Output = Result<EgressStream, EgressError>> + Send>>,
) -> Result<EgressStream, EgressError> {
    match timeout(FIRST_CHUNK_WAIT, &mut begun).await {
        Ok(chunks) => chunks,
        Err(_) => Ok(stream::once(begun).try_flatten().boxed()),
    }
}
