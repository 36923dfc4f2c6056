//! The budget of a request: checked before an attempt starts, and after a model call was refused.
//!
//! The egress refuses each call that the budget does not cover. An attempt that ends because of that is no failure of its agent:
//! a person is asked, and the unit goes on once the budget is raised.

use cynode_domain::ids::TaskId;
use cynode_domain::model::InferenceOutcome;
use cynode_domain::question::{Question, QuestionKind, ReplyForm};
use cynode_domain::request::QuestionSubject;
use cynode_domain::request_budget::{CallPurpose, is_budget_refusal};
use cynode_store::{AttemptStatus, InferenceCall, InferenceFilter};
use serde_json::json;

use super::Step;
use crate::RequestError;

/// Why the budget does not allow to go on.
pub(super) struct BudgetProblem {
    /// The question to a person.
    text: String,
    is_unpriced: bool,
}

impl Step<'_> {
    /// Why no further attempt at a unit may start; `None` if the budget covers it. Calls of unknown price count as not covered.
    pub(super) async fn budget_problem(
        &self,
        unit: &str,
    ) -> Result<Option<BudgetProblem>, RequestError> {
        let settings = &self.snapshot.request.settings;
        let Some(limit) = settings.spending_limit(CallPurpose::of_unit(Some(unit))) else {
            return Ok(None);
        };
        let all = self.snapshot.task_ids();
        let sums = self.service.store.read(move |tx| {
            Box::pin(async move { Ok::<_, RequestError>(tx.inference_sums_of(&all).await?) })
        });
        let sums = sums.await?;
        Ok(if sums.unpriced > 0 {
            let cause = format!("{} model calls have no known price", sums.unpriced);
            Some(self.unpriced_problem(&cause))
        } else if sums.cost_micro_usd >= limit {
            Some(self.spent_problem())
        } else {
            None
        })
    }

    fn unpriced_problem(&self, cause: &str) -> BudgetProblem {
        let budget = dollars(self.snapshot.request.settings.budget_micros.unwrap_or(0));
        BudgetProblem {
            text: format!("{cause}, so the budget of {budget} cannot be kept. Go on without it?"),
            is_unpriced: true,
        }
    }

    fn spent_problem(&self) -> BudgetProblem {
        let settings = &self.snapshot.request.settings;
        let budget = settings.budget_micros.unwrap_or(0);
        let step = self.snapshot.request.state.grant.as_ref().map(|grant| grant.step_micros);
        let text = format!(
            "The budget of {} does not cover the next model call; {} of it are reserved for reviews. Grant {} more?",
            dollars(budget),
            dollars(settings.review_reserve()),
            dollars(step.unwrap_or(budget)),
        );
        BudgetProblem { text, is_unpriced: false }
    }

    pub(super) async fn ask_about_budget(
        mut self,
        unit: &str,
        problem: BudgetProblem,
    ) -> Result<(), RequestError> {
        self.set_budget_question(unit, problem);
        self.save_question().await
    }

    fn set_budget_question(&mut self, unit: &str, problem: BudgetProblem) {
        let BudgetProblem { text, is_unpriced } = problem;
        let question = Question {
            kind: QuestionKind::Approval,
            text,
            about: vec![format!("next: {unit}")],
            accepts: vec![ReplyForm::Yes, ReplyForm::No],
        };
        self.set_question(QuestionSubject::Budget { is_unpriced }, question);
    }

    /// The refusal that ended a child task, if the budget of the request did.
    pub(super) async fn find_budget_stop(
        &self,
        child: TaskId,
    ) -> Result<Option<InferenceCall>, RequestError> {
        if self.snapshot.request.settings.budget_micros.is_none() {
            return Ok(None);
        }
        let filter = InferenceFilter { task: Some(child), ..InferenceFilter::default() };
        let newest = self.service.store.read(move |tx| {
            Box::pin(async move {
                Ok::<_, RequestError>(tx.inference_list(&filter, None, 1).await?.pop())
            })
        });
        Ok(newest.await?.filter(is_refused_for_request))
    }

    /// Concludes an attempt that the budget ended. It is no failure: the same attempt is made again.
    pub(super) async fn conclude_budget_stop(
        mut self,
        attempt: &AttemptStatus,
        refused: &InferenceCall,
    ) -> Result<(), RequestError> {
        let reason = refused.error.clone().unwrap_or_default();
        let grant = self.snapshot.request.state.grant.as_ref();
        // A person may have raised the budget since.
        let is_settled = grant.is_some_and(|grant| refused.created_at < grant.granted_at);
        if !is_settled {
            let problem = if reason.contains("price") {
                self.unpriced_problem("the price of a model is not known")
            } else {
                self.spent_problem()
            };
            self.set_budget_question(&attempt.attempt.unit, problem);
        }
        let outcome = json!({ "result": "budget", "message": reason });
        self.finish_attempt(attempt, outcome).await
    }
}

fn is_refused_for_request(call: &InferenceCall) -> bool {
    call.outcome == InferenceOutcome::OverBudget
        && call.error.as_deref().is_some_and(is_budget_refusal)
}

fn dollars(micros: i64) -> String {
    format!("${}.{:02}", micros / 1_000_000, micros % 1_000_000 / 10_000)
}
