//! What the node has seen of a canary run, read from the listener of the sandbox.

use std::time::Duration;

use cynode_wire::agent_jobs::CanaryState;

/// How long the node may take to answer.
const TIMEOUT: Duration = Duration::from_secs(5);

/// The listener of the sandbox.
pub(super) struct CanaryListener {
    client: reqwest::Client,
    url: String,
}

impl CanaryListener {
    /// The listener that `model_url` is an address of.
    pub(super) fn new(model_url: &str) -> Self {
        let origin = model_url.split('/').take(3).collect::<Vec<_>>().join("/");
        let client = reqwest::Client::builder().no_proxy().timeout(TIMEOUT).build();
        Self { client: client.unwrap_or_default(), url: format!("{origin}/canary") }
    }

    /// `None` if the node does not answer.
    pub(super) async fn read_state(&self) -> Option<CanaryState> {
        self.client.get(&self.url).send().await.ok()?.json().await.ok()
    }
}
