//! When a schedule is due and what it wants done, as it is typed.

use std::path::PathBuf;

use chrono::{DateTime, SecondsFormat, TimeDelta, Utc};
use clap::{ArgGroup, Args};
use cynode_domain::schedule::{IfMissed, Overlap};
use cynode_wire::tasks::CreateTask;
use serde_json::{Value, json};

use crate::failure::Failure;
use crate::task::bounds::Bounds;
use crate::task::input::{self, Purpose};
use crate::task::span;

/// When it is due.
#[derive(Debug, Args)]
#[command(group(ArgGroup::new("when").args(["cron", "every", "at", "in_"])))]
pub(super) struct When {
    /// Due as five fields say: minute, hour, day of the month, month, day of the week.
    #[arg(long, value_name = "FIELDS")]
    cron: Option<String>,
    /// Due at an even pace, such as 15m, 24h or 7d; a minute at least.
    #[arg(long, value_name = "TIME", value_parser = span::pace)]
    every: Option<u32>,
    /// Due once, such as '2026-11-16 03:00', `2026-11-16T02:00:00Z`, or with its zone at the end.
    #[arg(long, value_name = "MOMENT")]
    at: Option<String>,
    /// Due once, after so long, such as 90s, 3h or 2d.
    #[arg(long = "in", value_name = "TIME", value_parser = span::parse)]
    in_: Option<u32>,
    /// The zone of --cron and --at, such as Europe/Berlin [default: UTC].
    #[arg(long, visible_alias = "tz", value_name = "ZONE")]
    time_zone: Option<String>,
}

/// What it wants done.
#[derive(Debug, Args)]
#[command(group(ArgGroup::new("what").args(["prompt", "command", "script"])))]
pub(super) struct What {
    /// The work in prose: the project manager makes the tasks when it is due.
    #[arg(short, long, value_name = "TEXT")]
    prompt: Option<String>,
    /// A shell command of the task that is made; give it again for each further step.
    #[arg(long, value_name = "CMD")]
    command: Vec<String>,
    /// The script of the task that is made.
    #[arg(short, long, value_name = "FILE")]
    script: Option<PathBuf>,
    /// The worker node that all of the task runs on; when absent, the project manager chooses where
    /// several could.
    #[arg(long, value_name = "NODE")]
    node: Option<String>,
    #[command(flatten)]
    bounds: Bounds,
}

/// What becomes of times that are missed, and of those that come too soon.
#[derive(Debug, Args)]
pub(super) struct Rules {
    /// After a time when nothing ran: `once` fires the latest missed time, `skip` none [default: once].
    #[arg(long, value_name = "once|skip")]
    pub(super) if_missed: Option<IfMissed>,
    /// While a task of an earlier time is open: `skip` passes over, `allow` fires [default: skip].
    #[arg(long, value_name = "skip|allow")]
    pub(super) overlap: Option<Overlap>,
}

/// When, as it is asked for.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Timing {
    pub(super) cron: Option<String>,
    pub(super) every_s: Option<u32>,
    pub(super) at: Option<String>,
    pub(super) time_zone: Option<String>,
}

/// What, as it is asked for.
#[derive(Debug)]
pub(super) struct Payload {
    pub(super) prompt: Option<String>,
    pub(super) task: Option<Box<CreateTask>>,
}

impl When {
    pub(super) fn asked(&self, now: DateTime<Utc>) -> Timing {
        let (mut at, mut time_zone) = (self.at.clone(), self.time_zone.clone());
        // A zone may stand after the time itself.
        if let (Some((moment, zone)), None) = (at.as_deref().and_then(with_zone), &time_zone) {
            (at, time_zone) = (Some(moment), Some(zone));
        }
        if let Some(seconds) = self.in_ {
            let moment = now + TimeDelta::seconds(i64::from(seconds));
            at = Some(moment.to_rfc3339_opts(SecondsFormat::Millis, true));
        }
        Timing { cron: self.cron.clone(), every_s: self.every, at, time_zone }
    }
}

/// Refuses a new schedule that does not say when, or what.
pub(super) fn check(when: &Timing, what: &Payload) -> Result<(), Failure> {
    let fault = if when.cron.is_none() && when.every_s.is_none() && when.at.is_none() {
        "say when: one of --cron, --every, --at and --in is needed"
    } else if what.prompt.is_none() && what.task.is_none() {
        "say what: one of --prompt, --command and --script is needed"
    } else {
        return Ok(());
    };
    Err(Failure::Usage(fault.to_owned()))
}

fn with_zone(text: &str) -> Option<(String, String)> {
    let (moment, zone) = text.trim().rsplit_once(' ')?;
    let is_zone = zone.starts_with(|c: char| c.is_ascii_alphabetic());
    is_zone.then(|| (moment.trim().to_owned(), zone.to_owned()))
}

