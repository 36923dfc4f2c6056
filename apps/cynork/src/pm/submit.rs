//! `pm submit`: text, a file or standard input.

use std::io::Read as _;
use std::path::PathBuf;

use clap::Args;
use cynode_domain::git::BranchName;
use cynode_domain::request::{
    DEFAULT_PULL_REQUEST_ROUNDS, DEFAULT_REVIEW_ROUNDS, DeliveryMode, RequestOrigin,
    RequestSettings,
};
use cynode_domain::work_kind::{WorkKind, WorkScope};
use cynode_wire::forges::SubmitIssue;
use cynode_wire::requests::SubmitRequest;

use super::{follow, render};
use crate::task::input::{InputPurpose, read_text};
use crate::task::repository_args::{resolve_repository, use_project};
use cynode_cli::context::CliContext;
use cynode_cli::failure::CliFailure;

/// The file whose text is a brief.
const BRIEF: &str = "PROJECT-BRIEF.md";
/// Millionths of a dollar.
const MICROS: f64 = 1_000_000.0;
const MAX_BUDGET: f64 = 1_000_000.0;

pub(super) const EXAMPLES: &str = "\
Examples:
  cynork pm submit 'Add a dark mode toggle to the settings page' --repo . --wait
  cynork pm submit --issue https://github.com/team/shop/issues/12 --deliver pull_request
  cynork pm submit --file PROJECT-BRIEF.md --repo https://example.com/team/shop.git
  pbpaste | cynork pm submit - --repo . --agent opencode --budget 2.50
  cynork pm submit 'Fix the typo in README.md' --repo . --dry-run";

/// Arguments of `pm submit`.
#[derive(Debug, Args)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of the command line")]
pub struct SubmitArgs {
    /// What should be done, in your words; `-` reads standard input.
    #[arg(required_unless_present_any = ["file", "issue"], conflicts_with_all = ["file", "issue"])]
    text: Option<String>,
    /// Read it from a file; a PROJECT-BRIEF.md is a new project.
    #[arg(long, short, value_name = "FILE")]
    file: Option<PathBuf>,
    /// Submit an issue of a forge that is set for the project (`cynork forge set`).
    #[arg(long, value_name = "URL", conflicts_with_all = ["file", "repo", "base", "branch", "kind", "scope"])]
    issue: Option<String>,
    /// The git repository to work on: a URL, user@host:path, or a path on the worker node [default: that of the project].
    #[arg(long, value_name = "URL|PATH")]
    repo: Option<String>,
    /// Work on the repository of the project, or with =PROJECT on that of another one that you own or that is shared with
    /// you.
    #[arg(long, value_name = "PROJECT", num_args = 0..=1, require_equals = true, default_missing_value = "", conflicts_with_all = ["repo", "issue"])]
    project_repo: Option<String>,
    /// The branch to start from [default: that of the project, or the repository's default branch].
    #[arg(long, value_name = "BRANCH")]
    base: Option<BranchName>,
    /// The branch to deliver [default: cynode/ and the name of the request].
    #[arg(long, value_name = "BRANCH")]
    branch: Option<BranchName>,
    /// The project [default: your default project].
    #[arg(long)]
    project: Option<String>,
    /// The profile of the project that its agents work in [default: the default one].
    #[arg(long, conflicts_with = "issue")]
    profile: Option<String>,
    /// Its name [default: from the text].
    #[arg(long)]
    name: Option<String>,
    /// Decide the kind yourself: `new_project`, `feature_request` or `quick_fix`.
    #[arg(long)]
    kind: Option<WorkKind>,
    /// Decide the scope yourself: `trivial`, `small`, `medium` or `large`.
    #[arg(long)]
    scope: Option<WorkScope>,
    /// The agent of every unit: `sba` or the name of an agent profile [default: as configured].
    #[arg(long)]
    agent: Option<String>,
    /// What to deliver: `patch`, `branch`, or `pull_request` where a forge is set and a rule allows it.
    #[arg(long, default_value = "branch")]
    deliver: DeliveryMode,
    /// How often work is sent back for critical and major issues.
    #[arg(long, value_name = "COUNT", default_value_t = DEFAULT_REVIEW_ROUNDS)]
    max_rounds: u32,
    /// How often comments and failed checks of its pull request start a further round.
    #[arg(long, value_name = "COUNT", default_value_t = DEFAULT_PULL_REQUEST_ROUNDS)]
    max_pull_request_rounds: u32,
    /// What its model calls may cost, in dollars; then no further attempt starts, and you are asked.
    #[arg(long, value_name = "DOLLARS")]
    budget: Option<f64>,
    /// Accept results whose tests fail or were not run.
    #[arg(long)]
    no_tests: bool,
    /// Print kind, scope, workflow and units, and change nothing.
    #[arg(long)]
    dry_run: bool,
    /// Accept it although it is a duplicate, a question or several requests.
    #[arg(long)]
    force: bool,
    /// Follow it until it ends or needs you.
    #[arg(long, short)]
    wait: bool,
}

pub(super) async fn run(args: SubmitArgs, app: &mut CliContext) -> Result<(), CliFailure> {
    let waits = args.wait || args.dry_run;
    let view = if args.issue.is_some() {
        let body = build_issue(args)?;
        let call = async |client: &cynode_client::Client| client.issue_submit(&body).await;
        app.session.call(call).await?
    } else {
        let body = build_request(args)?;
        let call = async |client: &cynode_client::Client| client.request_submit(&body).await;
        app.session.call(call).await?
    };
    if waits {
        return follow::follow(app, view).await;
    }
    app.out.show(&view, render::render_submitted)
}

