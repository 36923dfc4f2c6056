//! Ranks tools by the similarity of their name and description to a goal.
//!
//! Start at [`ToolRanking`]. A term counts by how rare it is among the tools (its inverse document frequency), and
//! more in a name than in a description. `terms` reads the terms of a text: stems, what they stand for
//! (`synonyms.txt`, German included), and what its form shows, such as an address. A word of the goal counts once for
//! each tool, by the best of the terms that it stands for.
//!
//! Invariants: the ranking is deterministic, tools with equal scores keep their order, and a tool that shares no term
//! with the goal is not in it. Scores are comparable within one ranking only.

mod synonyms;
mod terms;

use std::collections::BTreeMap;

use self::terms::{TermGroup, goal_terms, name_terms, text_terms};

/// The weight of a term in the name relative to one in the description.
const NAME_WEIGHT: f64 = 2.2;
/// The weight of the part of a name that the goal mentions.
const COVERAGE_WEIGHT: f64 = 5.0;
/// The weight of a term in the first sentence of a description relative to the rest.
const FIRST_SENTENCE_WEIGHT: f64 = 1.6;
/// How much the length of a description counts, from 0 (not at all) to 1.
const LENGTH_INFLUENCE: f64 = 0.4;
/// Segments of names that say nothing about the tool.
const EMPTY_SEGMENTS: [&str; 5] = ["db", "apmas", "cuga", "modular", "tools"];

/// A tool and how well it fits a goal.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ScoredTool {
    /// The position in the list of tools.
    pub index: usize,
    /// Similarity, greater than 0 and at most 1: the part of what the goal says that the tool matches.
    pub score: f64,
}

/// An index over the names and descriptions of tools.
#[derive(Debug, Clone, Default)]
pub struct ToolRanking {
    tools: Vec<ToolTerms>,
    /// In how many tools a term occurs.
    frequencies: BTreeMap<String, usize>,
    mean_length: f64,
}

#[derive(Debug, Clone)]
struct ToolTerms {
    name: Vec<String>,
    /// Weights of the terms of the description.
    description: BTreeMap<String, f64>,
    /// Terms of the description.
    length: f64,
}

impl ToolRanking {
    /// Indexes tools, given as name and description.
    pub fn new<'a>(tools: impl IntoIterator<Item = (&'a str, &'a str)>) -> Self {
        let tools: Vec<ToolTerms> = tools
            .into_iter()
            .map(|(name, description)| ToolTerms::new(name, description))
            .collect();
        let mut frequencies: BTreeMap<String, usize> = BTreeMap::new();
        for tool in &tools {
            let in_name = tool.name.iter().filter(|term| !tool.description.contains_key(*term));
            let mut unique: Vec<&String> = in_name.chain(tool.description.keys()).collect();
            unique.sort_unstable();
            unique.dedup();
            for term in unique {
                *frequencies.entry(term.clone()).or_default() += 1;
            }
        }
        let total: f64 = tools.iter().map(|tool| tool.length).sum();
        let mean_length = total / count_as_f64(tools.len().max(1));
        Self { tools, frequencies, mean_length }
    }

    /// Returns the tools that share a term with the goal, best first.
    pub fn rank(&self, goal: &str) -> Vec<ScoredTool> {
        let wanted = goal_terms(goal, |term| self.frequencies.contains_key(term));
        let bound = self.score_bound(&wanted);
        let scored = self.tools.iter().enumerate().map(|(index, tool)| {
            let score = self.score(tool, &wanted) / bound;
            ScoredTool { index, score }
        });
        let mut scored: Vec<ScoredTool> = scored.filter(|tool| tool.score > 0.0).collect();
        scored.sort_by(|a, b| b.score.total_cmp(&a.score).then(a.index.cmp(&b.index)));
        scored
    }

    fn score(&self, tool: &ToolTerms, wanted: &[TermGroup]) -> f64 {
        let share = tool.length / self.mean_length.max(1.0);
        let norm = 1.0 - LENGTH_INFLUENCE + LENGTH_INFLUENCE * share;
        let mut score = 0.0;
        let mut covered: BTreeMap<&str, f64> = BTreeMap::new();
        for group in wanted {
            let mut best: f64 = 0.0;
            for (term, weight) in group {
                best = best.max(weight * self.match_term(tool, term, norm));
                if tool.name.contains(term) {
                    let part = covered.entry(term).or_default();
                    *part = part.max(weight.min(1.0));
                }
            }
            score += best;
        }
        if score > 0.0 && !tool.name.is_empty() {
            let covered: f64 = covered.values().sum();
            score += COVERAGE_WEIGHT * (covered / count_as_f64(tool.name.len())).min(1.0);
        }
        score
    }

    /// More than any tool can score.
    fn score_bound(&self, wanted: &[TermGroup]) -> f64 {
        let best_term = |group: &TermGroup| {
            let weights = group.iter().map(|(term, weight)| weight * self.rarity(term));
            weights.fold(0.0, f64::max)
        };
        let terms: f64 = wanted.iter().map(best_term).sum();
        terms * (NAME_WEIGHT + 2.0) + COVERAGE_WEIGHT
    }

    /// How much a term says for a tool.
    fn match_term(&self, tool: &ToolTerms, term: &str, norm: f64) -> f64 {
        let in_name = if tool.name.iter().any(|it| it == term) { NAME_WEIGHT } else { 0.0 };
        let count = tool.description.get(term).copied().unwrap_or_default();
        self.rarity(term) * (in_name + 2.0 * count / (count + norm))
    }

    /// The inverse document frequency of a term.
    fn rarity(&self, term: &str) -> f64 {
        let count = count_as_f64(self.frequencies.get(term).copied().unwrap_or_default());
        let total = count_as_f64(self.tools.len());
        (1.0 + (total - count + 0.5) / (count + 0.5)).ln()
    }
}

