//! `brain replay`: checks recorded decisions against the prompts and schemas of this version.

use std::path::{Path, PathBuf};

use clap::Args;
use cynode_agent::cassette::{RecordingError, ReplayResult, ReplayVerdict, replay};

use cynode_cli::context::CliContext;
use cynode_cli::failure::CliFailure;
use cynode_cli::out::RenderContext;
use cynode_cli::table;

/// Arguments of `brain replay`.
#[derive(Debug, Args)]
pub struct ReplayArgs {
    /// A recorded exchange with a model, or a directory of them.
    path: PathBuf,
}

/// Replays recordings without calling a model; fails if a decision is no longer valid.
pub(super) async fn run(args: ReplayArgs, app: &CliContext) -> Result<(), CliFailure> {
    let replayed = replay_path(&args.path).await?;
    let verdict = check_verdicts(&replayed);
    app.out.list(replayed, render)?;
    verdict
}

/// Fails unless at least one decision was checked and all of them hold. Chats are not checked.
fn check_verdicts(replayed: &[ReplayResult]) -> Result<(), CliFailure> {
    let checked: Vec<_> = replayed.iter().filter(|record| record.verdict.is_checked()).collect();
    let (all, left) = (checked.len(), replayed.len() - checked.len());
    if checked.is_empty() {
        let none = format!("no decision found: all {left} recordings are chats");
        return Err(CliFailure::NotFound(none));
    }
    let broken = checked.iter().filter(|record| !record.verdict.holds()).count();
    if broken > 0 {
        let reason = format!("{broken} of {all} recorded decisions are no longer valid");
        return Err(CliFailure::Conflict(reason));
    }
    Ok(())
}

async fn replay_path(path: &Path) -> Result<Vec<ReplayResult>, CliFailure> {
    let replayed = replay(path).await.map_err(|fault| match fault {
        RecordingError::Io { .. } => CliFailure::NotFound(fault.to_string()),
        RecordingError::Invalid { .. } => CliFailure::Invalid(fault.to_string()),
    })?;
    if replayed.is_empty() {
        return Err(CliFailure::NotFound(format!("no recordings in {}", path.display())));
    }
    Ok(replayed)
}

fn render(replayed: &[ReplayResult], ctx: RenderContext) -> String {
    let rows = replayed.iter().map(|record| {
        let (verdict, words) = describe_verdict(&record.verdict);
        let file = record.path.file_name().unwrap_or_default().to_string_lossy();
        vec![
            record.purpose.clone(),
            record.model.clone(),
            verdict.to_owned(),
            table::truncate(words, 60),
            table::truncate(&file, 40),
        ]
    });
    table::render_table(&["PURPOSE", "MODEL", "STATUS", "ANSWER", "RECORD"], rows, ctx)
}

fn describe_verdict(verdict: &ReplayVerdict) -> (&'static str, &str) {
    match verdict {
        ReplayVerdict::Same { answer } => ("same", answer),
        ReplayVerdict::Drifted { answer } => ("prompt changed", answer),
        ReplayVerdict::Refused { reason } => ("rejected", reason),
        ReplayVerdict::NoDecision => ("not checked", ""),
    }
}

#[cfg(test)]
mod tests {
    use chrono::DateTime;

    use super::*;

    fn replayed(purpose: &str, verdict: ReplayVerdict) -> ReplayResult {
        ReplayResult {
            path: PathBuf::from("cassettes/0123.json"),
            purpose: purpose.to_owned(),
            model: "tiny".to_owned(),
            verdict,
        }
    }

    #[test]
    fn conversations_alone_are_no_proof_that_records_hold() {
        let chat = || replayed("chat", ReplayVerdict::NoDecision);
        let same = replayed("plan", ReplayVerdict::Same { answer: "2 commands".to_owned() });
        let drifted = replayed("plan", ReplayVerdict::Drifted { answer: "2 commands".to_owned() });

        assert!(matches!(check_verdicts(&[chat()]), Err(CliFailure::NotFound(_))));
        assert!(check_verdicts(&[chat(), same]).is_ok());
        assert!(matches!(check_verdicts(&[chat(), drifted]), Err(CliFailure::Conflict(_))));
    }

    #[test]
    fn records_are_listed_with_what_they_are_worth_today() {
        let records = vec![
            replayed("plan", ReplayVerdict::Same { answer: "2 commands".to_owned() }),
            replayed(
                "classify",
                ReplayVerdict::Drifted { answer: "quick_fix: it says so".to_owned() },
            ),
            replayed(
                "verify",
                ReplayVerdict::Refused { reason: "/judgements: too few".to_owned() },
            ),
            replayed("chat", ReplayVerdict::NoDecision),
        ];
        let ctx = RenderContext { now: DateTime::UNIX_EPOCH, width: None };

        insta::assert_snapshot!(render(&records, ctx));
    }

    #[tokio::test]
    async fn a_path_without_records_is_not_found() {
        let folder = tempfile::tempdir().unwrap();

        for path in [folder.path().to_owned(), folder.path().join("none")] {
            assert!(matches!(replay_path(&path).await, Err(CliFailure::NotFound(_))));
        }
    }
}
