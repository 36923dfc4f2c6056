//! What a transition changed in the state, found without looking at all of it.

use cynode_domain::changes::Changes;
use cynode_domain::ids::{JobId, TaskId};
use cynode_domain::plan::Plan;
use cynode_domain::run_policy::RunPolicy;
use cynode_domain::verdict::Verdict;
use cynode_wire::workflow::Finish;
use serde::Serialize;
use serde_json::Error;

use super::{
    Bounds, Continuation, Criteria, Job, LastResult, NodeFailure, Preferences, Request, Revision,
    RunState, Shared, Tally,
};
use crate::engine::{FAILED, Node};
use crate::graph::GRAPH_VERSION;
use crate::nodes::collect_result::CollectResult;
use crate::nodes::dispatch_step::DispatchStep;
use crate::nodes::mark_failed::MarkFailed;
use crate::nodes::verify_step_result::VerifyStepResult;
use crate::workflow::{Position, TaskState};

/// A state as it was at its last transition, as far as needed to tell what changed since.
#[derive(Debug)]
pub struct Mark {
    criteria: Criteria,
    preferences: Preferences,
    plan: Shared<Plan>,
    current_step_index: u32,
    attempts_recorded: u64,
    last_result: Option<Shared<LastResult>>,
    verification: Option<Shared<Verdict>>,
    tally: Tally,
    continuation: Option<Continuation>,
    revision: Option<Revision>,
    request: Option<Shared<Request>>,
    bounds: Bounds,
    policy: Option<Shared<RunPolicy>>,
    job: Option<Job>,
    failure: Option<NodeFailure>,
    finish: Option<Finish>,
}

impl TaskState for RunState {
    const VERSION: u32 = GRAPH_VERSION;
    // A run of version 1 never stood still: it goes on as it would have then, or better.
    const OLDEST: u32 = 1;
    type Mark = Mark;

    fn new(task: TaskId) -> Self {
        Self::new(task)
    }

    fn version(&self) -> u32 {
        self.graph_version
    }

    fn mark(&self) -> Mark {
        Mark {
            criteria: self.acceptance_criteria.clone(),
            preferences: self.preferences_effective.clone(),
            plan: self.plan.clone(),
            current_step_index: self.current_step_index,
            attempts_recorded: self.attempts_by_step.recorded,
            last_result: self.last_result.clone(),
            verification: self.verification.clone(),
            tally: self.tally,
            continuation: self.continuation.clone(),
            revision: self.revision.clone(),
            request: self.request.clone(),
            bounds: self.bounds,
            policy: self.policy.clone(),
            job: self.job,
            failure: self.failure.clone(),
            finish: self.finish.clone(),
        }
    }

    fn changes_since(&self, before: &Mark) -> Result<Changes, Error> {
        let mut told = Telling::default();
        told.shared("acceptance_criteria", &self.acceptance_criteria, &before.criteria)?;
        told.shared("preferences_effective", &self.preferences_effective, &before.preferences)?;
        told.shared("plan", &self.plan, &before.plan)?;
        told.field("current_step_index", &self.current_step_index, &before.current_step_index)?;
        told.optional("last_result", self.last_result.as_ref(), before.last_result.as_ref())?;
        told.optional("verification", self.verification.as_ref(), before.verification.as_ref())?;
        told.field("tally", &self.tally, &before.tally)?;
        told.field("continuation", &self.continuation, &before.continuation)?;
        told.field("revision", &self.revision, &before.revision)?;
        told.optional("request", self.request.as_ref(), before.request.as_ref())?;
        told.field("bounds", &self.bounds, &before.bounds)?;
        told.optional("policy", self.policy.as_ref(), before.policy.as_ref())?;
        told.field("job", &self.job, &before.job)?;
        told.field("failure", &self.failure, &before.failure)?;
        told.field("finish", &self.finish, &before.finish)?;
        told.attempts(self, before.attempts_recorded)?;
        Ok(told.0)
    }

    fn finish(&self) -> Option<&Finish> {
        self.finish.as_ref()
    }