impl ToolTerms {
    fn new(name: &str, description: &str) -> Self {
        let first_end = description.find(". ").map_or(description.len(), |end| end + 1);
        let (first, rest) = description.split_at_checked(first_end).unwrap_or((description, ""));
        let mut weights: BTreeMap<String, f64> = BTreeMap::new();
        let mut length = 0.0;
        for (text, weight) in [(first, FIRST_SENTENCE_WEIGHT), (rest, 1.0)] {
            for term in text_terms(text) {
                *weights.entry(term).or_default() += weight;
                length += 1.0;
            }
        }
        let mut name = name_terms(name);
        let informative = |term: &String| !EMPTY_SEGMENTS.contains(&term.as_str());
        name.retain(informative);
        Self { name, description: weights, length }
    }
}

fn count_as_f64(count: usize) -> f64 {
    u32::try_from(count).map_or(f64::MAX, f64::from)
}

#[cfg(test)]
mod tests {
    use super::*;

    const TOOLS: [(&str, &str); 5] = [
        ("db.task.list", "Lists tasks."),
        ("db.task.cancel", "Ends a task."),
        ("db.schedule.create", "Creates a schedule that makes tasks."),
        ("weather.look_up", "Tells the weather of a city."),
        ("queue.push", "Adds a message."),
    ];

    fn best(goal: &str) -> Vec<&'static str> {
        let ranked = ToolRanking::new(TOOLS).rank(goal);
        ranked.into_iter().map(|tool| TOOLS[tool.index].0).collect()
    }

    #[test]
    fn tools_are_ranked_by_the_words_they_share_with_the_request() {
        assert_eq!(best("Cancel the tasks of yesterday")[0], "db.task.cancel");
        assert_eq!(best("how is the weather in Rome?")[0], "weather.look_up");
        assert_eq!(best("scheduling")[0], "db.schedule.create");
        assert_eq!(best("please do it for me"), Vec::<&str>::new());
    }

    #[test]
    fn whole_words_count_and_equal_tools_keep_their_order() {
        assert_eq!(best("multitasking"), Vec::<&str>::new());
        let twins = [("a.one", "Paints walls."), ("b.two", "Paints walls."), ("c.one", "Sings.")];
        let ranked = ToolRanking::new(twins).rank("paint");
        let order: Vec<usize> = ranked.iter().map(|tool| tool.index).collect();
        assert_eq!(order, [0, 1]);
        assert!((ranked[0].score - ranked[1].score).abs() < f64::EPSILON);
    }

    #[test]
    fn scores_fall_from_the_best_to_the_last_and_a_rare_term_counts_more() {
        let ranked = ToolRanking::new(TOOLS).rank("list the tasks of the schedule");

        assert!(ranked.windows(2).all(|pair| pair[0].score >= pair[1].score), "{ranked:?}");
        assert!(ranked.iter().all(|tool| tool.score > 0.0));
        assert_eq!(best("a schedule, not a task")[0], "db.schedule.create");
    }

    #[test]
    fn repeated_calls_and_indexes_give_the_same_ranking() {
        let ranking = ToolRanking::new(TOOLS);
        let first = ranking.rank("cancel task schedule");

        assert_eq!(ranking.rank("cancel task schedule"), first);
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
