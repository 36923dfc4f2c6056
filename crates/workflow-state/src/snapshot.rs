//! Computes the changes of a transition without comparing the full state.

use serde::Serialize;
use serde_json::Error;

use crate::changes::Changes;
use crate::{
    ContinuationRecord, DispatchedStepJob, Finish, JobResultSummary, NodeFailure, RunTaskRequest,
    SharedCriteria, SharedPart, SharedPreferences, StepRevision, TaskStepBounds, VerificationTally,
    WorkflowState,
};
use cynode_domain::plan::Plan;
use cynode_domain::run_policy::RunPolicy;
use cynode_domain::verdict::Verdict;

/// Snapshot of a state at its last transition, as far as needed to compute later changes.
#[derive(Debug)]
pub struct WorkflowStateSnapshot {
    criteria: SharedCriteria,
    preferences: SharedPreferences,
    plan: SharedPart<Plan>,
    current_step_index: u32,
    attempts_recorded: u64,
    last_result: Option<SharedPart<JobResultSummary>>,
    verification: Option<SharedPart<Verdict>>,
    tally: VerificationTally,
    continuation: Option<ContinuationRecord>,
    revision: Option<StepRevision>,
    request: Option<SharedPart<RunTaskRequest>>,
    bounds: TaskStepBounds,
    policy: Option<SharedPart<RunPolicy>>,
    job: Option<DispatchedStepJob>,
    failure: Option<NodeFailure>,
    finish: Option<Finish>,
}

