//! Submitted work, from intake to delivery.
//!
//! A request is a task without a run. [`RequestService`] accepts, shows and answers requests; [`RequestDriver`] advances them:
//! it claims one, loads a `RequestSnapshot`, decides the next action (`next_action`) and carries it out, until the request waits for a
//! child task or a person. Every step is one transaction under the claim, or an effect that a repetition finds done: a driver can
//! be killed at any moment, and another one goes on.
//!
//! Every unit is carried out by child tasks, one for each attempt (`steps`). Rules of [`cynode_planning`] decide; the project
//! manager is asked where they are not certain.

mod answer;
mod control;
mod driver;
mod error;
mod forges;
mod instruct;
mod next_action;
mod overrides;
mod pause;
mod queries;
mod remember;
mod roster;
mod scheduled;
mod snapshot;
mod steps;
mod submit;
mod view;

use cynode_execution::artifacts::ArtifactService;
use cynode_execution::handoff::HandoffService;
use cynode_execution::tasks::TaskService;
use cynode_models::egress::Egress;
use cynode_resources::Signals;
use cynode_resources::project_excerpts::ExcerptFinder;
use cynode_runtime::clock::SharedClock;
use cynode_runtime::tasks::BackgroundTasks;
use cynode_store::Store;

pub use driver::{DriverOptions, RequestDriver};
pub use error::RequestError;
pub use forges::{ForgeService, WebhookOutcome};

/// What the operations on requests need. Cheap to clone.
#[derive(Clone)]
pub struct RequestService {
    store: Store,
    clock: SharedClock,
    signals: Signals,
    tasks: TaskService,
    artifacts: ArtifactService,
    handoffs: HandoffService,
    forges: ForgeService,
    /// Work that continues when its caller has gone away.
    background: BackgroundTasks,
    excerpts: ExcerptFinder,
    /// `None`: the cost of a plan is not estimated.
    models: Option<Egress>,
}

impl RequestService {
    /// Creates the service.
    pub fn new(
        store: Store,
        clock: SharedClock,
        signals: Signals,
        tasks: TaskService,
        artifacts: ArtifactService,
        handoffs: HandoffService,
        forges: ForgeService,
    ) -> Self {
        let background = BackgroundTasks::new();
        let excerpts = ExcerptFinder::new(store.clone());
        Self {
            store,
            clock,
            signals,
            tasks,
            artifacts,
            handoffs,
            forges,
            background,
            excerpts,
            models: None,
        }
    }

    /// Registers work that continues without its caller with the tasks of the process, so that shutdown waits for it.
    #[must_use]
    pub fn with_background(mut self, background: BackgroundTasks) -> Self {
        self.background = background;
        self
    }

    /// Quotes what this finds in the prompts of units; without it, the memory of the project only.
    #[must_use]
    pub fn with_excerpts(self, excerpts: ExcerptFinder) -> Self {
        Self { excerpts, ..self }
    }

    /// Estimates the cost of plans by the prices of these models.
    #[must_use]
    pub fn with_models(mut self, models: Egress) -> Self {
        self.models = Some(models);
        self
    }

    /// The forges of projects' repositories.
    pub fn forges(&self) -> &ForgeService {
        &self.forges
    }
}
