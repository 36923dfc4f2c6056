//! Arguments of schedules: timing, payload and policies.

use std::path::PathBuf;

use chrono::{DateTime, SecondsFormat, TimeDelta, Utc};
use clap::{ArgGroup, Args};
use cynode_domain::git::BranchName;
use cynode_domain::schedule::{IfMissed, Overlap};
use cynode_wire::requests::SubmitRequest;
use cynode_wire::tasks::CreateTask;
use serde_json::{Value, json};

use crate::task::input::{self, InputPurpose};
use crate::task::limit_args::TaskLimitArgs;
use crate::task::repository_args::{resolve_repository, use_project};
use crate::task::span;
use cynode_cli::failure::CliFailure;

/// When the schedule is due.
#[derive(Debug, Args)]
#[command(group(ArgGroup::new("when").args(["cron", "every", "at", "in_"])))]
pub(super) struct ScheduleTimingArgs {
    /// Cron expression with five fields: minute, hour, day of month, month, day of week.
    #[arg(long, value_name = "FIELDS")]
    cron: Option<String>,
    /// Interval, such as 15m, 24h or 7d; at least 1m.
    #[arg(long, value_name = "TIME", value_parser = span::pace)]
    every: Option<u32>,
    /// Once, at this time: '2026-11-16 03:00', `2026-11-16T02:00:00Z`, or with a zone at the end.
    #[arg(long, value_name = "MOMENT")]
    at: Option<String>,
    /// Once, after this delay, such as 90s, 3h or 2d.
    #[arg(long = "in", value_name = "TIME", value_parser = span::parse)]
    in_: Option<u32>,
    /// Time zone of --cron and --at, such as Europe/Berlin [default: UTC].
    #[arg(long, visible_alias = "tz", value_name = "ZONE")]
    time_zone: Option<String>,
}

/// What the schedule runs.
#[derive(Debug, Args)]
#[command(group(ArgGroup::new("what").args(["prompt", "command", "script", "submit"])))]
pub(super) struct SchedulePayloadArgs {
    /// The work in prose; the project manager creates the tasks when the schedule is due.
    #[arg(short, long, value_name = "TEXT")]
    prompt: Option<String>,
    /// A shell command of the task; repeat it for further steps.
    #[arg(long, value_name = "CMD")]
    command: Vec<String>,
    /// The script of the task.
    #[arg(short, long, value_name = "FILE")]
    script: Option<PathBuf>,
    /// Work on a repository to submit when the schedule is due, as `cynork pm submit` does.
    #[arg(long, value_name = "TEXT")]
    submit: Option<String>,
    /// With --submit: the git repository to work on [default: that of the project].
    #[arg(long, value_name = "URL|PATH", requires = "submit")]
    repo: Option<String>,
    /// With --submit: the branch to start from [default: that of the project, or the repository's default branch].
    #[arg(long, value_name = "BRANCH", requires = "submit")]
    base: Option<BranchName>,
    /// The worker node to run the task on [default: chosen by the project manager].
    #[arg(long, value_name = "NODE")]
    node: Option<String>,
    #[command(flatten)]
    bounds: TaskLimitArgs,
}

/// Policies for missed and overlapping runs.
#[derive(Debug, Args)]
pub(super) struct SchedulePolicyArgs {
    /// After downtime: `once` fires the latest missed time, `skip` none [default: once].
    #[arg(long, value_name = "once|skip")]
    pub(super) if_missed: Option<IfMissed>,
    /// If a task of an earlier run is still open: `skip` this run, or `allow` it [default: skip].
    #[arg(long, value_name = "skip|allow")]
    pub(super) overlap: Option<Overlap>,
}

/// Timing of a request.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct ScheduleTimingRequest {
    pub(super) cron: Option<String>,
    pub(super) every_s: Option<u32>,
    pub(super) at: Option<String>,
    pub(super) time_zone: Option<String>,
}