fn build_request(args: SubmitArgs) -> Result<SubmitRequest, CliFailure> {
    let (text, origin, reference) = read_input(&args)?;
    let is_brief = reference.as_deref().is_some_and(|path| path.ends_with(BRIEF));
    let settings = settings(&args)?;
    let (repository, project_repository) = if let Some(address) = args.repo {
        (Some(resolve_repository(address, args.base, args.branch)?), None)
    } else {
        let project = args.project_repo.unwrap_or_default();
        (None, Some(use_project(&project, args.base, args.branch)))
    };
    Ok(SubmitRequest {
        text,
        origin: Some(origin),
        reference,
        labels: vec![],
        is_brief,
        repository,
        project_repository,
        project: args.project,
        profile: args.profile,
        name: args.name,
        settings,
        kind: args.kind,
        scope: args.scope,
        force: args.force,
        idempotency_key: None,
    })
}

fn build_issue(args: SubmitArgs) -> Result<SubmitIssue, CliFailure> {
    Ok(SubmitIssue {
        settings: settings(&args)?,
        issue: args.issue.unwrap_or_default(),
        project: args.project,
        name: args.name,
        force: args.force,
        idempotency_key: None,
    })
}

fn settings(args: &SubmitArgs) -> Result<RequestSettings, CliFailure> {
    Ok(RequestSettings {
        deliver: args.deliver,
        max_review_rounds: args.max_rounds,
        max_pull_request_rounds: args.max_pull_request_rounds,
        require_tests_pass: !args.no_tests,
        budget_micros: args.budget.map(budget_micros).transpose()?,
        dry_run: args.dry_run,
        agent: args.agent.clone(),
        ..RequestSettings::default()
    })
}

fn read_input(args: &SubmitArgs) -> Result<(String, RequestOrigin, Option<String>), CliFailure> {
    if let Some(path) = &args.file {
        let text = read_text(path, InputPurpose::TaskFile)?;
        return Ok((text, RequestOrigin::File, Some(path.display().to_string())));
    }
    let text = args.text.clone().unwrap_or_default();
    if text != "-" {
        return Ok((text, RequestOrigin::Text, None));
    }
    let mut read = String::new();
    let max = cynode_wire::tasks::MAX_PROMPT_BYTES as u64 + 1;
    std::io::stdin().take(max).read_to_string(&mut read)?;
    InputPurpose::TaskFile.check_size(read.len() as u64, "standard input")?;
    Ok((read, RequestOrigin::Stdin, None))
}

/// Dollars as millionths of a dollar.
fn budget_micros(dollars: f64) -> Result<i64, CliFailure> {
    if !(dollars > 0.0 && dollars <= MAX_BUDGET) {
        let text = format!("--budget must be more than 0 and at most {MAX_BUDGET} dollars");
        return Err(CliFailure::Invalid(text));
    }
    #[expect(clippy::cast_possible_truncation, reason = "at most 10^12")]
    let micros = (dollars * MICROS).round() as i64;
    Ok(micros)
}

#[cfg(test)]
mod tests {
    use clap::Parser as _;

    use super::*;
    use crate::Cli;
    use crate::cli::CynorkCommand;
    use crate::pm::PmCommand;

    fn build(args: &[&str]) -> Result<SubmitRequest, CliFailure> {
        let line = ["cynork", "pm", "submit"].iter().chain(args);
        let cli =
            Cli::try_parse_from(line).map_err(|error| CliFailure::Usage(error.to_string()))?;
        let CynorkCommand::Pm(PmCommand::Submit(args)) = cli.command else {
            unreachable!("the line says pm submit")
        };
        build_request(*args)
    }

    #[test]
    fn a_command_line_becomes_the_request_it_describes() {
        let line = [
            "Add a toggle",
            "--repo",
            "/srv/app",
            "--scope",
            "small",
            "--agent",
            "opencode",
            "--budget",
            "2.5",
            "--no-tests",
        ];

        let body = build(&line).unwrap();

        assert_eq!((body.text.as_str(), body.origin), ("Add a toggle", Some(RequestOrigin::Text)));
        assert_eq!((body.scope, body.kind), (Some(WorkScope::Small), None));
        assert_eq!(body.settings.budget_micros, Some(2_500_000));
        assert!(
            !body.settings.require_tests_pass && body.settings.agent.as_deref() == Some("opencode")
        );
    }

    #[test]
    fn without_a_repository_the_work_is_on_that_of_the_project() {
        let line = ["Add a toggle", "--project", "shop", "--base", "next"];
        let (plain, other) = (build(&line).unwrap(), build(&["x", "--project-repo=site"]).unwrap());

        assert_eq!((plain.repository, plain.project.as_deref()), (None, Some("shop")));
        let wanted = plain.project_repository.unwrap();
        assert_eq!((wanted.project, wanted.base_branch), (None, Some("next".parse().unwrap())));
        assert_eq!(other.project_repository.unwrap().project.as_deref(), Some("site"));
    }

    #[test]
    fn what_cannot_be_submitted_is_said_before_anything_is_sent() {
        for line in [
            &["--repo", "/srv/app"][..],
            &["x", "--repo", "/srv/app", "--project-repo"],
            &["x", "--repo", "/srv/app", "--budget", "-1"],
            &["x", "--repo", "/srv/app", "--budget", "NaN"],
            &["x", "--repo", "/srv/app", "--scope", "huge"],
            &["x", "--file", "y", "--repo", "/srv/app"],
            &["x", "--issue", "https://github.com/a/b/issues/1"],
            &["--issue", "https://github.com/a/b/issues/1", "--repo", "/srv/app"],
        ] {
            assert!(build(line).is_err(), "{line:?}");
        }
    }
}
