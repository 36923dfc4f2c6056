//! `brain replay`: recorded decisions held against the questions and schemas of this version.

use std::path::{Path, PathBuf};

use clap::Args;
use cynode_agent::cassette::{BadRecording, Replayed, Verdict, replay};

use crate::app::App;
use crate::failure::Failure;
use crate::out::Look;
use crate::table;

/// What to replay.
#[derive(Debug, Args)]
pub struct ReplayArgs {
    /// A record of an exchange with a model, or a folder of them.
    path: PathBuf,
}

/// Replays records without asking anybody; fails if one does not hold any more.
pub(super) async fn run(args: ReplayArgs, app: &App) -> Result<(), Failure> {
    let replayed = read(&args.path).await?;
    let verdict = judge(&replayed);
    app.out.list(replayed, render)?;
    verdict
}

/// Fails unless there was something to check, and all of it holds. Conversations are not checked.
fn judge(replayed: &[Replayed]) -> Result<(), Failure> {
    let checked: Vec<_> = replayed.iter().filter(|record| record.verdict.is_checked()).collect();
    let (all, left) = (checked.len(), replayed.len() - checked.len());
    if checked.is_empty() {
        let none = format!("nothing was checked: none of the {left} records is a decision");
        return Err(Failure::NotFound(none));
    }
    let broken = checked.iter().filter(|record| !record.verdict.holds()).count();
    if broken > 0 {
        return Err(Failure::Conflict(format!("{broken} of {all} decisions do not hold any more")));
    }
    Ok(())
}

async fn read(path: &Path) -> Result<Vec<Replayed>, Failure> {
    let replayed = replay(path).await.map_err(|fault| match fault {
        BadRecording::Disk { .. } => Failure::NotFound(fault.to_string()),
        BadRecording::Content { .. } => Failure::Invalid(fault.to_string()),
    })?;
    if replayed.is_empty() {
        return Err(Failure::NotFound(format!("there is no record in {}", path.display())));
    }
    Ok(replayed)
}

fn render(replayed: &[Replayed], look: Look) -> String {
    let rows = replayed.iter().map(|record| {
        let (verdict, words) = worded(&record.verdict);
        let file = record.path.file_name().unwrap_or_default().to_string_lossy();
        vec![
            record.purpose.clone(),
            record.model.clone(),
            verdict.to_owned(),
            table::short(words, 60),
            table::short(&file, 40),
        ]
    });
    table::rows(&["PURPOSE", "MODEL", "TODAY", "ANSWER", "RECORD"], rows, look)
}

fn worded(verdict: &Verdict) -> (&'static str, &str) {
    match verdict {
        Verdict::Same { answer } => ("same", answer),
        Verdict::Drifted { answer } => ("asked differently", answer),
        Verdict::Refused { reason } => ("refused", reason),
        Verdict::NoDecision => ("not checked", ""),
    }
}

#[cfg(test)]
mod tests {
    use chrono::DateTime;

    use super::*;

    fn of(purpose: &str, verdict: Verdict) -> Replayed {
        Replayed {
            path: PathBuf::from("cassettes/0123.json"),
            purpose: purpose.to_owned(),
            model: "tiny".to_owned(),
            verdict,
        }
    }

    #[test]
    fn conversations_alone_are_no_proof_that_records_hold() {
        let chat = || of("chat", Verdict::NoDecision);
        let same = of("plan", Verdict::Same { answer: "2 commands".to_owned() });
        let drifted = of("plan", Verdict::Drifted { answer: "2 commands".to_owned() });

        assert!(matches!(judge(&[chat()]), Err(Failure::NotFound(_))));
        assert!(judge(&[chat(), same]).is_ok());
        assert!(matches!(judge(&[chat(), drifted]), Err(Failure::Conflict(_))));
    }

    #[test]
    fn records_are_listed_with_what_they_are_worth_today() {
        let records = vec![
            of("plan", Verdict::Same { answer: "2 commands".to_owned() }),
            of("classify", Verdict::Drifted { answer: "quick_fix: it says so".to_owned() }),
            of("verify", Verdict::Refused { reason: "/judgements: too few".to_owned() }),
            of("chat", Verdict::NoDecision),
        ];
        let look = Look { now: DateTime::UNIX_EPOCH, width: None };

        insta::assert_snapshot!(render(&records, look));
    }

    #[tokio::test]
    async fn a_path_without_records_is_not_found() {
        let folder = tempfile::tempdir().unwrap();

        for path in [folder.path().to_owned(), folder.path().join("none")] {
            assert!(matches!(read(&path).await, Err(Failure::NotFound(_))));
        }
    }
}