impl What {
    pub(super) fn asked(self) -> Result<Payload, Failure> {
        let work = if let Some(path) = &self.script {
            let text = input::read_text(path, Purpose::Script)?;
            json!({ "input_mode": "script", "prompt": text })
        } else if self.command.is_empty() {
            Value::Null
        } else {
            json!({ "input_mode": "commands", "commands": self.command })
        };
        if work.is_null() {
            if self.node.is_some() || self.bounds.is_any() {
                let why = "--node, --accept, --timeout and other bounds are for a task with --command \
                           or --script: tasks made of prose get theirs from the project manager";
                return Err(Failure::Invalid(why.to_owned()));
            }
            return Ok(Payload { prompt: self.prompt, task: None });
        }
        let mut task: CreateTask = serde_json::from_value(work)
            .map_err(|error| Failure::Invalid(format!("the task cannot be read: {error}")))?;
        self.bounds.apply(&mut task)?;
        task.node = self.node;
        Ok(Payload { prompt: None, task: Some(Box::new(task)) })
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser as _;

    use super::*;

    #[derive(Debug, clap::Parser)]
    struct Typed {
        #[command(flatten)]
        when: When,
        #[command(flatten)]
        what: What,
    }

    fn typed(args: &[&str]) -> Typed {
        Typed::try_parse_from(std::iter::once("x").chain(args.iter().copied())).unwrap()
    }

    #[test]
    fn a_new_schedule_says_when_and_what() {
        let said = |args: &[&str]| {
            let Typed { when, what } = typed(args);
            let checked = check(&when.asked(DateTime::UNIX_EPOCH), &what.asked().unwrap());
            checked.map_or_else(|fault| fault.to_string(), |()| "fine".to_owned())
        };

        assert!(said(&["--prompt", "x"]).contains("--cron, --every, --at and --in"));
        assert!(said(&["--every", "7d"]).contains("--prompt, --command and --script"));
        assert_eq!(said(&["--in", "2d", "--command", "make"]), "fine");
    }

    #[test]
    fn a_time_may_name_its_zone_and_a_span_becomes_a_time() {
        let zoned = typed(&["--at", "2026-11-16 03:00 Europe/Berlin"]).when;
        let plain = typed(&["--at", "2026-11-16 03:00", "--tz", "UTC"]).when;
        let soon = typed(&["--in", "90s"]).when;
        let now = DateTime::UNIX_EPOCH;

        assert_eq!(zoned.asked(now).at.as_deref(), Some("2026-11-16 03:00"));
        assert_eq!(zoned.asked(now).time_zone.as_deref(), Some("Europe/Berlin"));
        assert_eq!(plain.asked(now).at.as_deref(), Some("2026-11-16 03:00"));
        assert_eq!(soon.asked(now).at.as_deref(), Some("1970-01-01T00:01:30.000Z"));
    }

    #[test]
    fn commands_make_a_task_and_prose_a_prompt() {
        let task = typed(&["--command", "a", "--command", "b", "--timeout", "5m"]).what;
        let prose = typed(&["--prompt", "tidy up"]).what.asked().unwrap();

        let task = task.asked().unwrap().task.unwrap();
        assert_eq!((task.commands, task.limits.timeout_s), (vec!["a".into(), "b".into()], 300));
        assert_eq!((prose.prompt.as_deref(), prose.task.is_none()), (Some("tidy up"), true));
    }

    #[test]
    fn a_task_has_its_bounds_and_prose_has_none() {
        let bounds = ["--node", "mill", "--accept", "exit:0", "--memory-mib", "64"];
        let with = |work: [&'static str; 2]| typed(&[&work[..], &bounds[..]].concat()).what.asked();

        let task = with(["--command", "make"]).unwrap().task.unwrap();

        assert_eq!((task.node.as_deref(), task.limits.memory_mib), (Some("mill"), 64));
        assert_eq!(task.acceptance_criteria.len(), 1);
        let refused = with(["--prompt", "tidy up"]).unwrap_err();
        assert!(refused.to_string().contains("--command or --script"), "{refused}");
        let late = typed(&["--command", "make", "--timeout", "5h"]).what.asked().unwrap_err();
        assert!(late.to_string().starts_with("--timeout, in seconds, is 18000"), "{late}");
    }

    #[test]
    fn two_times_or_two_kinds_of_work_are_refused_at_once() {
        for args in [["--every", "1h", "--in", "1h"], ["--prompt", "p", "--command", "c"]] {
            assert!(Typed::try_parse_from(std::iter::once("x").chain(args)).is_err(), "{args:?}");
        }
    }
}
