//! On which node the work of a task runs.
//!
//! Only what the installation says of its nodes and what people prefer decides: words of a task are
//! text of others, and never choose a machine.

use cynode_wire::handoff::NodeCandidate;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::{object, text};
use crate::brain::{Decision, Ruling};
use crate::context::untrusted;

/// On which of these nodes?
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlaceJob {
    /// The nodes that can take it; at least one.
    pub candidates: Vec<NodeCandidate>,
    /// The node that a preference names.
    pub preferred: Option<String>,
}

/// What was chosen.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Placed {
    /// The name of the node.
    pub node_slug: String,
    /// Why.
    pub reason: String,
}

impl PlaceJob {
    fn candidate(&self, slug: &str) -> Option<&NodeCandidate> {
        self.candidates.iter().find(|candidate| candidate.node_slug == slug)
    }

    fn ruled(node_slug: &str, reason: String) -> Ruling<Placed> {
        let answer = Placed { node_slug: node_slug.to_owned(), reason };
        let words = Self::summary(&answer);
        Ruling::new(answer, words)
    }

    /// The node with the most room, the first by name among equals.
    fn roomiest(&self) -> Option<&NodeCandidate> {
        let order = |c: &&NodeCandidate| (std::cmp::Reverse(c.room), c.node_slug.clone());
        self.candidates.iter().min_by_key(order)
    }
}

impl Decision for PlaceJob {
    type Answer = Placed;

    const PURPOSE: &'static str = "place_job";
    const HINT: &'static str = "fast";

    fn schema(&self) -> Value {
        object(&json!({
            "node_slug": text("The name of the node.", 200),
            "reason": text("Why, in one sentence.", 1000),
        }))
    }

    fn prompt(&self) -> String {
        let facts = json!(self.candidates).to_string();
        let candidates = untrusted::quote("candidates", &facts, 16 * 1024);
        format!("Choose the node that the work of a task runs on.\n\n{candidates}")
    }

    fn by_rule(&self) -> Option<Ruling<Placed>> {
        if let Some(preferred) = self.preferred.as_deref().and_then(|slug| self.candidate(slug)) {
            let reason = "a preference names it".to_owned();
            return Some(Self::ruled(&preferred.node_slug, reason));
        }
        self.roomiest().map(|best| {
            let (room, jobs) = (best.room, best.running_jobs);
            // A wish that cannot be followed is not passed over in silence.
            let unmet = self.preferred.as_deref().map(|preferred| {
                let preferred: String = preferred.chars().take(100).collect();
                format!("; no node \"{preferred}\", which a preference names, could take it")
            });
            let unmet = unmet.unwrap_or_default();
            let reason =
                format!("it has the most room: {jobs} jobs now, {room} more at once{unmet}");
            Self::ruled(&best.node_slug, reason)
        })
    }

    fn fallback(&self) -> Ruling<Placed> {
        Self::ruled("", "there is no node to choose".to_owned())
    }

    fn objection(&self, answer: &Placed) -> Option<String> {
        self.candidate(&answer.node_slug).is_none().then(|| {
            let slugs: Vec<_> = self.candidates.iter().map(|c| c.node_slug.as_str()).collect();
            format!("node_slug must be one of: {}", slugs.join(", "))
        })
    }

    fn summary(answer: &Placed) -> String {
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

    fn chosen(preferred: Option<&str>) -> Placed {
        let candidates = vec![candidate("a", 1), candidate("b", 3), candidate("c", 3)];
        let question = PlaceJob { candidates, preferred: preferred.map(str::to_owned) };
        question.by_rule().unwrap().answer
    }

    #[test]
    fn work_is_placed_where_a_preference_says_and_else_where_there_is_most_room() {
        assert_eq!(chosen(Some("a")).node_slug, "a");
        assert_eq!(chosen(Some("nowhere")).node_slug, "b");
        assert!(chosen(Some("nowhere")).reason.contains("no node \"nowhere\""));
        assert!(!chosen(None).reason.contains("preference"));
        assert_eq!(chosen(None).node_slug, "b");
        assert!(chosen(None).reason.contains("most room"));
    }

    #[test]
    fn a_node_that_is_no_candidate_is_objected_to() {
        let question = PlaceJob { candidates: vec![candidate("a", 1)], preferred: None };
        let elsewhere = Placed { node_slug: "b".to_owned(), reason: "I like it".to_owned() };

        assert!(question.objection(&elsewhere).unwrap().contains("one of: a"));
    }
}
