//! Redaction of text before it is stored.

use cynode_domain::criteria::Criterion;
use cynode_domain::plan::{InputMode, StepCriterion};
use cynode_wire::tasks::CreateTask;
use serde_json::Value;

use super::{SecretKinds, redact_text, redact_value};

/// Text, or a structure with text, written by people or agents.
pub trait RedactSecrets: Sized {
    /// Replaces secrets with [`SECRET_MARKER`](super::SECRET_MARKER). Idempotent.
    #[must_use]
    fn redact_secrets(self) -> Self;
}

impl RedactSecrets for String {
    fn redact_secrets(mut self) -> Self {
        redact_text(&mut self, &mut SecretKinds::new());
        self
    }
}

impl RedactSecrets for Value {
    fn redact_secrets(mut self) -> Self {
        redact_value(&mut self, &mut SecretKinds::new());
        self
    }
}

impl<T: RedactSecrets> RedactSecrets for Option<T> {
    fn redact_secrets(self) -> Self {
        self.map(T::redact_secrets)
    }
}

impl<T: RedactSecrets> RedactSecrets for Vec<T> {
    fn redact_secrets(self) -> Self {
        self.into_iter().map(T::redact_secrets).collect()
    }
}

impl RedactSecrets for Criterion {
    /// Redacts prose only: commands and expressions must stay executable.
    fn redact_secrets(self) -> Self {
        match self {
            Self::Text { description } => Self::Text { description: description.redact_secrets() },
            rule @ (Self::ExitCode { .. }
            | Self::OutputMatches { .. }
            | Self::FileExists { .. }
            | Self::CommandSucceeds { .. }) => rule,
        }
    }
}

impl RedactSecrets for StepCriterion {
    fn redact_secrets(self) -> Self {
        Self { criterion: self.criterion.redact_secrets(), ..self }
    }
}

impl RedactSecrets for CreateTask {
    /// Redacts prose only: commands and scripts must stay executable.
    fn redact_secrets(self) -> Self {
        let prompt = match self.input_mode {
            InputMode::Prompt | InputMode::Agent | InputMode::Request => {
                self.prompt.redact_secrets()
            }
            InputMode::Commands | InputMode::Script => self.prompt,
        };
        Self {
            prompt,
            task_name: self.task_name.redact_secrets(),
            acceptance_criteria: self.acceptance_criteria.redact_secrets(),
            step_criteria: self.step_criteria.redact_secrets(),
            ..self
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const KEY: &str = "sk-proj-Zk93hQ0vLx72PbNcR5tYw8AeUi4SdGf6";

    #[test]
    fn prose_of_a_task_is_kept_without_secrets_and_what_runs_stays_as_it_is() {
        let request = |mode: &str| -> CreateTask {
            let criteria = json!([
                { "kind": "text", "description": format!("it works with {KEY}") },
                { "kind": "command_succeeds", "command": format!("curl -u {KEY}") },
            ]);
            let of_step = json!({ "step_index": 0, "criterion": criteria[0] });
            let request = json!({ "input_mode": mode, "prompt": format!("use {KEY}"),
                "task_name": format!("deploy {KEY}"), "acceptance_criteria": criteria,
                "step_criteria": [of_step] });
            serde_json::from_value(request).unwrap()
        };

        let prose = request("prompt").redact_secrets();
        let script = request("script").redact_secrets();

        assert_eq!(prose.prompt, "use sk-SECRET_REDACTED");
        assert_eq!(prose.task_name.unwrap(), "deploy sk-SECRET_REDACTED");
        assert_eq!(script.prompt, format!("use {KEY}"), "a script must work");
        let [text, command] = &*prose.acceptance_criteria else { panic!("two criteria") };
        let said = "it works with sk-SECRET_REDACTED".to_owned();
        assert_eq!(*text, Criterion::Text { description: said });
        assert_eq!(prose.step_criteria[0].criterion, *text);
        assert_eq!(*command, Criterion::CommandSucceeds { command: format!("curl -u {KEY}") });
    }
}
