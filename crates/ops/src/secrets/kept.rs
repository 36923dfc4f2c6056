//! What is written down, as it is kept.

use cynode_domain::criteria::Criterion;
use cynode_domain::plan::{InputMode, StepCriterion};
use cynode_wire::tasks::CreateTask;
use serde_json::Value;

use super::{Kinds, clean_text, clean_value};

/// Something that people or agents write.
pub(crate) trait WithoutSecrets: Sized {
    /// The same with a mark where its secrets were. What is clean already stays as it is.
    fn without_secrets(self) -> Self;
}

impl WithoutSecrets for String {
    fn without_secrets(mut self) -> Self {
        clean_text(&mut self, &mut Kinds::new());
        self
    }
}

impl WithoutSecrets for Value {
    fn without_secrets(mut self) -> Self {
        clean_value(&mut self, &mut Kinds::new());
        self
    }
}

impl<T: WithoutSecrets> WithoutSecrets for Option<T> {
    fn without_secrets(self) -> Self {
        self.map(T::without_secrets)
    }
}

impl<T: WithoutSecrets> WithoutSecrets for Vec<T> {
    fn without_secrets(self) -> Self {
        self.into_iter().map(T::without_secrets).collect()
    }
}

impl WithoutSecrets for Criterion {
    /// Prose alone: commands and expressions must work as they were written.
    fn without_secrets(self) -> Self {
        match self {
            Self::Text { description } => Self::Text { description: description.without_secrets() },
            rule @ (Self::ExitCode { .. }
            | Self::OutputMatches { .. }
            | Self::FileExists { .. }
            | Self::CommandSucceeds { .. }) => rule,
        }
    }
}

impl WithoutSecrets for StepCriterion {
    fn without_secrets(self) -> Self {
        Self { criterion: self.criterion.without_secrets(), ..self }
    }
}

impl WithoutSecrets for CreateTask {
    /// Prose alone: commands and scripts must work as they were written.
    fn without_secrets(self) -> Self {
        let prompt = match self.input_mode {
            InputMode::Prompt => self.prompt.without_secrets(),
            InputMode::Commands | InputMode::Script => self.prompt,
        };
        Self {
            prompt,
            task_name: self.task_name.without_secrets(),
            acceptance_criteria: self.acceptance_criteria.without_secrets(),
            step_criteria: self.step_criteria.without_secrets(),
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
        let asked = |mode: &str| -> CreateTask {
            let criteria = json!([
                { "kind": "text", "description": format!("it works with {KEY}") },
                { "kind": "command_succeeds", "command": format!("curl -u {KEY}") },
            ]);
            let of_step = json!({ "step_index": 0, "criterion": criteria[0] });
            let asked = json!({ "input_mode": mode, "prompt": format!("use {KEY}"),
                "task_name": format!("deploy {KEY}"), "acceptance_criteria": criteria,
                "step_criteria": [of_step] });
            serde_json::from_value(asked).unwrap()
        };

        let prose = asked("prompt").without_secrets();
        let script = asked("script").without_secrets();

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
