//! The calls of the workflow API: which request goes where, and what answers it.
//!
//! To add a call of the runner:
//!
//! 1. Define its request and response in this crate, and add it to [`RUNNER_CALLS`] below.
//! 2. Implement its operation in `crates/execution/src/workflow`.
//! 3. Serve it in `crates/api/src/workflow.rs`, at the `PATH` of the request.
//! 4. Send it from a workflow node with `RunHandle::call`.
//!
//! Steps 3 and 4 do not compile without step 1. A test of `api` fails if a call has no handler, and the
//! fake orchestrator of the `workflow` tests rejects a call that it does not know.

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::continuing::{ContinuationView, ContinueRun, NO_MANAGER};
use crate::jobs::JobView;
use crate::planning::{PlanRun, PlanningView};
use crate::replanning::{ReplanStep, ReplanView};
use crate::run_suspension::{CheckpointAckView, SuspendForQuestion};
use crate::workflow::{
    CheckpointView, ClaimRun, ClaimView, DispatchStep, DispatchedView, GoneView, GrantView,
    HolderGone, LoadTask, PollJob, RecordEffect, ReleaseLease, RenewLease, ResumeRun,
    SaveCheckpoint, StartRun, TaskContextView, VerificationView, VerifyStep,
};

/// HTTP method of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum CallMethod {
    Get,
    /// The request is the JSON body.
    Post,
}

/// A request of the workflow API. Idempotent: a client may send it again.
pub trait RunnerRequest: Serialize + Sync {
    type Response: DeserializeOwned + Send;

    const METHOD: CallMethod;
    /// Path of the route; at most one segment is a parameter in braces.
    const PATH: &'static str;

    /// Value of the path parameter.
    fn path_parameter(&self) -> Option<String> {
        None
    }

    fn query(&self) -> Vec<(&'static str, String)> {
        vec![]
    }

    /// The response for which an empty body stands; `None` if there must be a body.
    fn empty_response() -> Option<Self::Response> {
        None
    }

    /// The response for which status 404 stands, because older orchestrators do not have this call;
    /// `None` if all of them do.
    fn unsupported_response() -> Option<Self::Response> {
        None
    }

    /// Whether the response only says that the caller must call again.
    fn is_pending(response: &Self::Response) -> bool {
        let _ = response;
        false
    }
}

/// An empty response. Later versions may add fields.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, Serialize)]
pub struct NoContent {}

/// Implements [`RunnerRequest`] for each request, and lists their methods and paths.
macro_rules! runner_calls {
    ($($method:ident $path:literal: $request:ty => $response:ty $({ $($item:tt)* })?;)+) => {
        $(
            impl RunnerRequest for $request {
                type Response = $response;
                const METHOD: CallMethod = CallMethod::$method;
                const PATH: &'static str = $path;
                $($($item)*)?
            }
        )+

        /// Method and path of every call.
        pub const RUNNER_CALLS: &[(CallMethod, &str)] = &[$((CallMethod::$method, $path)),+];
    };
}

runner_calls! {
    Post "/v1/workflow/start": StartRun => GrantView;
    Post "/v1/workflow/claim": ClaimRun => ClaimView;
    Post "/v1/workflow/resume": ResumeRun => CheckpointView;
    Post "/v1/workflow/checkpoint": SaveCheckpoint => CheckpointAckView {
        // Older orchestrators return nothing.
        fn empty_response() -> Option<CheckpointAckView> {
            Some(CheckpointAckView::default())
        }
    };
    Post "/v1/workflow/effects": RecordEffect => NoContent {
        fn empty_response() -> Option<NoContent> {
            Some(NoContent {})
        }
    };
    Post "/v1/workflow/ask": SuspendForQuestion => NoContent {
        fn empty_response() -> Option<NoContent> {
            Some(NoContent {})
        }
    };
    Post "/v1/workflow/renew": RenewLease => NoContent {
        fn empty_response() -> Option<NoContent> {
            Some(NoContent {})
        }
    };
    Post "/v1/workflow/release": ReleaseLease => NoContent {
        fn empty_response() -> Option<NoContent> {
            Some(NoContent {})
        }
    };
    Post "/v1/workflow/gone": HolderGone => GoneView;
    Get "/v1/workflow/tasks/{task}": LoadTask => TaskContextView {
        fn path_parameter(&self) -> Option<String> {
            Some(self.task_id.to_string())
        }
    };
    Post "/v1/workflow/dispatch": DispatchStep => DispatchedView;
    Get "/v1/workflow/jobs/{job}": PollJob => JobView {
        fn path_parameter(&self) -> Option<String> {
            Some(self.job_id.to_string())
        }

        fn query(&self) -> Vec<(&'static str, String)> {
            vec![("wait_ms", self.wait_ms.to_string())]
        }

        fn is_pending(job: &JobView) -> bool {
            !job.status.is_terminal()
        }
    };
    Post "/v1/workflow/plan": PlanRun => PlanningView {
        fn is_pending(view: &PlanningView) -> bool {
            matches!(view, PlanningView::Waiting { .. })
        }
    };
    Post "/v1/workflow/continue": ContinueRun => ContinuationView {
        fn unsupported_response() -> Option<ContinuationView> {
            Some(ContinuationView::NoManager { reason: NO_MANAGER.to_owned() })
        }

        fn is_pending(view: &ContinuationView) -> bool {
            matches!(view, ContinuationView::Waiting { .. })
        }
    };
    Post "/v1/workflow/replan": ReplanStep => ReplanView {
        fn unsupported_response() -> Option<ReplanView> {
            Some(ReplanView::Kept { reason: NO_MANAGER.to_owned() })
        }

        fn is_pending(view: &ReplanView) -> bool {
            matches!(view, ReplanView::Waiting { .. })
        }
    };
    Post "/v1/workflow/verify": VerifyStep => VerificationView {
        fn is_pending(view: &VerificationView) -> bool {
            view.verdict.is_none()
        }
    };
}
