//! Chooses the tools that are relevant for a goal.

use std::convert::Infallible;

use cynode_domain::trace::{TraceEntry, TraceEventKind, TraceField, TraceStop};

use crate::planner::{PlanDraft, Planner, StepLimit};
use crate::tool_ranking::{ScoredTool, ToolRanking};

/// A tool that is relevant for a goal.
#[derive(Debug, Clone, PartialEq)]
pub struct SelectedTool {
    /// The position in the list of tools.
    pub index: usize,
    pub name: String,
    /// See [`ScoredTool::score`].
    pub score: f64,
}

/// Plans which tools to use: the best few, never those that share no term with the goal.
#[derive(Debug, Clone, Default)]
pub struct ToolPlanner {
    names: Vec<String>,
    ranking: ToolRanking,
    /// Tools that are not chosen, by position.
    excluded: Vec<bool>,
}

impl ToolPlanner {
    /// A planner over tools, given as name and description.
    pub fn new<'a>(tools: impl IntoIterator<Item = (&'a str, &'a str)>) -> Self {
        let tools: Vec<(&str, &str)> = tools.into_iter().collect();
        let names = tools.iter().map(|(name, _)| (*name).to_owned()).collect();
        let excluded = vec![false; tools.len()];
        Self { names, ranking: ToolRanking::new(tools), excluded }
    }

    /// Leaves these tools out, for example because they are offered anyway.
    #[must_use]
    pub fn without(mut self, positions: impl IntoIterator<Item = usize>) -> Self {
        for index in positions {
            if let Some(is_excluded) = self.excluded.get_mut(index) {
                *is_excluded = true;
            }
        }
        self
    }

    /// Returns the best tools for a goal, at most `limit`, the best first.
    pub fn select(&self, goal: &str, limit: StepLimit) -> Vec<SelectedTool> {
        let is_open = |tool: &ScoredTool| self.excluded.get(tool.index) == Some(&false);
        let ranked = self.ranking.rank(goal).into_iter().filter(is_open).take(limit.as_usize());
        let named = ranked.filter_map(|ScoredTool { index, score }| {
            let name = self.names.get(index)?.clone();
            Some(SelectedTool { index, name, score })
        });
        named.collect()
    }
}

impl Planner for ToolPlanner {
    type Step = SelectedTool;
    type Error = Infallible;

    /// Ends with [`TraceStop::NoRelevantTool`] if no tool is relevant.
    async fn draft(
        &mut self,
        goal: &str,
        limit: StepLimit,
    ) -> Result<PlanDraft<SelectedTool>, Infallible> {
        let steps = self.select(goal, limit);
        let stop = if steps.is_empty() { TraceStop::NoRelevantTool } else { TraceStop::GoalMet };
        let selection = Some(selection_entry(&steps, self.names.len()));
        Ok(PlanDraft { steps, stop, selection })
    }

    fn stop_of(error: &Infallible) -> TraceStop {
        match *error {}
    }
}

/// The event of a choice: tools and scores in thousandths, the best first.
fn selection_entry(selected: &[SelectedTool], candidates: usize) -> TraceEntry {
    let names: Vec<String> = selected.iter().map(|tool| tool.name.clone()).collect();
    let scores: Vec<String> =
        selected.iter().map(|tool| format!("{:.0}", tool.score * 1000.0)).collect();
    TraceEntry::new(TraceEventKind::ToolsSelected)
        .with(TraceField::Tools, names)
        .with(TraceField::ScoresPermille, scores)
        .with(TraceField::Candidates, candidates)
}

#[cfg(test)]
mod tests {
    use cynode_domain::ids::TraceId;
    use cynode_domain::trace::{TraceActor, TraceValue};
    use cynode_runtime::trace_recorder::TraceRecorder;

    use super::*;
    use crate::planner::{PlanMetadata, run_planner};

    fn planner(count: usize) -> ToolPlanner {
        let names: Vec<String> = (0..count).map(|n| format!("files.paint{n}")).collect();
        let tools = names.iter().map(|name| (name.as_str(), "Paints walls and doors."));
        ToolPlanner::new(tools.chain([("mail.send", "Sends a mail.")]))
    }

    fn metadata() -> PlanMetadata {
        let trace = TraceRecorder::new(TraceId::from(uuid::Uuid::nil()), TraceActor::Planner);
        PlanMetadata { trace, max_steps: StepLimit::clamped(5) }
    }

    #[tokio::test]
    async fn of_many_relevant_tools_the_best_few_are_chosen_with_their_scores() {
        let metadata = metadata();
        let plan = run_planner(&mut planner(90), "paint the walls", &metadata).await.unwrap();

        assert_eq!(plan.steps.len(), 5);
        assert!(plan.steps.iter().all(|tool| tool.score > 0.0 && tool.score <= 1.0));
        assert!(plan.steps.windows(2).all(|pair| pair[0].score >= pair[1].score));
        let events = metadata.trace.take().into_events();
        let selected = &events[1].entry;
        assert_eq!(selected.kind, TraceEventKind::ToolsSelected);
        assert_eq!(selected.fields.get(TraceField::Candidates), Some(&TraceValue::Number(91)));
        let (tools, scores) = (
            selected.fields.get(TraceField::Tools),
            selected.fields.get(TraceField::ScoresPermille),
        );
        let count = |value: Option<&TraceValue>| match value {
            Some(TraceValue::Words(words)) => words.len(),
            other => panic!("{other:?}"),
        };
        assert_eq!((count(tools), count(scores)), (5, 5));
    }

    #[tokio::test]
    async fn without_a_relevant_tool_the_plan_is_empty_and_says_so() {
        let metadata = metadata();
        let plan = run_planner(&mut planner(3), "sing a song", &metadata).await.unwrap();

        assert_eq!((plan.steps, plan.stop), (vec![], TraceStop::NoRelevantTool));
        let last = metadata.trace.take().into_events().pop().unwrap();
        assert_eq!(last.entry.stop, Some(TraceStop::NoRelevantTool));
    }

    #[test]
    fn excluded_tools_are_not_chosen() {
        let chosen = planner(3).without([0, 2, 99]).select("paint", StepLimit::clamped(5));
        let names: Vec<&str> = chosen.iter().map(|tool| tool.name.as_str()).collect();
        assert_eq!(names, ["files.paint1"]);
    }
}
