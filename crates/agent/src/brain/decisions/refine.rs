//! Decision: additional acceptance criteria that rules can check.
//!
//! Rules check the added criteria, with one exception: a property of one command's result that needs a reader is
//! added as prose, which an analyst judges when that command has ended.
//!
//! A file is evidence only as an artifact of the attempt (ADR 24): a check for a file is rejected unless a command
//! stores it.
//!
//! A model that states what it expects to be printed, and a pattern that does not match it, contradicts itself: such a
//! check would reject correct work, and is left out. If no check is left, the model gets one correction. If there is still
//! none, and the person gave none, a rule checks that the files which a command writes have content.
//!
//! Unambiguous prose is converted to its checkable form by [`refine_criteria`], independent of the answer. A model only
//! adds criteria and never changes those of a person.

use cynode_domain::criteria::{Criterion, output_matches, refine_criteria};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::written_files::written_files;
use super::{enum_schema, object_schema, text_schema};
use crate::brain::{BrainDecision, RuleAnswer};
use crate::context::untrusted;

/// The most criteria that are added to a task.
const MAX_ADDED: usize = 10;

/// A request and its answer. Without it, models of 1.5 billion parameters repeat the commands of the plan. It checks
/// the form of the output because they predict its value wrongly.
const EXAMPLE: &str = r#"For example, the answer to "write the squares of 1 to 5 into squares.txt and print their average":
{"add": [{"expected_output": "", "kind": "command_succeeds", "step": 1, "value": "test -s squares.txt"}, {"expected_output": "11", "kind": "output_matches", "step": 2, "value": "^[0-9.]+$"}], "reason": "the file has the squares, and a number is printed"}"#;

/// The file name in [`EXAMPLE`].
const EXAMPLE_FILE: &str = "squares.txt";

/// The kinds of checks, the one that needs an artifact first.
const KINDS: [&str; 4] = ["file_exists", "output_matches", "command_succeeds", "text"];

/// Adds missing criteria.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RefineCriteria {
    pub request: String,
    /// The criteria of the task so far.
    pub criteria: Vec<Criterion>,
    /// The planned commands.
    pub commands: Vec<String>,
}

/// The kind of a check.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CheckKind {
    /// The file is an artifact.
    FileExists,
    /// Standard output of the command matches a regular expression.
    OutputMatches,
    /// A command succeeds afterwards in the workspace.
    CommandSucceeds,
    /// A reader judges the result of one command.
    Text,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AddedCheck {
    /// What the command is expected to print; empty unless the check is about output.
    ///
    /// Sorts before `value`, so that a model states the output before it writes a pattern for it.
    pub expected_output: String,
    pub kind: CheckKind,
    /// The path, regular expression, command or prose.
    pub value: String,
    /// The number of the command, from 1; 0 for the whole task.
    #[serde(default)]
    pub step: usize,
}

impl AddedCheck {
    /// Whether it rejects the output that it expects.
    fn is_contradiction(&self) -> bool {
        self.kind == CheckKind::OutputMatches && !output_matches(&self.value, &self.expected_output)
    }

