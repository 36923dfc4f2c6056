//! The API of a GitHub server: REST below `/api/v3`, GraphQL at `/api/graphql`.

pub(crate) mod render;

use http::Method;
use serde_json::{Value, json};

use crate::body_schema::{optional_flag, optional_text, parse_body, text, text_of};
use crate::exchange::{ForgeAnswer, ForgeExchange, PageStyle};
use crate::world::{
    ForgeWorld, ScriptedComment, ScriptedPermission, ScriptedPullRequest, ScriptedPullState,
    TokenScope,
};

const PAGES: PageStyle = PageStyle {
    size_key: "per_page",
    default_size: 30,
    max_size: 100,
    has_links: true,
    total_header: None,
};
const API_VERSION: &str = "2022-11-28";

pub(crate) fn handle(world: &mut ForgeWorld, mut exchange: ForgeExchange) -> ForgeAnswer {
    if exchange.header("user-agent").is_none_or(str::is_empty) {
        return ForgeAnswer::message(
            403,
            "Request forbidden by administrative rules. Please make sure your request has a User-Agent header.",
        );
    }
    if exchange.header("x-github-api-version").is_some_and(|version| version != API_VERSION) {
        return ForgeAnswer::message(400, "The API version is not supported");
    }
    let authorization = exchange.header("authorization").unwrap_or_default();
    let token = authorization.strip_prefix("Bearer ").or(authorization.strip_prefix("token "));
    let Some(token) = token.and_then(|token| world.tokens.get(token)).cloned() else {
        return ForgeAnswer::message(401, "Bad credentials");
    };
    exchange.login.clone_from(&token.login);
    let segments: Vec<String> = exchange.segments.clone();
    let segments: Vec<&str> = segments.iter().map(String::as_str).collect();
    if segments == ["api", "graphql"] {
        return graphql(world, &exchange, token.scope);
    }
    if exchange.is_write() && token.scope == TokenScope::ReadOnly {
        let permission =
            if segments.contains(&"pulls") { "pull_requests=write" } else { "issues=write" };
        return ForgeAnswer::message(403, "Resource not accessible by personal access token")
            .with_header("x-accepted-github-permissions", permission);
    }
    match segments.as_slice() {
        ["api", "v3", "user"] => ForgeAnswer::ok(render::user(world, &exchange.login)),
        ["api", "v3", "repos", owner, name, rest @ ..] => {
            let path = format!("{owner}/{name}");
            let permission =
                world.repositories.get(&path).map(|row| row.permission(&exchange.login));
            match permission {
                Some(permission) if permission >= ScriptedPermission::Read => {
                    route(world, &exchange, &path, rest).unwrap_or_else(not_found)
                }
                _ => not_found(),
            }
        }
        _ => not_found(),
    }
}

fn not_found() -> ForgeAnswer {
    ForgeAnswer::message(404, "Not Found")
}

fn invalid(message: &str) -> ForgeAnswer {
    ForgeAnswer::new(
        422,
        json!({
            "message": "Validation Failed",
            "errors": [{ "resource": "PullRequest", "code": "custom", "message": message }],
            "documentation_url": "https://docs.github.com/rest",
            "status": "422",
        }),
    )
}