/// Payload of a request.
#[derive(Debug)]
pub(super) struct SchedulePayloadRequest {
    pub(super) prompt: Option<String>,
    pub(super) task: Option<Box<CreateTask>>,
    pub(super) request: Option<Box<SubmitRequest>>,
}

impl ScheduleTimingArgs {
    pub(super) fn resolve_timing(&self, now: DateTime<Utc>) -> ScheduleTimingRequest {
        let (mut at, mut time_zone) = (self.at.clone(), self.time_zone.clone());
        // The zone may follow the time.
        if let (Some((moment, zone)), None) = (at.as_deref().and_then(split_zone), &time_zone) {
            (at, time_zone) = (Some(moment), Some(zone));
        }
        if let Some(seconds) = self.in_ {
            let moment = now + TimeDelta::seconds(i64::from(seconds));
            at = Some(moment.to_rfc3339_opts(SecondsFormat::Millis, true));
        }
        ScheduleTimingRequest { cron: self.cron.clone(), every_s: self.every, at, time_zone }
    }
}

/// Rejects a new schedule without timing or payload.
pub(super) fn require_complete(
    when: &ScheduleTimingRequest,
    what: &SchedulePayloadRequest,
) -> Result<(), CliFailure> {
    let fault = if when.cron.is_none() && when.every_s.is_none() && when.at.is_none() {
        "the schedule needs a time: give one of --cron, --every, --at and --in"
    } else if what.prompt.is_none() && what.task.is_none() && what.request.is_none() {
        "the schedule needs work: give one of --prompt, --command and --script, or --submit"
    } else {
        return Ok(());
    };
    Err(CliFailure::Usage(fault.to_owned()))
}

fn split_zone(text: &str) -> Option<(String, String)> {
    let (moment, zone) = text.trim().rsplit_once(' ')?;
    let is_zone = zone.starts_with(|c: char| c.is_ascii_alphabetic());
    is_zone.then(|| (moment.trim().to_owned(), zone.to_owned()))
}

impl SchedulePayloadArgs {
    pub(super) fn resolve_payload(self) -> Result<SchedulePayloadRequest, CliFailure> {
        let work = if let Some(path) = &self.script {
            let text = input::read_text(path, InputPurpose::Script)?;
            json!({ "input_mode": "script", "prompt": text })
        } else if self.command.is_empty() {
            Value::Null
        } else {
            json!({ "input_mode": "commands", "commands": self.command })
        };
        if work.is_null() {
            if self.node.is_some() || self.bounds.is_given() {
                let why = "--node, --accept, --timeout and other limits need --command or --script; \
                          the project manager sets them for tasks it creates from --prompt";
                return Err(CliFailure::Invalid(why.to_owned()));
            }
            let request = match self.submit {
                Some(text) => Some(Box::new(submission(&text, self.repo, self.base)?)),
                None => None,
            };
            return Ok(SchedulePayloadRequest { prompt: self.prompt, task: None, request });
        }
        let mut task: CreateTask = serde_json::from_value(work)
            .map_err(|error| CliFailure::Invalid(format!("invalid task: {error}")))?;
        self.bounds.apply(&mut task)?;
        task.node = self.node;
        Ok(SchedulePayloadRequest { prompt: None, task: Some(Box::new(task)), request: None })
    }
}

fn submission(
    text: &str,
    repo: Option<String>,
    base: Option<BranchName>,
) -> Result<SubmitRequest, CliFailure> {
    let body = match repo {
        Some(repo) => {
            json!({ "text": text, "repository": resolve_repository(repo, base, None)? })
        }
        None => json!({ "text": text, "project_repository": use_project("", base, None) }),
    };
    serde_json::from_value(body)
        .map_err(|error| CliFailure::Invalid(format!("invalid request: {error}")))
}

#[cfg(test)]
mod tests {
    use clap::Parser as _;

    use super::*;

