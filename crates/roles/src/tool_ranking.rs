//! Ranks tools by how much of a goal they match.
//!
//! Start at [`ToolRanking`]. A tool has four fields:
//!
//! - its name, as words;
//! - the first sentence of its description;
//! - the rest of its description;
//! - the phrases in which people ask for it (`phrases`), which built-in tools have. A tool of an installed server is
//!   found by the others, which count more for it.
//!
//! `terms` reads the terms of a field or of a goal: stems, pairs of neighbours, the concepts that words stand for
//! (`synonyms`), and what the form of the text shows (`shapes`). A term counts by how rare it is among the tools (its
//! inverse document frequency). A word of the goal counts once for each tool, by the best of its terms.
//!
//! Invariants: the ranking is deterministic, tools with equal scores keep their order, and a tool that shares no term
//! with the goal is not in it. Scores are comparable within one ranking only.

mod index;
mod phrases;
mod shapes;
mod synonyms;
mod terms;

use std::sync::{Arc, OnceLock};

use self::index::Index;
use self::terms::goal_terms;

/// A tool and how well it fits a goal.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ScoredTool {
    /// The position in the list of tools.
    pub index: usize,
    /// Similarity, greater than 0 and at most 1: the part of what the goal says that the tool matches.
    pub score: f64,
}

/// A list of tools that can be ranked. Clones share the index.
#[derive(Debug, Clone, Default)]
pub struct ToolRanking {
    /// Names and descriptions.
    tools: Arc<[(String, String)]>,
    /// Built when it is first needed: most lists are not ranked in every turn.
    index: Arc<OnceLock<Index>>,
}

impl ToolRanking {
    /// A ranking of tools, given as name and description.
    pub fn new<'a>(tools: impl IntoIterator<Item = (&'a str, &'a str)>) -> Self {
        let owned = |(name, description): (&str, &str)| (name.to_owned(), description.to_owned());
        Self { tools: tools.into_iter().map(owned).collect(), index: Arc::default() }
    }

    /// Returns the tools that share a term with the goal, best first.
    pub fn rank(&self, goal: &str) -> Vec<ScoredTool> {
        let index = self.index.get_or_init(|| Index::new(&self.tools));
        let groups = goal_terms(goal, |term| index.has(term));
        let (mut scores, mut bound) = (vec![0.0; self.tools.len()], 0.0);
        for group in &groups {
            let of_group = index.best_matches(group);
            bound += of_group.values().copied().fold(0.0, f64::max);
            for (tool, score) in of_group {
                scores[tool] += score;
            }
        }
        let matching = scores.into_iter().enumerate().filter(|(_, score)| *score > 0.0);
        let mut ranked: Vec<ScoredTool> =
            matching.map(|(index, score)| ScoredTool { index, score: score / bound }).collect();
        ranked.sort_by(|a, b| b.score.total_cmp(&a.score).then(a.index.cmp(&b.index)));
        ranked
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TOOLS: [(&str, &str); 5] = [
        ("jobs.task.list", "Lists tasks."),
        ("jobs.task.cancel", "Ends a task."),
        ("jobs.schedule.create", "Creates a schedule that makes tasks."),
        ("weather.look_up", "Tells the weather of a city."),
        ("queue.push", "Adds a message."),
    ];

    fn best(goal: &str) -> Vec<&'static str> {
        let ranked = ToolRanking::new(TOOLS).rank(goal);
        ranked.into_iter().map(|tool| TOOLS[tool.index].0).collect()
    }

    #[test]
    fn tools_are_ranked_by_the_words_they_share_with_the_request() {
        assert_eq!(best("Cancel the tasks of yesterday")[0], "jobs.task.cancel");
        assert_eq!(best("how is the weather in Rome?")[0], "weather.look_up");
        assert_eq!(best("scheduling")[0], "jobs.schedule.create");
        assert_eq!(best("please do it for me"), Vec::<&str>::new());
    }

    #[test]
    fn a_built_in_tool_is_found_by_phrases_that_share_no_word_with_its_texts() {
        let tools = [("db.task.cancel", "Ends a task."), ("weather.look_up", "Tells the weather.")];
        let ranked = ToolRanking::new(tools).rank("pull the plug");
        assert_eq!(ranked.iter().map(|tool| tool.index).collect::<Vec<_>>(), [0]);
    }

    #[test]
    fn whole_words_count_and_equal_tools_keep_their_order() {
        assert_eq!(best("zzmessagezz"), Vec::<&str>::new());
        let twins = [("a.one", "Paints walls."), ("b.two", "Paints walls."), ("c.one", "Sings.")];
        let ranked = ToolRanking::new(twins).rank("paint");
        let order: Vec<usize> = ranked.iter().map(|tool| tool.index).collect();
        assert_eq!(order, [0, 1]);
        assert!((ranked[0].score - ranked[1].score).abs() < f64::EPSILON);
    }

    #[test]
    fn scores_fall_from_the_best_to_the_last_and_are_parts_of_one() {
        let ranked = ToolRanking::new(TOOLS).rank("list the tasks of the schedule");

        assert!(ranked.windows(2).all(|pair| pair[0].score >= pair[1].score), "{ranked:?}");
        assert!(ranked.iter().all(|tool| tool.score > 0.0 && tool.score <= 1.0), "{ranked:?}");
        assert_eq!(best("a schedule, not a task")[0], "jobs.schedule.create");
    }

    #[test]
    fn repeated_calls_clones_and_new_indexes_give_the_same_ranking() {
        let ranking = ToolRanking::new(TOOLS);
        let first = ranking.rank("cancel task schedule");

        assert_eq!(ranking.rank("cancel task schedule"), first);
        assert_eq!(ranking.clone().rank("cancel task schedule"), first);
        assert_eq!(ToolRanking::new(TOOLS).rank("cancel task schedule"), first);
    }

    #[test]
    fn no_tools_and_no_words_are_no_match() {
        assert_eq!(ToolRanking::new([]).rank("cancel"), []);
        for goal in ["", "   ", "?!", "\u{0}", "日本語"] {
            assert_eq!(ToolRanking::new(TOOLS).rank(goal), [], "{goal:?}");
        }
    }
}
