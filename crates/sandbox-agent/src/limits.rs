//! The limits of a job, and how much of them is left.

use std::time::Duration;

use cynode_wire::agent_jobs::{AgentConstraints, AgentUsage, StopCondition};
use tokio::time::Instant;

use cynode_agent_job::stop::JobEnd;

/// The limits of a job that is running.
#[derive(Debug)]
pub(crate) struct JobLimits {
    deadline: Instant,
    max_steps: u32,
    max_tokens: Option<u64>,
    steps_used: u32,
}

impl JobLimits {
    /// The time starts now.
    pub(crate) fn start(constraints: &AgentConstraints) -> Self {
        let runtime = Duration::from_secs(constraints.max_runtime_seconds.into());
        Self {
            deadline: Instant::now() + runtime,
            max_steps: constraints.max_steps,
            max_tokens: constraints.max_tokens,
            steps_used: 0,
        }
    }

    pub(crate) fn deadline(&self) -> Instant {
        self.deadline
    }

    pub(crate) fn count_step(&mut self) {
        self.steps_used += 1;
    }

    /// Returns the end of the job if a limit is reached.
    pub(crate) fn find_reached(&self, usage: &AgentUsage) -> Option<JobEnd> {
        if self.steps_used >= self.max_steps && !cynode_fault::fault!("GRD-08") {
            let message = format!("all {} steps are used", self.max_steps);
            return Some(JobEnd::unmet(StopCondition::Steps, message));
        }
        let max_tokens = self.max_tokens.filter(|max| total_tokens(usage) >= *max)?;
        let message = format!("all {max_tokens} tokens are used");
        Some(JobEnd::unmet(StopCondition::Budget, message))
    }

    /// Describes for the model how much is left.
    pub(crate) fn describe(&self, usage: &AgentUsage) -> String {
        let steps = self.max_steps - self.steps_used.min(self.max_steps);
        let seconds = self.deadline.saturating_duration_since(Instant::now()).as_secs();
        let used = total_tokens(usage);
        let tokens = match self.max_tokens {
            Some(max) => format!("{} tokens left", max.saturating_sub(used)),
            None => format!("{used} tokens used"),
        };
        let advice = if steps <= 2 { " Finish or give up now." } else { "" };
        format!("[{steps} steps left, {seconds} s left, {tokens}]{advice}")
    }
}

fn total_tokens(usage: &AgentUsage) -> u64 {
    usage.input_tokens.saturating_add(usage.output_tokens)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn what_is_left_is_described_and_ends_the_job() {
        let constraints = AgentConstraints {
            max_runtime_seconds: 60,
            max_output_bytes: 1,
            max_steps: 3,
            ext_net_allowed: false,
            max_tokens: Some(100),
        };
        let mut limits = JobLimits::start(&constraints);
        let usage = |input_tokens| AgentUsage { calls: 1, input_tokens, output_tokens: 10 };
        tokio::time::advance(Duration::from_secs(15)).await;

        assert_eq!(limits.describe(&usage(20)), "[3 steps left, 45 s left, 70 tokens left]");
        assert_eq!(limits.find_reached(&usage(20)), None);
        let end = limits.find_reached(&usage(90)).unwrap();
        assert_eq!(end.stop(), StopCondition::Budget);
        for _ in 0..3 {
            limits.count_step();
        }
        assert_eq!(limits.find_reached(&usage(0)).unwrap().stop(), StopCondition::Steps);
        assert!(limits.describe(&usage(0)).starts_with("[0 steps left"));
    }
}
