//! Decision: the worker node of a task.
//!
//! Only facts about the nodes and preferences decide: the text of a task is untrusted and never chooses a machine.

use cynode_domain::text::truncate_chars;
use cynode_wire::handoff::NodeCandidate;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::{object_schema, text_schema};
use crate::brain::{BrainDecision, RuleAnswer};
use crate::context::untrusted;

/// Chooses one of several worker nodes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlaceJob {
    /// The suitable nodes; at least one.
    pub candidates: Vec<NodeCandidate>,
    /// The node that a preference names.
    pub preferred: Option<String>,
}

/// The chosen node.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct JobPlacementChoice {
    pub node_slug: String,
    pub reason: String,
}

impl PlaceJob {
    fn candidate(&self, slug: &str) -> Option<&NodeCandidate> {
        self.candidates.iter().find(|candidate| candidate.node_slug == slug)
    }

    fn rule_answer(node_slug: &str, reason: String) -> RuleAnswer<JobPlacementChoice> {
        let answer = JobPlacementChoice { node_slug: node_slug.to_owned(), reason };
        let words = Self::summarize(&answer);
        RuleAnswer::new(answer, words)
    }

    /// The node with the most free slots; the first by name among equals.
    fn node_with_most_room(&self) -> Option<&NodeCandidate> {
        let order = |c: &&NodeCandidate| (std::cmp::Reverse(c.room), c.node_slug.clone());
        self.candidates.iter().min_by_key(order)
    }
}

impl BrainDecision for PlaceJob {
    type Answer = JobPlacementChoice;

    const PURPOSE: &'static str = "place_job";
    const HINT: &'static str = "fast";

    fn schema(&self) -> Value {
        object_schema(&json!({
            "node_slug": text_schema("The name of the node.", 200),
            "reason": text_schema("Why, in one sentence.", 1000),
        }))
    }

    fn prompt(&self) -> String {
        let facts = json!(self.candidates).to_string();
        let candidates = untrusted::quote("candidates", &facts, 16 * 1024);
        format!("Choose the node that the work of a task runs on.\n\n{candidates}")
    }

    fn decide_by_rule(&self) -> Option<RuleAnswer<JobPlacementChoice>> {
        if let Some(preferred) = self.preferred.as_deref().and_then(|slug| self.candidate(slug)) {
            let reason = "a preference names it".to_owned();
            return Some(Self::rule_answer(&preferred.node_slug, reason));
        }
        self.node_with_most_room().map(|best| {
            let (room, jobs) = (best.room, best.running_jobs);
            // A preference that cannot be followed is reported.
            let unmet = self.preferred.as_deref().map(|preferred| {
                let preferred = truncate_chars(preferred, 100);
                format!("; the preferred node \"{preferred}\" is not eligible")
            });
            let unmet = unmet.unwrap_or_default();
            let reason =
                format!("it has the most room: {jobs} jobs now, {room} more at once{unmet}");
            Self::rule_answer(&best.node_slug, reason)
        })
    }

    fn fallback(&self) -> RuleAnswer<JobPlacementChoice> {
        Self::rule_answer("", "there is no node to choose".to_owned())
    }

    fn find_objection(&self, answer: &JobPlacementChoice) -> Option<String> {
        self.candidate(&answer.node_slug).is_none().then(|| {
            let slugs: Vec<_> = self.candidates.iter().map(|c| c.node_slug.as_str()).collect();
            format!("node_slug must be one of: {}", slugs.join(", "))
        })
    }

    fn summarize(answer: &JobPlacementChoice) -> String {
        format!("{}: {}", answer.node_slug, answer.reason)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn candidate(slug: &str, room: u32) -> NodeCandidate {
        NodeCandidate {
            node_slug: slug.to_owned(),
            os: "linux".to_owned(),
            arch: "x86_64".to_owned(),
            cpu_cores: 4,
            memory_mib: 8192,
            sandbox_features: vec![],
            running_jobs: 0,
            room,
        }
    }

    fn choose_by_rule(preferred: Option<&str>) -> JobPlacementChoice {
        let candidates = vec![candidate("a", 1), candidate("b", 3), candidate("c", 3)];
        let question = PlaceJob { candidates, preferred: preferred.map(str::to_owned) };
        question.decide_by_rule().unwrap().answer
    }

    #[test]
    fn work_is_placed_where_a_preference_says_and_else_where_there_is_most_room() {
        assert_eq!(choose_by_rule(Some("a")).node_slug, "a");
        assert_eq!(choose_by_rule(Some("nowhere")).node_slug, "b");
        assert!(
            choose_by_rule(Some("nowhere")).reason.contains("node \"nowhere\" is not eligible")
        );
        assert!(!choose_by_rule(None).reason.contains("preference"));
        assert_eq!(choose_by_rule(None).node_slug, "b");
        assert!(choose_by_rule(None).reason.contains("most room"));
    }

    #[test]
    fn a_node_that_is_no_candidate_is_objected_to() {
        let question = PlaceJob { candidates: vec![candidate("a", 1)], preferred: None };
        let elsewhere =
            JobPlacementChoice { node_slug: "b".to_owned(), reason: "I like it".to_owned() };

        assert!(question.find_objection(&elsewhere).unwrap().contains("one of: a"));
    }
}