fn route(
    world: &mut ForgeWorld,
    exchange: &ForgeExchange,
    path: &str,
    rest: &[&str],
) -> Option<ForgeAnswer> {
    let list =
        |entries: Vec<Value>, world: &ForgeWorld| exchange.page(entries, &PAGES, &world.base_url);
    let row = world.repositories.get(path)?;
    Some(match (exchange.method.as_str(), rest) {
        ("GET", []) => ForgeAnswer::ok(json!({ "id": row.id, "default_branch": "main" })),
        ("GET", ["issues", number]) => {
            ForgeAnswer::ok(render::issue(world, row, number.parse().ok()?)?)
        }
        ("GET", ["issues", number, "comments"]) => {
            let number: u64 = number.parse().ok()?;
            render::issue(world, row, number)?;
            let comments = row.issue_comments.get(&number).or(row.pull_comments.get(&number));
            let comments = comments.into_iter().flatten();
            list(comments.map(|it| render::comment(world, row, number, it)).collect(), world)
                .answer()
        }
        ("POST", ["issues", number, "comments"]) => create_comment(world, exchange, path, number)?,
        ("GET", ["collaborators", login, "permission"]) => {
            // A user who does not exist.
            world.user_id(login)?;
            let permission = render::permission(row.permission(login));
            let user = render::user(world, login);
            ForgeAnswer::ok(
                json!({ "permission": permission, "role_name": permission, "user": user }),
            )
        }
        ("GET", ["pulls"]) => {
            let state = exchange.parameter("state").unwrap_or("open");
            let head = exchange.parameter("head");
            let pulls = row.pulls.values().rev().filter(|pull| {
                let is_open = pull.state == ScriptedPullState::Open;
                let owner =
                    pull.fork.as_deref().unwrap_or(path).split('/').next().unwrap_or_default();
                (state == "all" || (state == "open") == is_open)
                    && head.is_none_or(|head| head == format!("{owner}:{}", pull.head))
            });
            list(pulls.map(|pull| render::pull(world, row, pull, false)).collect(), world).answer()
        }
        ("POST", ["pulls"]) => create_pull(world, exchange, path),
        ("GET", ["pulls", number]) => {
            let pull = row.pulls.get(&number.parse().ok()?)?;
            ForgeAnswer::ok(render::pull(world, row, pull, true))
        }
        ("PATCH", ["pulls", number]) => update_pull(world, exchange, path, number)?,
        ("GET", ["pulls", number, "reviews"]) => {
            let pull = row.pulls.get(&number.parse().ok()?)?;
            let reviews = row.reviews.get(&pull.number).into_iter().flatten();
            list(reviews.map(|it| render::review(world, row, pull, it)).collect(), world).answer()
        }
        ("GET", ["pulls", number, "comments"]) => {
            let pull = row.pulls.get(&number.parse().ok()?)?;
            let reviews = row.reviews.get(&pull.number).into_iter().flatten();
            let comments = reviews.flat_map(|review| &review.comments);
            list(comments.map(|it| render::review_comment(world, row, pull, it)).collect(), world)
                .answer()
        }
        ("GET", ["commits", sha, "status"]) => {
            let statuses =
                row.latest_statuses(sha, false).into_iter().map(render::status).collect();
            let object = json!({ "state": "pending", "sha": sha });
            list(statuses, world).answer_as("statuses", object)
        }
        ("GET", ["commits", sha, "check-runs"]) => {
            let runs = row.latest_statuses(sha, true).into_iter().map(render::check_run).collect();
            list(runs, world).answer_as("check_runs", json!({}))
        }
        ("GET", ["actions", "runs"]) => {
            let sha = exchange.parameter("head_sha").unwrap_or_default();
            let runs =
                row.latest_statuses(sha, true).into_iter().map(render::workflow_run).collect();
            list(runs, world).answer_as("workflow_runs", json!({}))
        }
        _ => return None,
    })
}

fn create_comment(
    world: &mut ForgeWorld,
    exchange: &ForgeExchange,
    path: &str,
    number: &str,
) -> Option<ForgeAnswer> {
    let number: u64 = number.parse().ok()?;
    render::issue(world, world.repositories.get(path)?, number)?;
    let body = match parse_body(exchange, &[text("body")]) {
        Ok(body) => body,
        Err(fault) => return Some(ForgeAnswer::message(422, &fault)),
    };
    let text = text_of(&body, "body").unwrap_or_default();
    if text.chars().count() > 65_536 {
        return Some(invalid("body is too long (maximum is 65536 characters)"));
    }
    let id = world.generate_id();
    let comment = ScriptedComment {
        id,
        author: exchange.login.clone(),
        body: text.to_owned(),
        is_system: false,
    };
    let row = world.repositories.get_mut(path)?;
    let comments = if row.pulls.contains_key(&number) {
        &mut row.pull_comments
    } else {
        &mut row.issue_comments
    };
    comments.entry(number).or_default().push(comment.clone());
    let row = world.repositories.get(path)?;
    Some(ForgeAnswer::new(201, render::comment(world, row, number, &comment)))
}