    /// The edge may have moved the state on already.
    fn subject(&self, position: Position<'_>) -> (Option<u32>, Option<JobId>) {
        match position.node {
            DispatchStep::NAME if position.edge == FAILED => (Some(self.current_step_index), None),
            DispatchStep::NAME | CollectResult::NAME | VerifyStepResult::NAME => {
                (self.job.map(|job| job.step_index), self.job.map(|job| job.job_id))
            }
            MarkFailed::NAME => {
                let job = self.job.filter(|job| job.step_index == self.current_step_index);
                let step = self.current_step().map(|_| self.current_step_index);
                (step, job.map(|job| job.job_id))
            }
            _ => (None, None),
        }
    }
}

/// Changes as they are found.
#[derive(Default)]
struct Telling(Changes);

impl Telling {
    fn set(&mut self, name: &str, value: &impl Serialize) -> Result<(), Error> {
        self.0.set.insert(name.to_owned(), serde_json::to_value(value)?);
        Ok(())
    }

    fn field<T: Serialize + PartialEq>(
        &mut self,
        name: &str,
        now: &T,
        before: &T,
    ) -> Result<(), Error> {
        if now == before { Ok(()) } else { self.set(name, now) }
    }

    fn shared<T: Serialize>(
        &mut self,
        name: &str,
        now: &Shared<T>,
        before: &Shared<T>,
    ) -> Result<(), Error> {
        if now.is_same(before) { Ok(()) } else { self.set(name, now) }
    }

    fn optional<T: Serialize>(
        &mut self,
        name: &str,
        now: Option<&Shared<T>>,
        before: Option<&Shared<T>>,
    ) -> Result<(), Error> {
        match (now, before) {
            (None, None) => Ok(()),
            (Some(now), Some(before)) if now.is_same(before) => Ok(()),
            _ => self.set(name, &now),
        }
    }

    /// A node dispatches one step at most, so one entry is all that changes.
    fn attempts(&mut self, state: &RunState, before: u64) -> Result<(), Error> {
        const NAME: &str = "attempts_by_step";
        let attempts = &state.attempts_by_step;
        match (attempts.recorded.checked_sub(before), attempts.newest()) {
            (Some(0), _) => Ok(()),
            (Some(1), Some((step, attempt))) => {
                let entry = [(step.to_string(), attempt.into())].into();
                self.0.merge.insert(NAME.to_owned(), entry);
                Ok(())
            }
            _ => self.set(NAME, attempts),
        }
    }
}

#[cfg(test)]
mod tests {
    use cynode_domain::changes::{StateRecord, rebuild};
    use cynode_domain::job::{Action, Ending};
    use cynode_domain::plan::{InputMode, Step};
    use cynode_domain::status::JobStatus;
    use cynode_domain::verdict::VerdictStatus;
    use cynode_wire::workflow::Outcome;
    use proptest::prelude::*;
    use serde_json::{Value, json};

    use super::*;
    use crate::engine::ErrorClass;

    /// One thing that a transition may do to a state.
    #[derive(Debug, Clone)]
    enum Act {
        Plan(usize),
        Dispatch(u32, u32),
        Collect(String),
        Judge(bool),
        NextStep,
        Ask(String),
        Prefer(String),
        Try(u32),
        Fail(String),
        Finish,
        Nothing,
    }

    fn acts() -> impl Strategy<Value = Act> {
        prop_oneof![
            (0..20_usize).prop_map(Act::Plan),
            (0..50_u32, 1..4_u32).prop_map(|(step, attempt)| Act::Dispatch(step, attempt)),
            ".{0,40}".prop_map(Act::Collect),
            any::<bool>().prop_map(Act::Judge),
            Just(Act::NextStep),
            ".{0,10}".prop_map(Act::Ask),
            ".{0,10}".prop_map(Act::Prefer),
            any::<u32>().prop_map(Act::Try),
            ".{0,10}".prop_map(Act::Fail),
            Just(Act::Finish),
            Just(Act::Nothing),
        ]
    }

