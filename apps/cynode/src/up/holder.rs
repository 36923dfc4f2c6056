//! Whose leases the runner holds, so that this process can say when they are nobody's.
//!
//! A runner that was killed cannot give its tasks up; who saw it end can. Without that word
//! its tasks would wait until the leases end by themselves.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use cynode_client::Client;
use cynode_domain::ids::HolderId;
use cynode_runtime::secret_file;
use cynode_runtime::tasks::Tasks;
use tokio::time::sleep;

/// The orchestrator may be ending too: it is told once it is back, or the leases end by themselves.
const TRIES: u32 = 40;
const PAUSE: Duration = Duration::from_millis(250);

/// The holder of the runner's leases, another one for each of its lives.
#[derive(Clone)]
pub(crate) struct Holder {
    url: String,
    token_file: PathBuf,
    present: Arc<Mutex<Option<HolderId>>>,
    tasks: Tasks,
}

impl Holder {
    /// A holder whose end the orchestrator at `url` is told of.
    pub(crate) fn new(url: &str, token_file: PathBuf) -> Self {
        let url = url.to_owned();
        Self { url, token_file, present: Arc::default(), tasks: Tasks::new() }
    }

    /// A runner begins: who it is.
    pub(crate) fn begins(&self) -> HolderId {
        let holder = HolderId::generate();
        *self.present.lock().unwrap_or_else(PoisonError::into_inner) = Some(holder);
        holder
    }

    /// It has ended: its tasks may be taken by others.
    pub(crate) fn ended(&self) {
        let gone = self.present.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(holder) = gone {
            let teller = self.clone();
            self.tasks.spawn("word of a runner's end", async move { teller.tell(holder).await });
        }
    }

    async fn tell(&self, holder: HolderId) {
        for _ in 0..TRIES {
            if self.told(holder).await {
                return;
            }
            sleep(PAUSE).await;
        }
    }

    async fn told(&self, holder: HolderId) -> bool {
        let Ok(token) = secret_file::read(&self.token_file) else {
            return false;
        };
        let Ok(client) = Client::new(&self.url, token) else {
            return false;
        };
        client.workflow_gone(holder).await.is_ok()
    }
}
