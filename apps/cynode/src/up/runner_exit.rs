//! Reports the end of a runner, so that its leases are released at once.
//!
//! A killed runner cannot release its leases. Its supervisor does, so that its runs need not wait until the
//! leases expire.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use cynode_client::Client;
use cynode_domain::ids::HolderId;
use cynode_runtime::secret_file;
use cynode_runtime::tasks::BackgroundTasks;
use cynode_wire::workflow::HolderGone;
use tokio::time::sleep;

/// The orchestrator may be restarting, so the report is retried; after that the leases expire.
const TRIES: u32 = 40;
const PAUSE: Duration = Duration::from_millis(250);

/// Lease holder id of the runner, new for each start.
#[derive(Clone)]
pub(crate) struct RunnerExitReporter {
    url: String,
    token_file: PathBuf,
    current: Arc<Mutex<Option<HolderId>>>,
    tasks: BackgroundTasks,
}

impl RunnerExitReporter {
    /// Reports to the orchestrator at `url`.
    pub(crate) fn new(url: &str, token_file: PathBuf) -> Self {
        let url = url.to_owned();
        Self { url, token_file, current: Arc::default(), tasks: BackgroundTasks::new() }
    }

    /// Generates the holder id of a new runner process.
    pub(crate) fn new_holder_id(&self) -> HolderId {
        let holder = HolderId::generate();
        *self.current.lock().unwrap_or_else(PoisonError::into_inner) = Some(holder);
        holder
    }

    /// Reports that the current runner process has exited.
    pub(crate) fn report_exit(&self) {
        let gone = self.current.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(holder) = gone {
            let teller = self.clone();
            self.tasks.spawn("runner exit report", async move {
                teller.report_with_retries(holder).await;
            });
        }
    }

    async fn report_with_retries(&self, holder: HolderId) {
        for _ in 0..TRIES {
            if self.try_report(holder).await {
                return;
            }
            sleep(PAUSE).await;
        }
    }

    async fn try_report(&self, holder: HolderId) -> bool {
        let Ok(token) = secret_file::read(&self.token_file) else {
            return false;
        };
        let Ok(client) = Client::new(&self.url, token) else {
            return false;
        };
        client.workflow_call(&HolderGone { holder_id: holder }).await.is_ok()
    }
}
