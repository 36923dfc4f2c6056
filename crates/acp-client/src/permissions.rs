//! Answers permission requests by rule.

use cynode_wire::agent_jobs::{PermissionAnswer, PermissionRules, ToolCallKind};
use serde::Deserialize as _;
use serde::de::value::{Error as ValueError, StrDeserializer};
use serde_json::{Value, json};

use crate::protocol::PermissionOption;

/// The answer to a permission request.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct PermissionDecision {
    pub(crate) answer: PermissionAnswer,
    /// The option of the agent that expresses the answer; without one, the request is cancelled.
    option: Option<String>,
    /// The answer in words.
    pub(crate) text: String,
}

impl PermissionDecision {
    /// Decides by the kind of the tool call. A kind that the protocol does not have is answered by the default.
    pub(crate) fn decide(
        rules: &PermissionRules,
        kind: &str,
        options: &[PermissionOption],
    ) -> Self {
        let rule = parse_kind(kind).and_then(|kind| rules.kinds.get(&kind));
        let answer = rule.copied().unwrap_or(rules.default);
        let (word, kinds) = match answer {
            PermissionAnswer::Allow => ("allowed", ["allow_once", "allow_always"]),
            PermissionAnswer::Reject => ("rejected", ["reject_once", "reject_always"]),
        };
        let find = |wanted: &&str| options.iter().find(|option| option.kind == **wanted);
        let Some(option) = kinds.iter().find_map(find) else {
            let answer = PermissionAnswer::Reject;
            let text = format!("{kind} is {word}, but the agent offers no such option: cancelled");
            return Self { answer, option: None, text };
        };
        let text = format!("{kind} is {word}: {} ({})", option.name, option.kind);
        Self { answer, option: Some(option.option_id.clone()), text }
    }

    /// The answer during the end of a job.
    pub(crate) fn cancel() -> Self {
        let answer = PermissionAnswer::Reject;
        Self { answer, option: None, text: "cancelled: the job ends".to_owned() }
    }

    pub(crate) fn to_result(&self) -> Value {
        match &self.option {
            Some(option) => json!({ "outcome": { "outcome": "selected", "optionId": option } }),
            None => json!({ "outcome": { "outcome": "cancelled" } }),
        }
    }
}

fn parse_kind(kind: &str) -> Option<ToolCallKind> {
    ToolCallKind::deserialize(StrDeserializer::<ValueError>::new(kind)).ok()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    fn options(kinds: &[&str]) -> Vec<PermissionOption> {
        let option = |kind: &&str| PermissionOption {
            option_id: format!("id of {kind}"),
            name: "N".to_owned(),
            kind: (*kind).to_owned(),
        };
        kinds.iter().map(option).collect()
    }

    fn decide(kind: &str, kinds: &[&str]) -> Option<String> {
        PermissionDecision::decide(&PermissionRules::default(), kind, &options(kinds)).option
    }

    #[test]
    fn the_option_is_chosen_by_its_kind_and_the_narrower_one_first() {
        let all = ["reject_always", "allow_always", "reject_once", "allow_once"];
        for kind in ["read", "edit", "delete", "move", "search", "execute", "think", "other"] {
            assert_eq!(decide(kind, &all).as_deref(), Some("id of allow_once"), "{kind}");
        }
        for kind in ["fetch", "switch_mode", "unheard_of", ""] {
            assert_eq!(decide(kind, &all).as_deref(), Some("id of reject_once"), "{kind}");
        }
        assert_eq!(decide("edit", &all[..2]).as_deref(), Some("id of allow_always"));
    }

    #[test]
    fn without_a_fitting_option_the_request_is_cancelled() {
        let rules = PermissionRules::default();
        for kinds in [&["reject_once"][..], &[], &["allow_somehow"]] {
            let decision = PermissionDecision::decide(&rules, "edit", &options(kinds));
            assert_eq!(decision.answer, PermissionAnswer::Reject);
            assert_eq!(decision.to_result()["outcome"]["outcome"], "cancelled");
        }
    }

    #[test]
    fn rules_replace_the_built_in_ones() {
        let kinds = BTreeMap::from([(ToolCallKind::Execute, PermissionAnswer::Reject)]);
        let rules = PermissionRules { default: PermissionAnswer::Allow, kinds };
        let all = options(&["allow_once", "reject_once"]);
        let answer = |kind: &str| PermissionDecision::decide(&rules, kind, &all).answer;

        assert_eq!(answer("execute"), PermissionAnswer::Reject);
        assert_eq!(answer("fetch"), PermissionAnswer::Allow);
    }
}
