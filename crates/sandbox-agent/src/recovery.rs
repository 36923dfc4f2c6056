//! Rules that end or redirect a model that does not make progress.
//!
//! Three malformed answers in a row end the job. Two failed edits of a file in a row switch that file to whole-file
//! mode. The same action with the same result gets a warning the second time and ends the job the third time.

use std::collections::{HashMap, HashSet};
use std::hash::{DefaultHasher, Hash as _, Hasher as _};

use cynode_agent_job::text_file::read_text;
use cynode_agent_job::workspace::Workspace;
use serde_json::{Map, Value};

use crate::action::ToolAction;
use crate::observation::{ActionOutcome, OBSERVATION_BYTES, Observation};

const MAX_MALFORMED_IN_A_ROW: u8 = 3;
const MAX_FAILED_EDITS_IN_A_ROW: u8 = 2;
const MAX_EQUAL_RESULTS: u8 = 3;
/// Larger files stay in edit mode: a model that sees a part would replace the whole by it.
const MAX_WHOLE_FILE_BYTES: u64 = OBSERVATION_BYTES as u64;

/// What the rules know about the job so far.
#[derive(Debug, Default)]
pub(crate) struct Recovery {
    malformed_in_a_row: u8,
    /// By path as resolved.
    failed_edits: HashMap<String, u8>,
    whole_file: HashSet<String>,
    /// Counts of equal actions with equal results since the last change.
    results: HashMap<u64, u8>,
    commands: HashSet<String>,
}

/// Whether the job goes on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Progress {
    Continue,
    /// The model gets a note that it repeats itself.
    Warn,
    Stop,
}

impl Recovery {
    /// Counts a malformed answer.
    pub(crate) fn count_malformed(&mut self) -> Progress {
        self.malformed_in_a_row += 1;
        if self.malformed_in_a_row >= MAX_MALFORMED_IN_A_ROW {
            Progress::Stop
        } else {
            Progress::Continue
        }
    }

    pub(crate) fn count_well_formed(&mut self) {
        self.malformed_in_a_row = 0;
    }

    /// Refuses an edit of a file in whole-file mode; `None` if the action may be executed.
    pub(crate) fn refuse_edit(
        &self,
        action: &ToolAction,
        workspace: &Workspace,
    ) -> Option<Observation> {
        let ToolAction::EditFile(edit) = action else { return None };
        let path = workspace.resolve(&edit.path).ok()?;
        if !self.whole_file.contains(path.relative()) {
            return None;
        }
        let content = read_text(&path, MAX_WHOLE_FILE_BYTES).ok()?;
        Some(Observation::failed(whole_file_advice(path.relative())).with_data(content))
    }

    /// Counts the result of an edit; returns another observation if the file changes to whole-file mode.
    pub(crate) fn count_edit(
        &mut self,
        action: &ToolAction,
        observation: Observation,
        workspace: &Workspace,
    ) -> Observation {
        let ToolAction::EditFile(edit) = action else { return observation };
        let Ok(path) = workspace.resolve(&edit.path) else { return observation };
        if observation.is_success() {
            self.failed_edits.remove(path.relative());
            return observation;
        }
        let failed = self.failed_edits.entry(path.relative().to_owned()).or_default();
        *failed += 1;
        if *failed < MAX_FAILED_EDITS_IN_A_ROW {
            return observation;
        }
        let Ok(content) = read_text(&path, MAX_WHOLE_FILE_BYTES) else { return observation };
        self.whole_file.insert(path.relative().to_owned());
        let headline = format!("{}\n{}", observation.headline, whole_file_advice(path.relative()));
        Observation::failed(headline).with_data(content)
    }

    /// Counts an action and its result.
    pub(crate) fn count_result(
        &mut self,
        name: &str,
        arguments: &Map<String, Value>,
        observation: &Observation,
    ) -> Progress {
        // A new command may change anything, so that an old one is worth repeating.
        let command = arguments.get("command").and_then(Value::as_str);
        let is_new_command = name == "run_command"
            && command.is_some_and(|command| self.commands.insert(command.to_owned()));
        if observation.outcome == ActionOutcome::Changed || is_new_command {
            self.results.clear();
        }
        let mut hasher = DefaultHasher::new();
        (name, Value::Object(arguments.clone()).to_string()).hash(&mut hasher);
        (&observation.headline, &observation.data).hash(&mut hasher);
        let count = self.results.entry(hasher.finish()).or_default();
        *count += 1;
        match *count {
            0 | 1 => Progress::Continue,
            MAX_EQUAL_RESULTS.. => Progress::Stop,
            2 => Progress::Warn,
        }
    }
}

fn whole_file_advice(path: &str) -> String {
    format!(
        "edit_file is refused for {path} because edits of it failed. Use write_file with the whole \
         new content. The current content:"
    )
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn count(recovery: &mut Recovery, command: &str, headline: &str) -> Progress {
        let Value::Object(arguments) = json!({ "command": command }) else { panic!("an object") };
        recovery.count_result("run_command", &arguments, &Observation::failed(headline))
    }

    #[test]
    fn the_third_equal_result_stops_after_a_warning() {
        let mut recovery = Recovery::default();
        let seen = [(); 3].map(|()| count(&mut recovery, "make", "exit code 2"));
        assert_eq!(seen, [Progress::Continue, Progress::Warn, Progress::Stop]);
    }

    #[test]
    fn two_actions_in_turn_make_no_progress_either() {
        let mut recovery = Recovery::default();
        let seen: Vec<Progress> =
            ["a", "b"].iter().cycle().take(6).map(|it| count(&mut recovery, it, "x")).collect();
        assert!(seen.contains(&Progress::Stop), "{seen:?}");
    }

    #[test]
    fn a_change_of_a_file_or_of_the_result_is_progress() {
        let mut recovery = Recovery::default();
        for round in 0..5 {
            assert_eq!(count(&mut recovery, "make", "exit code 2"), Progress::Continue);
            let content = Value::from(round);
            let arguments = Map::from_iter([("content".to_owned(), content)]);
            let changed = Observation::changed("wrote a");
            recovery.count_result("write_file", &arguments, &changed);
        }
        for round in 0..5 {
            assert_eq!(count(&mut recovery, "make", &round.to_string()), Progress::Continue);
        }
    }
}
