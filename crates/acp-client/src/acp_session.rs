//! A session with an agent that speaks the Agent Client Protocol.
//!
//! Start at [`run_acp_program`]. One task reads the messages of the agent in order; a request of this client waits for
//! its response while it answers the requests of the agent.

mod messages;

use cynode_agent_job::OpenJob;
use cynode_agent_job::bounded_text::one_line;
use cynode_agent_job::instruction_feed::{InstructionFeed, render_instructions};
use cynode_agent_job::journal::Journal;
use cynode_agent_job::stop::JobEnd;
use cynode_agent_job::workspace::Workspace;
use cynode_wire::agent_jobs::{AgentProgramSpec, PermissionRules, StopCondition};
use cynode_wire::transcript::AGENT;
use serde_json::{Value, json};
use tokio::time::timeout;

use crate::acp_error::AcpError;
use crate::agent_link::AgentLink;
use crate::message::{AUTH_REQUIRED, render_notification};
use crate::program::{Interruption, ProgramObservations, ProgramOptions, ProgramRun};
use crate::protocol::{self, AuthMethod, Initialized, NewSession, PromptEnd};
use crate::update_recorder::UpdateRecorder;

/// The most bytes of a line or a name of the agent in the transcript.
const QUOTE_BYTES: usize = 200;
/// The most turns that instructions of the project manager start.
const MAX_INSTRUCTED_TURNS: usize = 20;
/// The most bytes of an instruction in the transcript.
const INSTRUCTION_BYTES: usize = 500;

/// Runs the agent of a job until its turn ends, it fails, or the job is interrupted.
pub(crate) async fn run_acp_program(
    job: &mut OpenJob,
    program: &AgentProgramSpec,
    run: &mut ProgramRun<'_>,
) -> JobEnd {
    let AgentProgramSpec::Acp { command, env, permissions, mode, model } = program else {
        return JobEnd::unmet(StopCondition::InvalidSpec, "the program does not speak ACP");
    };
    let ProgramRun { options, feed, interruption, prompt, observed } = run;
    let (spec, workspace, journal) = job.parts();
    let link = match AgentLink::start(command, env, workspace.root()) {
        Ok(link) => link,
        Err(cause) => {
            let program = command.first().cloned().unwrap_or_default();
            return AcpError::Start { program, cause }.to_end();
        }
    };
    let mut session = AcpSession {
        link,
        journal,
        workspace,
        permissions,
        options,
        interruption,
        observed,
        recorder: UpdateRecorder::new(spec.get().constraints.max_steps),
        next_id: 0,
        session_id: None,
        prompt_id: None,
        is_cancelled: false,
        stray_lines: 0,
    };
    let settings = Settings { mode: mode.as_deref(), model: model.as_deref() };
    let end = tokio::select! {
        biased;
        end = interruption.wait() => {
            session.cancel().await;
            end
        }
        turn = Box::pin(session.run_turns(prompt, settings, feed.as_mut())) => match turn {
            Ok(end) => session.finish_turn(&end.stop_reason).await,
            Err(error) => {
                if let AcpError::StepsUsed(_) = error {
                    session.cancel().await;
                }
                error.to_end()
            }
        },
    };
    session.close(end).await
}

/// What is selected before the turn.
#[derive(Debug, Clone, Copy)]
struct Settings<'a> {
    mode: Option<&'a str>,
    model: Option<&'a str>,
}

struct AcpSession<'a> {
    link: AgentLink,
    journal: &'a mut Journal,
    workspace: &'a Workspace,
    permissions: &'a PermissionRules,
    options: &'a ProgramOptions,
    interruption: &'a Interruption<'a>,
    observed: &'a mut ProgramObservations,
    recorder: UpdateRecorder,
    next_id: u64,
    session_id: Option<String>,
    /// The prompt that has no response yet.
    prompt_id: Option<u64>,
    is_cancelled: bool,
    stray_lines: usize,
}

