//! The description of a pull request. Texts of others are enclosed in fences, so that they mention no user, close no issue
//! and hide nothing.

use cynode_domain::text::truncate_chars;
use cynode_forge::CommentMarker;
use cynode_planning::structured_context::summarize;

use super::Step;
use crate::RequestError;

/// The longest text of a request that a body repeats.
const MAX_REQUEST_CHARS: usize = 20_000;

impl Step<'_> {
    /// The marker of a text that this request writes on its forge.
    pub(super) fn marker(&self, what: &str) -> Result<CommentMarker, RequestError> {
        let key = format!("request/{}/{what}", self.snapshot.task.spec.id);
        CommentMarker::new(&key)
            .ok_or_else(|| RequestError::Invalid(vec![format!("{key} is no marker")]))
    }

    pub(super) fn pull_request_title(&self) -> String {
        summarize(&self.snapshot.task.spec.prompt)
    }

    /// The marker, the request, and the result with decisions, evidence, cost and open notes.
    pub(super) async fn pull_request_body(&self) -> Result<String, RequestError> {
        let all = self.snapshot.task_ids();
        let sums = self.service.store.read(move |tx| {
            Box::pin(async move { Ok::<_, RequestError>(tx.inference_sums_of(&all).await?) })
        });
        let sums = sums.await?;
        let task = &self.snapshot.task.spec;
        let text = truncate_chars(&task.prompt, MAX_REQUEST_CHARS);
        let mut cost = format!(
            "{} model calls, ${}.{:06}",
            sums.calls,
            sums.cost_micro_usd / 1_000_000,
            sums.cost_micro_usd % 1_000_000
        );
        if sums.unpriced > 0 {
            cost = format!("{cost}, {} without a known price", sums.unpriced);
        }
        let result = format!("{}\ncost: {cost}", self.summarize());
        Ok(format!(
            "{}\nRequest `{}`, worked on by CyNode.\n\n## Request\n\n{}\n\n## Result\n\n{}\n",
            self.marker("pull-request")?.line(),
            task.name,
            fenced(text),
            fenced(&result),
        ))
    }

    /// What a round changed.
    pub(super) fn round_comment(&self) -> String {
        let review = &self.snapshot.request.state.people_review;
        let reply = review.reply.as_deref().unwrap_or("The comments were worked on.");
        format!("Round {} is pushed:\n\n{}", review.rounds, fenced(reply))
    }
}

/// A text in a fence that it does not contain.
pub(crate) fn fenced(text: &str) -> String {
    let longest = text.split(|letter| letter != '`').map(str::len).max().unwrap_or(0);
    let fence = "`".repeat(longest.max(2) + 1);
    format!("{fence}text\n{}\n{fence}", text.trim_end())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_cannot_leave_its_fence() {
        assert_eq!(fenced("a\n"), "```text\na\n```");
        let hostile = "```\n@everyone <!-- hidden -->\n````";
        let body = fenced(hostile);

        assert!(body.starts_with("`````text\n") && body.ends_with("\n`````"), "{body}");
    }
}