impl WorkflowState {
    /// Takes a snapshot of this state.
    pub fn snapshot(&self) -> WorkflowStateSnapshot {
        WorkflowStateSnapshot {
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

    /// Computes the changes since `before`: applied to that state, they yield this one. The cost is
    /// proportional to the changes.
    pub fn changes_since(&self, before: &WorkflowStateSnapshot) -> Result<Changes, Error> {
        let mut recorder = ChangeRecorder::default();
        recorder.record_shared(
            "acceptance_criteria",
            &self.acceptance_criteria,
            &before.criteria,
        )?;
        recorder.record_shared(
            "preferences_effective",
            &self.preferences_effective,
            &before.preferences,
        )?;
        recorder.record_shared("plan", &self.plan, &before.plan)?;
        recorder.record_field(
            "current_step_index",
            &self.current_step_index,
            &before.current_step_index,
        )?;
        recorder.record_optional(
            "last_result",
            self.last_result.as_ref(),
            before.last_result.as_ref(),
        )?;
        recorder.record_optional(
            "verification",
            self.verification.as_ref(),
            before.verification.as_ref(),
        )?;
        recorder.record_field("tally", &self.tally, &before.tally)?;
        recorder.record_field("continuation", &self.continuation, &before.continuation)?;
        recorder.record_field("revision", &self.revision, &before.revision)?;
        recorder.record_optional("request", self.request.as_ref(), before.request.as_ref())?;
        recorder.record_field("bounds", &self.bounds, &before.bounds)?;
        recorder.record_optional("policy", self.policy.as_ref(), before.policy.as_ref())?;
        recorder.record_field("job", &self.job, &before.job)?;
        recorder.record_field("failure", &self.failure, &before.failure)?;
        recorder.record_field("finish", &self.finish, &before.finish)?;
        recorder.record_attempts(self, before.attempts_recorded)?;
        Ok(recorder.0)
    }
}

/// Collects changes.
#[derive(Default)]
struct ChangeRecorder(Changes);

impl ChangeRecorder {
    fn record_value(&mut self, name: &str, value: &impl Serialize) -> Result<(), Error> {
        self.0.set.insert(name.to_owned(), serde_json::to_value(value)?);
        Ok(())
    }

    fn record_field<T: Serialize + PartialEq>(
        &mut self,
        name: &str,
        now: &T,
        before: &T,
    ) -> Result<(), Error> {
        if now == before { Ok(()) } else { self.record_value(name, now) }
    }

    fn record_shared<T: Serialize>(
        &mut self,
        name: &str,
        now: &SharedPart<T>,
        before: &SharedPart<T>,
    ) -> Result<(), Error> {
        if now.is_same_allocation(before) { Ok(()) } else { self.record_value(name, now) }
    }

    fn record_optional<T: Serialize>(
        &mut self,
        name: &str,
        now: Option<&SharedPart<T>>,
        before: Option<&SharedPart<T>>,
    ) -> Result<(), Error> {
        match (now, before) {
            (None, None) => Ok(()),
            (Some(now), Some(before)) if now.is_same_allocation(before) => Ok(()),
            _ => self.record_value(name, &now),
        }
    }

    /// A node dispatches at most one step, so at most one entry changes.
    fn record_attempts(&mut self, state: &WorkflowState, before: u64) -> Result<(), Error> {
        const NAME: &str = "attempts_by_step";
        let attempts = &state.attempts_by_step;
        match (attempts.recorded.checked_sub(before), attempts.newest()) {
            (Some(0), _) => Ok(()),
            (Some(1), Some((step, attempt))) => {
                let entry = [(step.to_string(), attempt.into())].into();
                self.0.merge.insert(NAME.to_owned(), entry);
                Ok(())
            }
            _ => self.record_value(NAME, attempts),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::{Value, json};

    use super::*;
    use crate::changes::{StateRecord, rebuild_state};
    use crate::{NodeErrorClass, Outcome};
    use cynode_domain::ids::{JobId, TaskId};
    use cynode_domain::job::{Action, JobEnding};
    use cynode_domain::plan::{InputMode, Step};
    use cynode_domain::status::JobStatus;
    use cynode_domain::verdict::VerdictStatus;

    /// One mutation of a state by a transition.
    #[derive(Debug, Clone)]
    enum StateMutation {
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

    fn any_mutation() -> impl Strategy<Value = StateMutation> {
        prop_oneof![
            (0..20_usize).prop_map(StateMutation::Plan),
            (0..50_u32, 1..4_u32)
                .prop_map(|(step, attempt)| StateMutation::Dispatch(step, attempt)),
            ".{0,40}".prop_map(StateMutation::Collect),
            any::<bool>().prop_map(StateMutation::Judge),
            Just(StateMutation::NextStep),
            ".{0,10}".prop_map(StateMutation::Ask),
            ".{0,10}".prop_map(StateMutation::Prefer),
            any::<u32>().prop_map(StateMutation::Try),
            ".{0,10}".prop_map(StateMutation::Fail),
            Just(StateMutation::Finish),
            Just(StateMutation::Nothing),
        ]
    }

    fn apply_mutation(state: &mut WorkflowState, act: &StateMutation) {
        match act {
            StateMutation::Plan(steps) => {
                let action = Action::Command { line: "make".to_owned() };
                let expected_outputs = vec!["out".to_owned()];
                let step = Step { expected_outputs, ..Step::new(action) };
                state.plan =
                    Plan { steps: vec![step; *steps], assumptions: vec![], made_by: None }.into();
                state.request = None;
            }
            StateMutation::Dispatch(step_index, attempt) => {
                state.attempts_by_step.record(*step_index, *attempt);
                let (job_id, step_index, attempt) = (JobId::generate(), *step_index, *attempt);
                state.job = Some(DispatchedStepJob { job_id, step_index, attempt });
            }
            StateMutation::Collect(text) => {
                let result = JobResultSummary {
                    job_id: JobId::generate(),
                    status: JobStatus::Completed,
                    ending: JobEnding::Exited { code: 0 },
                    stdout_tail: text.clone(),
                    stderr_tail: String::new(),
                };
                state.last_result = Some(result.into());
            }
            StateMutation::Judge(good) => {
                let status = if *good { VerdictStatus::Pass } else { VerdictStatus::Fail };
                let verdict = Verdict { status, findings: vec![], recommended_actions: vec![] };
                state.tally.by_rule += u32::from(*good);
                state.verification = Some(verdict.into());
            }
            StateMutation::NextStep => state.current_step_index += 1,
            StateMutation::Ask(prompt) => {
                let (mode, prompt) = (InputMode::Script, prompt.clone());
                let request = RunTaskRequest {
                    mode,
                    prompt,
                    commands: vec![],
                    expected_outputs: vec![],
                    step_criteria: vec![],
                    approve_plan: false,
                };
                state.request = Some(request.into());
            }
            StateMutation::Prefer(key) => {
                state.preferences_effective.insert(key.clone(), json!({"masked": null}));
            }
            StateMutation::Try(node_attempts) => {
                let policy = RunPolicy { node_attempts: *node_attempts, ..RunPolicy::default() };
                state.policy = Some(policy.into());
            }
            StateMutation::Fail(reason) => {
                let (node, reason) = ("plan_steps".to_owned(), reason.clone());
                let (class, attempts) = (Some(NodeErrorClass::Denied), Some(1));
                state.failure = Some(NodeFailure { node, reason, class, attempts });
            }
            StateMutation::Finish => {
                let (outcome, summary) = (Outcome::Completed, "done".to_owned());
                state.finish = Some(Finish { outcome, summary, verification: None });
            }
            StateMutation::Nothing => {}
        }
    }

    proptest! {
        #[test]
        fn the_state_at_any_row_is_rebuilt_from_the_whole_one_before_it(
            transitions in prop::collection::vec((any_mutation(), prop::bool::weighted(0.1)), 1..40),
        ) {
            let mut state = WorkflowState::new(TaskId::generate());
            let (mut records, mut then) = (vec![], vec![]);
            let mut mark: Option<WorkflowStateSnapshot> = None;
            for (one, is_whole) in &transitions {
                apply_mutation(&mut state, one);
                let value = serde_json::to_value(&state).unwrap();
                records.push(match mark.filter(|_| !is_whole) {
                    Some(mark) => StateRecord::Changes(state.changes_since(&mark).unwrap()),
                    None => StateRecord::Full(value.clone()),
                });
                mark = Some(state.snapshot());
                then.push(value);
            }

            for (row, expected) in then.iter().enumerate() {
                let whole = |record: &StateRecord| matches!(record, StateRecord::Full(_));
                let base = records[..=row].iter().rposition(whole).unwrap();
                let rebuilt = rebuild_state(Value::Null, records[base..=row].iter().cloned());
                prop_assert_eq!(&rebuilt.unwrap(), expected);
            }
        }
    }

    #[test]
    fn a_long_run_tells_only_what_it_touched() {
        let mut state = WorkflowState::new(TaskId::generate());
        apply_mutation(&mut state, &StateMutation::Plan(10_000));
        for step in 0..10_000 {
            state.attempts_by_step.record(step, 1);
        }
        let mark = state.snapshot();

        state.attempts_by_step.record(10_000, 1);
        state.current_step_index = 10_000;

        let told = serde_json::to_value(state.changes_since(&mark).unwrap()).unwrap();
        let expected = json!({
            "set": {"current_step_index": 10_000}, "merge": {"attempts_by_step": {"10000": 1}},
        });
        assert_eq!(told, expected);
    }
}