    fn criterion(&self) -> Criterion {
        let value = self.value.clone();
        match self.kind {
            CheckKind::FileExists => Criterion::FileExists { path: value },
            CheckKind::OutputMatches => Criterion::OutputMatches { pattern: value },
            CheckKind::CommandSucceeds => Criterion::CommandSucceeds { command: value },
            CheckKind::Text => Criterion::Text { description: value },
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CriteriaRefinement {
    /// Often empty.
    pub add: Vec<AddedCheck>,
    pub reason: String,
}

impl RefineCriteria {
    /// Returns the refined criteria of the task: the sharpened ones first, then the new ones.
    pub fn with(&self, refined: &CriteriaRefinement) -> Vec<Criterion> {
        let mut all = refine_criteria(&self.criteria);
        for added in self.added_criteria(refined, 0) {
            if !all.contains(&added) {
                all.push(added);
            }
        }
        all
    }

    /// Returns the criteria of one command, by its index from 0.
    pub fn step_criteria(&self, refined: &CriteriaRefinement, index: usize) -> Vec<Criterion> {
        let has_checks = !self.criteria.is_empty()
            || refined.add.iter().any(|added| self.is_meaningful_check(added));
        if has_checks {
            return self.added_criteria(refined, index + 1).collect();
        }
        let files = self.commands.get(index).map(|command| written_files(command));
        let has_content = |path| Criterion::CommandSucceeds { command: format!("test -s {path}") };
        files.unwrap_or_default().into_iter().map(has_content).collect()
    }

    /// Returns the added criteria of a step, from 1, or of the whole task with 0.
    fn added_criteria(
        &self,
        refined: &CriteriaRefinement,
        step: usize,
    ) -> impl Iterator<Item = Criterion> {
        let of_step = refined.add.iter().filter(move |added| added.step == step);
        let checks = of_step.filter(|added| self.is_meaningful_check(added));
        checks.map(AddedCheck::criterion)
    }

    /// Whether it checks this request. Rejects planned commands, checks that a small model copied from the example, and
    /// patterns that do not match the output that the model itself expects.
    fn is_meaningful_check(&self, added: &AddedCheck) -> bool {
        let value = added.value.trim();
        let is_planned = added.kind == CheckKind::CommandSucceeds
            && self.commands.iter().any(|command| command.trim() == value);
        let names_it = |text: &String| text.contains(EXAMPLE_FILE);
        let is_copied = value.contains(EXAMPLE_FILE)
            && !self.commands.iter().chain([&self.request]).any(names_it);
        !is_planned && !is_copied && !added.is_contradiction()
    }

    /// Explains why no check is left although some were given.
    fn missing_check(&self, answer: &CriteriaRefinement) -> Option<String> {
        if answer.add.iter().any(|added| self.is_meaningful_check(added)) {
            return None;
        }
        let added = answer.add.iter().find(|added| added.is_contradiction())?;
        Some(format!(
            "the expression {} does not match the expected output {:?}: correct one of them, or leave the check out",
            added.value, added.expected_output
        ))
    }

    /// Whether the command of the step, or one of the commands if the check is about the whole task, stores artifacts.
    fn stores_artifacts(&self, step: usize) -> bool {
        let hands_over = |command: &String| command.contains("CYNODE_ARTIFACTS_DIR");
        match step.checked_sub(1) {
            None => self.commands.iter().any(hands_over),
            Some(index) => self.commands.get(index).is_some_and(hands_over),
        }
    }

    /// Explains why a file is no evidence: a file of an earlier attempt may still be in the workspace.
    fn missing_artifact(&self, added: &AddedCheck) -> Option<String> {
        let is_missing = added.kind == CheckKind::FileExists && !self.stores_artifacts(added.step);
        is_missing.then(|| {
            format!(
                "file_exists needs a command that stores {} in $CYNODE_ARTIFACTS_DIR, and none does: check \
                 what a command prints, or leave it out",
                added.value
            )
        })
    }

    fn no_additions(reason: &str) -> RuleAnswer<CriteriaRefinement> {
        let answer = CriteriaRefinement { add: vec![], reason: reason.to_owned() };
        RuleAnswer::new(answer, reason)
    }
}

impl BrainDecision for RefineCriteria {
    type Answer = CriteriaRefinement;

    const PURPOSE: &'static str = "refine_criteria";
    const HINT: &'static str = "balanced";

    fn schema(&self) -> Value {
        // Without artifacts there is no `file_exists`, so that a model bound by the schema cannot choose it.
        let (kinds, about, path): (&[&str], _, _) = if self.stores_artifacts(0) {
            (&KINDS[..], "What is checked.", "The path below $CYNODE_ARTIFACTS_DIR, the")
        } else {
            let about = "What is checked. No file_exists: no command stores a file in $CYNODE_ARTIFACTS_DIR.";
            (&KINDS[1..], about, "The")
        };
        let value = format!(
            "{path} regular expression for standard output of the command, the command line that must succeed afterwards in the same workspace, or, as text, one sentence that a reader judges by the result of one command."
        );
        let mut added = object_schema(&json!({
            "expected_output": { "type": "string", "maxLength": 1000, "description": "For output_matches: an output that is right, which the expression must match; otherwise empty." },
            "kind": enum_schema(about, kinds),
            "value": text_schema(&value, 1000),
        }));
        // Optional; the default is the whole task.
        added["properties"]["step"] = json!({ "type": "integer", "minimum": 0, "maximum": 50, "description": "The number of the command after which it must hold; 0 after the last one." });
        object_schema(&json!({
            "add": { "type": "array", "items": added, "maxItems": MAX_ADDED, "description": "What to check besides; empty if nothing more can be told for sure." },
            "reason": text_schema("Why, in one sentence.", 1000),
        }))
    }

    fn prompt(&self) -> String {
        let request = untrusted::quote("request", &self.request, 16 * 1024);
        let criteria: Vec<String> =
            refine_criteria(&self.criteria).iter().map(ToString::to_string).collect();
        let criteria = match &*criteria {
            [] => "nothing".to_owned(),
            criteria => untrusted::quote("criteria", &criteria.join("\n"), 8 * 1024),
        };
        let commands = untrusted::quote("commands", &self.commands.join("\n"), 8 * 1024);
        format!(
            "Which checks would show that this request was carried out? Add checks for what the \
             criteria leave to a reader, or for what the request plainly demands where there are none. \
             Add nothing that the commands could fail although the request was carried out, and no command of \
             the plan itself. Add a text only for the step on whose result later ones build, where no other \
             kind can tell.\n\n{EXAMPLE}\n\n{request}\n\nWhat must be true of the result so far:\n{criteria}\n\nThe commands that are \
             going to be run:\n{commands}"
        )
    }

    fn decide_by_rule(&self) -> Option<RuleAnswer<CriteriaRefinement>> {
        let is_prose = |criterion: &Criterion| matches!(criterion, Criterion::Text { .. });
        let is_checkable =
            !self.criteria.is_empty() && !refine_criteria(&self.criteria).iter().any(is_prose);
        is_checkable.then(|| Self::no_additions("rules can check every criterion"))
    }

    fn fallback(&self) -> RuleAnswer<CriteriaRefinement> {
        Self::no_additions("readers judge what no rule can check")
    }

    fn find_objection(&self, answer: &CriteriaRefinement) -> Option<String> {
        let mut problems = answer.add.iter().filter_map(|added| added.criterion().problem());
        let is_outside = |added: &&AddedCheck| {
            added.kind == CheckKind::FileExists
                && (added.value.starts_with('/') || added.value.split('/').any(|part| part == ".."))
        };
        let outside = answer
            .add
            .iter()
            .find(is_outside)
            .map(|added| format!("{} is not a path below $CYNODE_ARTIFACTS_DIR", added.value));
        let no_artifact = answer.add.iter().find_map(|added| self.missing_artifact(added));
        let unknown = answer.add.iter().find(|added| added.step > self.commands.len());
        let unknown = unknown.map(|added| format!("there is no command {}", added.step));
        let is_unplaced = |added: &&AddedCheck| added.kind == CheckKind::Text && added.step == 0;
        let unplaced = answer.add.iter().find(is_unplaced).map(|added| {
            format!(
                "a text is about one command: name it in step, or leave out \"{}\"",
                added.value
            )
        });
        let empty = answer.add.iter().any(|added| added.value.trim().is_empty());
        let empty = empty.then(|| "a check needs a value".to_owned());
        let problem =
            problems.next().or(outside).or(unknown).or(no_artifact).or(unplaced).or(empty);
        problem.or_else(|| self.missing_check(answer))
    }

    fn summarize(answer: &CriteriaRefinement) -> String {
        format!("{} checks proposed: {}", answer.add.len(), answer.reason)
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::has_a_sound_schema;
    use super::*;
    use crate::brain::answer::validate_answer;

    fn refinement(prose: &[&str]) -> RefineCriteria {
        let text = |words: &&str| Criterion::Text { description: (*words).to_owned() };
        RefineCriteria {
            request: "Write a report".to_owned(),
            criteria: prose.iter().map(text).collect(),
            commands: vec!["make report".to_owned()],
        }
    }

    #[test]
    fn the_schema_takes_what_rules_say() {
        has_a_sound_schema(&refinement(&["reads well"]));
    }

    #[test]
    fn prose_that_a_rule_can_check_needs_no_model() {
        let clear = refinement(&["report.md is created"]);
        let file = Criterion::FileExists { path: "report.md".to_owned() };

        assert_eq!(
            clear.with(&clear.decide_by_rule().unwrap().answer),
            std::slice::from_ref(&file)
        );
        let both = refinement(&["report.md is created", "it reads well"]);
        assert_eq!(both.decide_by_rule(), None);
        assert_eq!(both.with(&both.fallback().answer), [file, both.criteria[1].clone()]);
        assert_eq!(refinement(&[]).decide_by_rule(), None);
    }

    #[test]
    fn a_file_that_no_command_stores_as_an_artifact_is_no_check() {
        let question = |commands: &[&str]| {
            let commands = commands.iter().map(|&command| command.to_owned()).collect();
            RefineCriteria { commands, ..refinement(&[]) }
        };
        let said = |step: usize| {
            let added = json!({ "expected_output": "", "kind": "file_exists", "value": "numbers.txt", "step": step });
            json!({ "add": [added], "reason": "r" })
        };
        let workspace_only = question(&["seq 1 10 > numbers.txt"]);
        let stores = question(&["seq 1 10 > n", "cp n $CYNODE_ARTIFACTS_DIR/numbers.txt"]);

        for step in [0, 1] {
            assert!(validate_answer(&workspace_only, &said(step)).is_err(), "{step}");
        }
        let schema = workspace_only.schema().to_string();
        assert!(schema.contains("no command stores a file in $CYNODE_ARTIFACTS_DIR"), "{schema}");
        let objection = validate_answer(&stores, &said(1)).unwrap_err();
        assert!(objection.contains("stores numbers.txt in $CYNODE_ARTIFACTS_DIR"), "{objection}");
        let file = Criterion::FileExists { path: "numbers.txt".to_owned() };
        let of_task = validate_answer(&stores, &said(0)).unwrap();
        assert_eq!(stores.with(&of_task), std::slice::from_ref(&file));
        let of_step = validate_answer(&stores, &said(2)).unwrap();
        assert_eq!(stores.step_criteria(&of_step, 1), [file]);
    }

    #[test]
    fn a_model_adds_sound_criteria_to_those_a_person_gave_and_changes_none() {
        let question = refinement(&["it reads well"]);
        let said = |kind: &str, value: &str| {
            let added = json!({ "expected_output": "", "kind": kind, "value": value });
            json!({ "add": [added], "reason": "r" })
        };

        let good =
            validate_answer(&question, &said("command_succeeds", "test -s report.md")).unwrap();

        let added = Criterion::CommandSucceeds { command: "test -s report.md".to_owned() };
        assert_eq!(question.with(&good), [question.criteria[0].clone(), added]);
        for (kind, value) in [
            ("output_matches", "("),
            ("file_exists", "../secret"),
            ("file_exists", "/etc/passwd"),
            ("command_succeeds", " "),
            ("exit_code", "1"),
            ("text", "it is nice"),
        ] {
            assert!(validate_answer(&question, &said(kind, value)).is_err(), "{kind} {value}");
        }
    }

    #[test]
    fn what_says_nothing_about_the_request_is_no_check() {
        let question = refinement(&[]);
        let said = |command: &str| {
            let added = json!({ "expected_output": "", "kind": "command_succeeds", "value": command, "step": 0 });
            json!({ "add": [added], "reason": "r" })
        };
        let criteria =
            |command: &str| question.with(&validate_answer(&question, &said(command)).unwrap());

        assert_eq!(criteria(" make report"), [], "a command of the plan");
        assert_eq!(criteria("test -s squares.txt"), [], "a file of the example");
        let command = "test -s report.md".to_owned();
        assert_eq!(criteria("test -s report.md"), [Criterion::CommandSucceeds { command }]);
    }

    #[test]
    fn a_pattern_that_rejects_the_output_that_its_author_expects_is_no_check() {
        let question = refinement(&[]);
        let check = |pattern: &str, expected: &str| json!({ "expected_output": expected, "kind": "output_matches", "value": pattern, "step": 1 });
        let answer =
            |checks: &[Value]| validate_answer(&question, &json!({ "add": checks, "reason": "r" }));
        let output = |pattern: &str| Criterion::OutputMatches { pattern: pattern.to_owned() };

        let (sound, unsound) = (check("^[0-9]+$", "55\n"), check("^[1-10] +$", "55"));
        let both = answer(&[unsound.clone(), sound]).unwrap();
        assert_eq!(question.step_criteria(&both, 0), [output("^[0-9]+$")]);
        for (pattern, expected) in
            [("^[1-10] +$", "55"), ("^$", "55"), ("^55$", ""), ("^1 2$", "1\n2")]
        {
            let objection = answer(&[check(pattern, expected)]).unwrap_err();
            assert!(objection.contains("does not match the expected output"), "{objection}");
        }
        for (pattern, expected) in [("^[0-9]+$", "55"), ("^$", "")] {
            let added = answer(&[check(pattern, expected)]).unwrap();
            assert_eq!(question.step_criteria(&added, 0), [output(pattern)], "{expected}");
        }
        assert!(answer(&[]).is_ok(), "nothing to check is an answer");
    }

    #[test]
    fn without_any_check_the_files_that_a_command_writes_must_have_content() {
        let commands = ["seq 1 10 > numbers.txt", "wc -l numbers.txt"].map(str::to_owned).to_vec();
        let question = RefineCriteria { commands, ..refinement(&[]) };
        let content = Criterion::CommandSucceeds { command: "test -s numbers.txt".to_owned() };
        let planned = json!({ "expected_output": "", "kind": "command_succeeds", "value": "wc -l numbers.txt", "step": 0 });
        let useless =
            validate_answer(&question, &json!({ "add": [planned], "reason": "r" })).unwrap();

        for answer in [&useless, &question.fallback().answer] {
            assert_eq!(question.step_criteria(answer, 0), std::slice::from_ref(&content));
            assert_eq!(question.step_criteria(answer, 1), []);
        }
        let asked =
            RefineCriteria { criteria: refinement(&["it reads well"]).criteria, ..question };
        assert_eq!(asked.step_criteria(&useless, 0), [], "the person gave criteria");
    }

    #[test]
    fn a_check_may_be_about_one_command_and_is_then_none_of_the_tasks() {
        let question = refinement(&["it reads well"]);
        let said = |step: usize| {
            let added = json!({ "expected_output": "done\n", "kind": "output_matches", "value": "^done$", "step": step });
            json!({ "add": [added], "reason": "r" })
        };

        let of_first = validate_answer(&question, &said(1)).unwrap();

        let output = Criterion::OutputMatches { pattern: "^done$".to_owned() };
        assert_eq!(question.step_criteria(&of_first, 0), [output]);
        assert_eq!(question.with(&of_first), question.criteria);
        assert!(validate_answer(&question, &said(2)).is_err(), "there is one command");
    }

    #[test]
    fn prose_is_added_for_the_result_of_one_command_and_for_none_of_the_tasks() {
        let question = refinement(&["it reads well"]);
        let said = |value: &str, step: usize| {
            let added =
                json!({ "expected_output": "", "kind": "text", "value": value, "step": step });
            json!({ "add": [added], "reason": "r" })
        };

        let of_first = validate_answer(&question, &said("the draft names its sources", 1)).unwrap();

        let description = "the draft names its sources".to_owned();
        assert_eq!(question.step_criteria(&of_first, 0), [Criterion::Text { description }]);
        assert_eq!(question.with(&of_first), question.criteria);
        for (value, step) in [("it is nice", 0), (" ", 1), ("it is nice", 2)] {
            assert!(validate_answer(&question, &said(value, step)).is_err(), "{value:?} {step}");
        }
    }
}
