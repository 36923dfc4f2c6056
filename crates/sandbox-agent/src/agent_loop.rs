//! The worker of a job: asks the model for an action, executes it, shows the result.
//!
//! [`cynode_roles::run_worker`] runs it until a stop condition. Time and signals are up to the caller, which drops the
//! future.

use std::ops::ControlFlow;

use cynode_agent_job::bounded_text::{clip_middle, one_line};
use cynode_agent_job::instruction_feed::{InstructionFeed, render_instructions};
use cynode_agent_job::journal::{Journal, StepOutcome};
use cynode_agent_job::stop::JobEnd;
use cynode_domain::criteria::Criterion;
use cynode_domain::trace::TraceStop;
use cynode_llm_wire::openai::ChatCompletion;
use cynode_roles::{StepWorker, WorkerEnd};
use cynode_wire::agent_jobs::{ActionFormat, AgentJobSpec, CriterionEvidence, StopCondition};
use serde_json::{Map, Value};

use crate::action::{Action, FinishReport, RunCommand, ToolAction};
use crate::action_schema::ToolGrant;
use crate::answer::{MalformedAnswer, RequestedAction, parse_answer};
use crate::finish::{missing_evidence, resolve_evidence};
use crate::granted_tools::GrantedTools;
use crate::limits::JobLimits;
use crate::model::{ModelClient, ModelError};
use crate::observation::Observation;
use crate::prompt::format_instructions;
use crate::recovery::{Progress, Recovery};
use crate::tools::Toolbox;
use crate::transcript::{Transcript, estimate_tokens};

/// The most bytes of a message of the model in the result.
const MESSAGE_BYTES: usize = 2_000;
const REPETITION_WARNING: &str = "Warning: this action had the same result before. Do something \
     else: a third time ends the job.";

const FINISH_POSTPONED: &str = "the project manager has new instructions";

/// When the agent asks for instructions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum PollTime {
    WhenDue,
    Now,
}

/// A job that a model decides.
pub(crate) struct AgentLoop<'a> {
    pub(crate) spec: &'a AgentJobSpec,
    pub(crate) model: ModelClient,
    pub(crate) toolbox: &'a Toolbox,
    /// Absent if the agent may send no heartbeats.
    pub(crate) feed: Option<InstructionFeed>,
    pub(crate) transcript: Transcript,
    pub(crate) recovery: Recovery,
    pub(crate) limits: JobLimits,
    pub(crate) journal: &'a mut Journal,
    pub(crate) format: ActionFormat,
    /// Whether the model got a note about criteria without evidence.
    pub(crate) was_reminded_of_evidence: bool,
}

/// The end of a job as the end of the loop.
pub(crate) struct AgentLoopEnd(pub(crate) JobEnd);

impl WorkerEnd for AgentLoopEnd {
    fn stop(&self) -> TraceStop {
        self.0.trace_stop()
    }

    fn error_kind(&self) -> Option<&str> {
        let is_failure = self.0.stop() == StopCondition::ToolFailure;
        is_failure.then_some("tool_failure")
    }
}

fn end_loop<T>(end: JobEnd) -> ControlFlow<AgentLoopEnd, T> {
    ControlFlow::Break(AgentLoopEnd(end))
}

impl StepWorker for AgentLoop<'_> {
    type Observation = ();
    type Decision = Vec<RequestedAction>;
    type End = AgentLoopEnd;

    async fn observe(&mut self) -> ControlFlow<AgentLoopEnd> {
        if let Some(end) = self.limits.find_reached(&self.journal.usage) {
            return end_loop(end);
        }
        self.journal.action_format = Some(self.format);
        self.add_instructions(PollTime::WhenDue).await;
        ControlFlow::Continue(())
    }

    async fn reason(&mut self, (): ()) -> ControlFlow<AgentLoopEnd, Option<Vec<RequestedAction>>> {
        let answered = match self.ask_model().await {
            Ok(completion) => parse_answer(&completion),
            Err(ModelError::Refused(fault)) => {
                Err(MalformedAnswer { quoted: String::new(), fault })
            }
            Err(ModelError::Unsupported(message)) => {
                if self.use_next_format(&message) {
                    return ControlFlow::Continue(None);
                }
                return end_loop(JobEnd::unmet(StopCondition::ToolFailure, message));
            }
            Err(ModelError::Budget(message)) => {
                return end_loop(JobEnd::unmet(StopCondition::Budget, message));
            }
            Err(ModelError::Lost(message)) => {
                return end_loop(JobEnd::unmet(StopCondition::ToolFailure, message));
            }
        };
        match answered {
            Ok(actions) => ControlFlow::Continue(Some(actions)),
            Err(malformed) => match self.reject_answer(&malformed) {
                Some(end) => end_loop(end),
                None => ControlFlow::Continue(None),
            },
        }
    }

    fn tools(&self, actions: &Vec<RequestedAction>) -> Vec<String> {
        actions.iter().map(RequestedAction::tool).collect()
    }

    async fn act(&mut self, actions: Vec<RequestedAction>) -> ControlFlow<AgentLoopEnd> {
        match self.perform_all(actions).await {
            Some(end) => end_loop(end),
            None => ControlFlow::Continue(()),
        }
    }
}