    fn act(state: &mut RunState, act: &Act) {
        match act {
            Act::Plan(steps) => {
                let action = Action::Command { line: "make".to_owned() };
                let expected_outputs = vec!["out".to_owned()];
                let step = Step { expected_outputs, ..Step::new(action) };
                state.plan =
                    Plan { steps: vec![step; *steps], assumptions: vec![], made_by: None }.into();
                state.request = None;
            }
            Act::Dispatch(step_index, attempt) => {
                state.attempts_by_step.record(*step_index, *attempt);
                let (job_id, step_index, attempt) = (JobId::generate(), *step_index, *attempt);
                state.job = Some(Job { job_id, step_index, attempt });
            }
            Act::Collect(text) => {
                let result = LastResult {
                    job_id: JobId::generate(),
                    status: JobStatus::Completed,
                    ending: Ending::Exited { code: 0 },
                    stdout_tail: text.clone(),
                    stderr_tail: String::new(),
                };
                state.last_result = Some(result.into());
            }
            Act::Judge(good) => {
                let status = if *good { VerdictStatus::Pass } else { VerdictStatus::Fail };
                let verdict = Verdict { status, findings: vec![], recommended_actions: vec![] };
                state.tally.by_rule += u32::from(*good);
                state.verification = Some(verdict.into());
            }
            Act::NextStep => state.current_step_index += 1,
            Act::Ask(prompt) => {
                let (mode, prompt) = (InputMode::Script, prompt.clone());
                let request = Request {
                    mode,
                    prompt,
                    commands: vec![],
                    expected_outputs: vec![],
                    step_criteria: vec![],
                    approve_plan: false,
                };
                state.request = Some(request.into());
            }
            Act::Prefer(key) => {
                state.preferences_effective.insert(key.clone(), json!({"masked": null}));
            }
            Act::Try(node_attempts) => {
                let policy = RunPolicy { node_attempts: *node_attempts, ..RunPolicy::default() };
                state.policy = Some(policy.into());
            }
            Act::Fail(reason) => {
                let (node, reason) = ("plan_steps".to_owned(), reason.clone());
                let (class, attempts) = (Some(ErrorClass::Denied), Some(1));
                state.failure = Some(NodeFailure { node, reason, class, attempts });
            }
            Act::Finish => {
                let (outcome, summary) = (Outcome::Completed, "done".to_owned());
                state.finish = Some(Finish { outcome, summary, verification: None });
            }
            Act::Nothing => {}
        }
    }

    proptest! {
        #[test]
        fn the_state_at_any_row_is_rebuilt_from_the_whole_one_before_it(
            transitions in prop::collection::vec((acts(), prop::bool::weighted(0.1)), 1..40),
        ) {
            let mut state = RunState::new(TaskId::generate());
            let (mut records, mut then) = (vec![], vec![]);
            let mut mark: Option<Mark> = None;
            for (one, is_whole) in &transitions {
                act(&mut state, one);
                let value = serde_json::to_value(&state).unwrap();
                records.push(match mark.filter(|_| !is_whole) {
                    Some(mark) => StateRecord::Changes(state.changes_since(&mark).unwrap()),
                    None => StateRecord::Whole(value.clone()),
                });
                mark = Some(state.mark());
                then.push(value);
            }

            for (row, expected) in then.iter().enumerate() {
                let whole = |record: &StateRecord| matches!(record, StateRecord::Whole(_));
                let base = records[..=row].iter().rposition(whole).unwrap();
                let rebuilt = rebuild(Value::Null, records[base..=row].iter().cloned());
                prop_assert_eq!(&rebuilt.unwrap(), expected);
            }
        }
    }

    #[test]
    fn a_long_run_tells_only_what_it_touched() {
        let mut state = RunState::new(TaskId::generate());
        act(&mut state, &Act::Plan(10_000));
        for step in 0..10_000 {
            state.attempts_by_step.record(step, 1);
        }
        let mark = state.mark();

        state.attempts_by_step.record(10_000, 1);
        state.current_step_index = 10_000;

        let told = serde_json::to_value(state.changes_since(&mark).unwrap()).unwrap();
        let expected = json!({
            "set": {"current_step_index": 10_000}, "merge": {"attempts_by_step": {"10000": 1}},
        });
        assert_eq!(told, expected);
    }
}