fn create_pull(world: &mut ForgeWorld, exchange: &ForgeExchange, path: &str) -> ForgeAnswer {
    let fields =
        [text("title"), optional_text("body"), text("head"), text("base"), optional_flag("draft")];
    let body = match parse_body(exchange, &fields) {
        Ok(body) => body,
        Err(fault) => return ForgeAnswer::message(422, &format!("Invalid request.\n\n{fault}")),
    };
    let field = |name| text_of(&body, name).unwrap_or_default().to_owned();
    let (head, base) = (field("head"), field("base"));
    let Some(row) = world.repositories.get(path) else { return not_found() };
    if row.permission(&exchange.login) < ScriptedPermission::Write {
        return ForgeAnswer::message(403, "Must have write access to the head branch");
    }
    if let Some(missing) =
        [(&head, "head"), (&base, "base")].iter().find(|(it, _)| !row.branches.contains_key(*it))
    {
        let error = json!({ "resource": "PullRequest", "field": missing.1, "code": "invalid" });
        return ForgeAnswer::new(422, json!({ "message": "Validation Failed", "errors": [error] }));
    }
    if row.open_pull(&head, &base).is_some() {
        let owner = path.split('/').next().unwrap_or_default();
        return invalid(&format!("A pull request already exists for {owner}:{head}."));
    }
    if row.branches.get(&head) == row.branches.get(&base) {
        return invalid(&format!("No commits between {base} and {head}"));
    }
    let is_draft = body.get("draft").and_then(Value::as_bool).unwrap_or_default();
    if is_draft && !world.has_drafts {
        return invalid("Draft pull requests are not supported in this repository.");
    }
    let head_commit = row.branches.get(&head).cloned().unwrap_or_default();
    let (id, number) = (world.generate_id(), world.next_number(path, true));
    let pull = ScriptedPullRequest {
        id,
        number,
        title: field("title"),
        body: field("body"),
        author: exchange.login.clone(),
        head,
        fork: None,
        base,
        head_commit,
        is_draft,
        state: ScriptedPullState::Open,
        mergeable: None,
    };
    if let Some(row) = world.repositories.get_mut(path) {
        row.pulls.insert(number, pull.clone());
    }
    let Some(row) = world.repositories.get(path) else { return not_found() };
    ForgeAnswer::new(201, render::pull(world, row, &pull, true))
}

fn update_pull(
    world: &mut ForgeWorld,
    exchange: &ForgeExchange,
    path: &str,
    number: &str,
) -> Option<ForgeAnswer> {
    let fields = [
        optional_text("title"),
        optional_text("body"),
        optional_text("base"),
        optional_text("state"),
    ];
    let body = match parse_body(exchange, &fields) {
        Ok(body) => body,
        Err(fault) => return Some(ForgeAnswer::message(422, &fault)),
    };
    let number: u64 = number.parse().ok()?;
    let pull = world.repositories.get_mut(path)?.pulls.get_mut(&number)?;
    if let Some(title) = text_of(&body, "title") {
        title.clone_into(&mut pull.title);
    }
    if let Some(text) = text_of(&body, "body") {
        text.clone_into(&mut pull.body);
    }
    let row = world.repositories.get(path)?;
    Some(ForgeAnswer::ok(render::pull(world, row, row.pulls.get(&number)?, true)))
}

/// Knows one mutation. Errors have the status 200.
fn graphql(world: &mut ForgeWorld, exchange: &ForgeExchange, scope: TokenScope) -> ForgeAnswer {
    let error = |kind: &str, message: &str| {
        ForgeAnswer::ok(json!({ "data": null, "errors": [{ "type": kind, "message": message }] }))
    };
    if exchange.method != Method::POST {
        return not_found();
    }
    let body: Value = serde_json::from_slice(&exchange.body).unwrap_or_default();
    let is_known = body["query"].as_str().is_some_and(|query| {
        query.contains("markPullRequestReadyForReview") && query.contains("$id: ID!")
    });
    let Some(id) = body["variables"]["id"].as_str().filter(|_| is_known) else {
        return error("undefinedField", "Field doesn't exist on type 'Mutation'");
    };
    let login = exchange.login.clone();
    for row in world.repositories.values_mut() {
        let permission = row.permission(&login);
        let Some(pull) = row.pulls.values_mut().find(|pull| render::node_id(pull) == id) else {
            continue;
        };
        if permission < ScriptedPermission::Write || scope == TokenScope::ReadOnly {
            return error("FORBIDDEN", "Resource not accessible by personal access token");
        }
        pull.is_draft = false;
        return ForgeAnswer::ok(json!({
            "data": { "markPullRequestReadyForReview": { "pullRequest": { "isDraft": false } } },
        }));
    }
    error("NOT_FOUND", "Could not resolve to a node with the global id")
}