impl AgentLoop<'_> {
    /// Shows new instructions of the project manager to the model; returns whether there are any.
    async fn add_instructions(&mut self, time: PollTime) -> bool {
        let carried = self.toolbox.granted_tools().map(GrantedTools::take_instructions);
        let mut new = carried.unwrap_or_default();
        if let Some(feed) = &mut self.feed {
            // Before the others are recorded: a heartbeat acknowledges those that the model has seen.
            let polled = match time {
                PollTime::WhenDue => feed.poll_if_due().await,
                PollTime::Now => feed.poll().await,
            };
            new = feed.select_new(new);
            new.extend(polled);
        }
        for instruction in &new {
            let text = one_line(&instruction.instructions, MESSAGE_BYTES);
            self.journal.note("instruction", &instruction.instruction_type, true, &text);
        }
        if !new.is_empty() {
            self.transcript.push_instructions(render_instructions(&new));
        }
        !new.is_empty()
    }

    async fn ask_model(&mut self) -> Result<ChatCompletion, ModelError> {
        let (request, compacted) = self.transcript.build_request(self.format);
        if compacted > 0 {
            let text = format!("{compacted} turns were replaced by one line each");
            self.journal.note("compaction", "", true, &text);
        }
        let estimated_input = estimate_tokens(&request);
        self.journal.usage.calls += 1;
        let completion = self.model.ask(request).await?;
        // Answers that cannot be parsed are counted too.
        let usage = completion.usage.clone().unwrap_or_default();
        let (mut input, mut output) = (usage.prompt_tokens, usage.completion_tokens);
        if input == 0 && output == 0 {
            input = u64::try_from(estimated_input).unwrap_or(u64::MAX);
            output = u64::try_from(completion.text().len().div_ceil(4)).unwrap_or(u64::MAX);
        }
        self.journal.usage.input_tokens += input;
        self.journal.usage.output_tokens += output;
        Ok(completion)
    }

    /// Changes to the next simpler format; returns false if there is none.
    fn use_next_format(&mut self, reason: &str) -> bool {
        let next = match self.format {
            ActionFormat::NativeCalls => ActionFormat::JsonSchema,
            ActionFormat::JsonSchema => ActionFormat::FencedText,
            ActionFormat::FencedText => return false,
        };
        self.format = next;
        let name = match next {
            ActionFormat::NativeCalls => "native_calls",
            ActionFormat::JsonSchema => "json_schema",
            ActionFormat::FencedText => "fenced_text",
        };
        self.journal.note("format", name, true, reason);
        true
    }

    fn reject_answer(&mut self, malformed: &MalformedAnswer) -> Option<JobEnd> {
        self.journal.note("malformed", "", false, &malformed.fault);
        if self.recovery.count_malformed() == Progress::Stop {
            let message = format!("three answers in a row were malformed: {}", malformed.fault);
            return Some(JobEnd::unmet(StopCondition::MalformedActions, message));
        }
        self.use_next_format(&malformed.fault);
        let instructions = format_instructions(self.format, ToolGrant::None)
            .and_then(|text| text.lines().next().map(str::to_owned))
            .unwrap_or_default();
        let fault = format!("Invalid answer: {}.\n{instructions}", malformed.fault);
        self.transcript.push_rejected(&malformed.quoted, fault.trim_end());
        None
    }

    /// Performs the actions of one answer while limits allow.
    async fn perform_all(&mut self, actions: Vec<RequestedAction>) -> Option<JobEnd> {
        self.recovery.count_well_formed();
        for requested in actions {
            if self.limits.find_reached(&self.journal.usage).is_some() {
                return None;
            }
            self.limits.count_step();
            if let Err(end) = self.perform(requested).await {
                return Some(end);
            }
        }
        None
    }

    async fn perform(&mut self, requested: RequestedAction) -> Result<(), JobEnd> {
        let RequestedAction { action, name, arguments } = requested;
        let (subject, observation) = match &action {
            Action::Tool(action) => {
                let subject = action.subject();
                self.journal.begin(&name, &subject);
                (subject, self.execute_tool(action).await?)
            }
            Action::Finish(report) => {
                let subject = one_line(&report.summary, 200);
                if self.add_instructions(PollTime::Now).await {
                    self.journal.begin(&name, &subject);
                    self.journal.end(&StepOutcome::failed(FINISH_POSTPONED.to_owned()));
                    return Ok(());
                }
                match self.accept_finish(report).await? {
                    Ok(evidence) => {
                        self.journal.begin(&name, &subject);
                        self.journal.end(&Observation::succeeded("the goal is met").to_outcome());
                        let summary = clip_middle(&report.summary, MESSAGE_BYTES);
                        return Err(JobEnd::Met { summary, evidence });
                    }
                    Err(observation) => {
                        self.journal.begin(&name, &subject);
                        (subject, observation)
                    }
                }
            }
            Action::GiveUp { reason } => {
                self.journal.begin(&name, &one_line(reason, 200));
                self.journal.end(&Observation::succeeded("gave up").to_outcome());
                let reason = clip_middle(reason, MESSAGE_BYTES);
                return Err(JobEnd::unmet(StopCondition::GaveUp, reason));
            }
        };
        self.journal.end(&observation.to_outcome());
        self.conclude(&name, &subject, &arguments, &observation)
    }

    /// Executes a tool under the rules of recovery.
    async fn execute_tool(&mut self, action: &ToolAction) -> Result<Observation, JobEnd> {
        let workspace = self.toolbox.workspace();
        if let Some(refusal) = self.recovery.refuse_edit(action, workspace) {
            return Ok(refusal);
        }
        let observation = self.toolbox.execute(action).await.map_err(|error| {
            self.journal.end(&StepOutcome::failed(error.to_string()));
            JobEnd::unmet(StopCondition::ToolFailure, error.to_string())
        })?;
        Ok(self.recovery.count_edit(action, observation, workspace))
    }

    /// Adds the turn to the transcript; ends the job if it repeats itself.
    fn conclude(
        &mut self,
        name: &str,
        subject: &str,
        arguments: &Map<String, Value>,
        observation: &Observation,
    ) -> Result<(), JobEnd> {
        let progress = self.recovery.count_result(name, arguments, observation);
        if progress == Progress::Stop {
            let message = format!("{name} {subject} had the same result three times");
            return Err(JobEnd::unmet(StopCondition::NoProgress, message));
        }
        let mut text = observation.render();
        if progress == Progress::Warn {
            text = format!("{text}\n{REPETITION_WARNING}");
        }
        let left = self.limits.describe(&self.journal.usage);
        let summary = format!("{name} {}: {}", one_line(subject, 80), observation.headline);
        self.transcript.push_action(name, arguments, format!("{text}\n{left}"), &summary);
        Ok(())
    }

    /// Validates a report and runs the commands of the criteria. The inner error is the observation of a rejected
    /// report.
    async fn accept_finish(
        &mut self,
        report: &FinishReport,
    ) -> Result<Result<Vec<CriterionEvidence>, Observation>, JobEnd> {
        let criteria = &self.spec.context.acceptance_criteria;
        let mut evidence = match resolve_evidence(report, criteria) {
            Ok(evidence) => evidence,
            Err(fault) => return Ok(Err(Observation::failed(fault))),
        };
        let missing = missing_evidence(&evidence, criteria);
        if !missing.is_empty() && !self.was_reminded_of_evidence {
            self.was_reminded_of_evidence = true;
            let message = format!(
                "finish: there is no evidence for the criteria {missing:?}; check them and state \
                 what shows that they are met"
            );
            return Ok(Err(Observation::failed(message)));
        }
        for (index, criterion) in criteria.iter().enumerate() {
            let Criterion::CommandSucceeds { command } = criterion else { continue };
            let check = RunCommand { command: command.clone(), timeout_s: None };
            let action = ToolAction::RunCommand(check);
            self.journal.begin(action.name(), &action.subject());
            let checked = self.execute_tool(&action).await?;
            self.journal.end(&checked.to_outcome());
            if !checked.is_success() {
                let headline =
                    format!("finish is rejected: criterion {index} fails: {}", checked.headline);
                return Ok(Err(Observation { headline, ..checked }));
            }
            if !evidence.iter().any(|it| it.criterion == index) {
                let evidence_text = format!("`{command}`: {}", checked.headline);
                evidence.push(CriterionEvidence { criterion: index, evidence: evidence_text });
            }
        }
        Ok(Ok(evidence))
    }
}