impl AcpSession<'_> {
    /// Runs turns until one ends without new instructions of the project manager, each of which is the prompt of a turn.
    async fn run_turns(
        &mut self,
        prompt: &str,
        settings: Settings<'_>,
        mut feed: Option<&mut InstructionFeed>,
    ) -> Result<PromptEnd, AcpError> {
        let session = self.start_session(settings).await?;
        let mut end = self.run_turn(&session, prompt).await?;
        for _ in 0..MAX_INSTRUCTED_TURNS {
            let Some(feed) = feed.as_mut().filter(|_| end.stop_reason == "end_turn") else { break };
            let instructions = feed.poll().await;
            if instructions.is_empty() {
                break;
            }
            for instruction in &instructions {
                let text = one_line(&instruction.instructions, INSTRUCTION_BYTES);
                self.journal.note("instruction", &instruction.instruction_type, true, &text);
            }
            end = self.run_turn(&session, &render_instructions(&instructions)).await?;
        }
        Ok(end)
    }

    async fn run_turn(&mut self, session: &str, prompt: &str) -> Result<PromptEnd, AcpError> {
        let params = protocol::prompt_params(session, prompt);
        let id = self.send_request("session/prompt", &params)?;
        self.prompt_id = Some(id);
        self.observed.has_prompt = true;
        let end = self.wait_for_response("session/prompt", id).await?;
        self.prompt_id = None;
        Ok(end)
    }

    /// Opens a session with its settings; returns its id.
    async fn start_session(&mut self, settings: Settings<'_>) -> Result<String, AcpError> {
        let agent: Initialized =
            self.shake_hands("initialize", protocol::initialize_params()).await?;
        if agent.protocol_version != protocol::VERSION {
            return Err(AcpError::Version(agent.protocol_version));
        }
        if let Some(info) = &agent.agent_info {
            let name = format!("{} {}", info.name, info.version);
            self.journal.note(AGENT, &name, true, "speaks the Agent Client Protocol");
            self.observed.agent = Some(name);
        }
        let session = self.open_session(&agent.auth_methods).await?;
        self.session_id = Some(session.session_id.clone());
        if let Some(mode) = settings.mode {
            let (method, params) = session.select_mode(mode).ok_or(AcpError::NotOffered("mode"))?;
            let _: Value = self.shake_hands(method, params).await?;
        }
        if let Some(model) = settings.model {
            let (method, params) =
                session.select_model(model).ok_or(AcpError::NotOffered("model"))?;
            let _: Value = self.shake_hands(method, params).await?;
        }
        Ok(session.session_id)
    }

    /// Opens a session; authenticates if the agent demands it and offers a method without a secret.
    async fn open_session(&mut self, methods: &[AuthMethod]) -> Result<NewSession, AcpError> {
        let bridge = self.options.mcp_bridge.as_ref();
        let params = protocol::new_session_params(self.workspace.root(), bridge);
        let demanded = match self.shake_hands("session/new", params.clone()).await {
            Err(AcpError::Rejected { error, .. }) if error.code == AUTH_REQUIRED => error.message,
            opened => return opened,
        };
        for method in methods.iter().filter(|method| method.needs_no_secret()) {
            let chosen = json!({ "methodId": method.id });
            match self.shake_hands::<Value>("authenticate", chosen).await {
                Ok(_) => return self.shake_hands("session/new", params).await,
                Err(AcpError::Rejected { error, .. }) => {
                    self.journal.note(AGENT, &method.id, false, &error.message);
                }
                Err(error) => return Err(error),
            }
        }
        let names: Vec<String> =
            methods.iter().map(|method| one_line(&method.name, QUOTE_BYTES)).collect();
        let demanded = one_line(&demanded, QUOTE_BYTES);
        Err(AcpError::Authentication(format!("{demanded}; methods: {}", names.join(", "))))
    }

    /// Asks the agent to end its turn, and waits a moment for it.
    async fn cancel(&mut self) {
        self.is_cancelled = true;
        let (Some(session), Some(id)) = (&self.session_id, self.prompt_id) else { return };
        let cancel = render_notification("session/cancel", &json!({ "sessionId": session }));
        if self.send(&cancel).is_err() {
            return;
        }
        let patience = self.interruption.limit_timeouts(self.options.timeouts).cancel;
        let ended = timeout(patience, self.wait_for_response::<Value>("session/cancel", id)).await;
        let text = match ended {
            Ok(Ok(_)) => "the agent ended its turn",
            Ok(Err(_)) => "the agent failed",
            Err(_) => "the agent did not end its turn",
        };
        let is_ended = matches!(ended, Ok(Ok(_)));
        self.observed.is_cancelled = Some(is_ended);
        self.journal.note(AGENT, "cancelled", is_ended, text);
    }

    /// The end of the job that a turn's end means.
    async fn finish_turn(&mut self, stop_reason: &str) -> JobEnd {
        self.link.close_input(self.options.timeouts.exit).await;
        let (stop, message) = match stop_reason {
            "end_turn" => {
                let summary = match self.recorder.finish(self.journal) {
                    message if message.is_empty() => "The agent ended without a message.".into(),
                    message => message,
                };
                return JobEnd::Met { summary, evidence: Vec::new() };
            }
            "max_tokens" => (StopCondition::Budget, "the agent reached its limit of tokens"),
            "max_turn_requests" => {
                (StopCondition::Steps, "the agent reached its limit of model calls")
            }
            "refusal" => (StopCondition::GaveUp, "the agent refused to go on"),
            "cancelled" => (StopCondition::GaveUp, "the agent cancelled its turn"),
            _ => (StopCondition::GaveUp, "the agent stopped for an unknown reason"),
        };
        let message = match self.recorder.finish(self.journal) {
            last if last.is_empty() => message.to_owned(),
            last => format!("{message}; its last words: {last}"),
        };
        JobEnd::unmet(stop, message)
    }

    /// Ends the agent's processes and the record.
    async fn close(mut self, end: JobEnd) -> JobEnd {
        let patience = self.interruption.limit_timeouts(self.options.timeouts).exit;
        self.observed.is_killed = !self.link.end(patience).await;
        self.recorder.finish(self.journal);
        end
    }
}