    #[derive(Debug, clap::Parser)]
    struct ParsedScheduleArgs {
        #[command(flatten)]
        when: ScheduleTimingArgs,
        #[command(flatten)]
        what: SchedulePayloadArgs,
    }

    fn parse_args(args: &[&str]) -> ParsedScheduleArgs {
        ParsedScheduleArgs::try_parse_from(std::iter::once("x").chain(args.iter().copied()))
            .unwrap()
    }

    #[test]
    fn a_new_schedule_says_when_and_what() {
        let said = |args: &[&str]| {
            let ParsedScheduleArgs { when, what } = parse_args(args);
            let checked = require_complete(
                &when.resolve_timing(DateTime::UNIX_EPOCH),
                &what.resolve_payload().unwrap(),
            );
            checked.map_or_else(|fault| fault.to_string(), |()| "fine".to_owned())
        };

        assert!(said(&["--prompt", "x"]).contains("--cron, --every, --at and --in"));
        assert!(said(&["--every", "7d"]).contains("--prompt, --command and --script"));
        assert_eq!(said(&["--in", "2d", "--command", "make"]), "fine");
    }

    #[test]
    fn a_time_may_name_its_zone_and_a_span_becomes_a_time() {
        let zoned = parse_args(&["--at", "2026-11-16 03:00 Europe/Berlin"]).when;
        let plain = parse_args(&["--at", "2026-11-16 03:00", "--tz", "UTC"]).when;
        let soon = parse_args(&["--in", "90s"]).when;
        let now = DateTime::UNIX_EPOCH;

        assert_eq!(zoned.resolve_timing(now).at.as_deref(), Some("2026-11-16 03:00"));
        assert_eq!(zoned.resolve_timing(now).time_zone.as_deref(), Some("Europe/Berlin"));
        assert_eq!(plain.resolve_timing(now).at.as_deref(), Some("2026-11-16 03:00"));
        assert_eq!(soon.resolve_timing(now).at.as_deref(), Some("1970-01-01T00:01:30.000Z"));
    }

    #[test]
    fn commands_make_a_task_and_prose_a_prompt() {
        let task = parse_args(&["--command", "a", "--command", "b", "--timeout", "5m"]).what;
        let prose = parse_args(&["--prompt", "tidy up"]).what.resolve_payload().unwrap();

        let task = task.resolve_payload().unwrap().task.unwrap();
        assert_eq!((task.commands, task.limits.timeout_s), (vec!["a".into(), "b".into()], 300));
        assert_eq!((prose.prompt.as_deref(), prose.task.is_none()), (Some("tidy up"), true));
    }

    #[test]
    fn a_task_has_its_bounds_and_prose_has_none() {
        let bounds = ["--node", "mill", "--accept", "exit:0", "--memory-mib", "64"];
        let with = |work: [&'static str; 2]| {
            parse_args(&[&work[..], &bounds[..]].concat()).what.resolve_payload()
        };

        let task = with(["--command", "make"]).unwrap().task.unwrap();

        assert_eq!((task.node.as_deref(), task.limits.memory_mib), (Some("mill"), 64));
        assert_eq!(task.acceptance_criteria.len(), 1);
        let refused = with(["--prompt", "tidy up"]).unwrap_err();
        assert!(refused.to_string().contains("--command or --script"), "{refused}");
        let late = parse_args(&["--command", "make", "--timeout", "5h"])
            .what
            .resolve_payload()
            .unwrap_err();
        assert!(late.to_string().starts_with("--timeout, in seconds, is 18000"), "{late}");
    }

    #[test]
    fn two_times_or_two_kinds_of_work_are_refused_at_once() {
        for args in [["--every", "1h", "--in", "1h"], ["--prompt", "p", "--command", "c"]] {
            assert!(
                ParsedScheduleArgs::try_parse_from(std::iter::once("x").chain(args)).is_err(),
                "{args:?}"
            );
        }
    }
}
