//! The API of a Gitea server, below `/api/v1`.

pub(crate) mod render;

use serde_json::{Value, json};

use crate::body_schema::{optional_text, parse_body, text, text_of};
use crate::exchange::{ForgeAnswer, ForgeExchange, PageStyle};
use crate::world::{
    ForgeWorld, ScriptedComment, ScriptedPermission, ScriptedPullRequest, ScriptedPullState,
    TokenScope,
};

/// Larger pages are cut silently.
const MAX_PAGE: usize = 50;
const PAGES: PageStyle = PageStyle {
    size_key: "limit",
    default_size: 30,
    max_size: MAX_PAGE,
    has_links: true,
    total_header: Some("x-total-count"),
};
/// Reviews are counted, but not linked.
const COUNTED_PAGES: PageStyle = PageStyle { has_links: false, ..PAGES };

pub(crate) fn handle(world: &mut ForgeWorld, mut exchange: ForgeExchange) -> ForgeAnswer {
    let authorization = exchange.header("authorization").unwrap_or_default();
    let token = authorization.strip_prefix("token ").or(authorization.strip_prefix("Bearer "));
    let Some(token) = token.and_then(|token| world.tokens.get(token)).cloned() else {
        return ForgeAnswer::message(401, "user does not exist [uid: 0, name: ]");
    };
    exchange.login = token.login;
    if exchange.is_write() && token.scope == TokenScope::ReadOnly {
        let scope =
            if exchange.target.contains("/pulls") { "write:repository" } else { "write:issue" };
        let message = format!(
            "token does not have at least one of required scope(s), required=[{scope}], token scope=read:repository,read:issue,read:user"
        );
        return ForgeAnswer::message(403, &message);
    }
    let segments = exchange.segments.clone();
    let segments: Vec<&str> = segments.iter().map(String::as_str).collect();
    match segments.as_slice() {
        ["api", "v1", "user"] => ForgeAnswer::ok(render::user(world, &exchange.login)),
        ["api", "v1", "repos", owner, name, rest @ ..] => {
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
    ForgeAnswer::new(
        404,
        json!({ "errors": null, "message": "not found", "url": "https://gitea.example/api/swagger" }),
    )
}

fn route(
    world: &mut ForgeWorld,
    exchange: &ForgeExchange,
    path: &str,
    rest: &[&str],
) -> Option<ForgeAnswer> {
    let list = |entries: Vec<Value>, style: &PageStyle, world: &ForgeWorld| {
        exchange.page(entries, style, &world.base_url).answer()
    };
    let row = world.repositories.get(path)?;
    Some(match (exchange.method.as_str(), rest) {
        ("GET", []) => ForgeAnswer::ok(json!({ "id": row.id, "default_branch": "main" })),
        ("GET", ["issues", index]) => {
            ForgeAnswer::ok(render::issue(world, row, index.parse().ok()?)?)
        }
        ("GET", ["issues", index, "comments"]) => {
            let index: u64 = index.parse().ok()?;
            if render::issue(world, row, index).is_none() {
                return Some(ForgeAnswer::message(500, ""));
            }
            // All of them, whatever page is requested.
            let comments = row.issue_comments.get(&index).or(row.pull_comments.get(&index));
            let comments = comments.into_iter().flatten();
            let entries: Vec<Value> =
                comments.map(|it| render::comment(world, row, index, it)).collect();
            let total = entries.len().to_string();
            ForgeAnswer::ok(Value::Array(entries)).with_header("x-total-count", total)
        }
        ("POST", ["issues", index, "comments"]) => create_comment(world, exchange, path, index)?,
        ("GET", ["collaborators", login, "permission"]) => {
            let is_own = exchange.login.eq_ignore_ascii_case(login);
            if !is_own && row.permission(&exchange.login) < ScriptedPermission::Admin {
                return Some(ForgeAnswer::message(
                    403,
                    "Only admins can query all permissions, repo admins can query all repo permissions, collaborators can query only their own",
                ));
            }
            world.user_id(login)?;
            let permission = render::permission(row, login);
            let user = render::user(world, login);
            ForgeAnswer::ok(
                json!({ "permission": permission, "role_name": permission, "user": user }),
            )
        }
        ("GET", ["assignees"]) => {
            let writers =
                row.permissions.iter().filter(|(_, it)| **it >= ScriptedPermission::Write);
            ForgeAnswer::ok(writers.map(|(login, _)| render::user(world, login)).collect())
        }
        ("GET", ["pulls"]) => {
            let state = exchange.parameter("state").unwrap_or("open");
            let pulls = row.pulls.values().rev().filter(|pull| {
                state == "all" || (state == "open") == (pull.state == ScriptedPullState::Open)
            });
            let entries = pulls.map(|pull| render::pull(world, row, pull)).collect();
            list(entries, &PAGES, world)
        }
        ("POST", ["pulls"]) => create_pull(world, exchange, path),
        ("GET", ["pulls", index]) => {
            let pull = row.pulls.get(&index.parse().ok()?)?;
            ForgeAnswer::ok(render::pull(world, row, pull))
        }
        ("PATCH", ["pulls", index]) => update_pull(world, exchange, path, index)?,
        ("GET", ["pulls", index, "reviews"]) => {
            let pull = row.pulls.get(&index.parse().ok()?)?;
            let reviews = row.reviews.get(&pull.number).into_iter().flatten();
            let entries = reviews.map(|it| render::review(world, row, pull, it)).collect();
            list(entries, &COUNTED_PAGES, world)
        }
        ("GET", ["pulls", index, "reviews", id, "comments"]) => {
            let pull = row.pulls.get(&index.parse().ok()?)?;
            let id: u64 = id.parse().ok()?;
            let mut reviews = row.reviews.get(&pull.number).into_iter().flatten();
            let review = reviews.find(|review| review.id == id)?;
            let comments = review.comments.iter();
            ForgeAnswer::ok(
                comments.map(|it| render::review_comment(world, row, pull, it)).collect(),
            )
        }
        ("GET", ["statuses", sha]) => list(render::statuses(row, sha), &PAGES, world),
        _ => return None,
    })
}

fn create_comment(
    world: &mut ForgeWorld,
    exchange: &ForgeExchange,
    path: &str,
    index: &str,
) -> Option<ForgeAnswer> {
    let index: u64 = index.parse().ok()?;
    render::issue(world, world.repositories.get(path)?, index)?;
    let body = match parse_body(exchange, &[text("body"), optional_text("updated_at")]) {
        Ok(body) => body,
        Err(fault) => return Some(ForgeAnswer::message(422, &fault)),
    };
    let comment = ScriptedComment {
        id: world.generate_id(),
        author: exchange.login.clone(),
        body: text_of(&body, "body").unwrap_or_default().to_owned(),
        is_system: false,
    };
    let row = world.repositories.get_mut(path)?;
    let comments = if row.pulls.contains_key(&index) {
        &mut row.pull_comments
    } else {
        &mut row.issue_comments
    };
    comments.entry(index).or_default().push(comment.clone());
    let row = world.repositories.get(path)?;
    Some(ForgeAnswer::new(201, render::comment(world, row, index, &comment)))
}

fn create_pull(world: &mut ForgeWorld, exchange: &ForgeExchange, path: &str) -> ForgeAnswer {
    let fields = [text("title"), optional_text("body"), text("head"), text("base")];
    let body = match parse_body(exchange, &fields) {
        Ok(body) => body,
        Err(fault) => return ForgeAnswer::message(422, &fault),
    };
    let field = |name| text_of(&body, name).unwrap_or_default().to_owned();
    let (head, base, title) = (field("head"), field("base"), field("title"));
    let Some(row) = world.repositories.get(path) else { return not_found() };
    if row.permission(&exchange.login) < ScriptedPermission::Write {
        return ForgeAnswer::message(403, "user should have permission to write to the repository");
    }
    if head == base {
        return ForgeAnswer::message(
            422,
            "Invalid PullRequest: There are no changes between the head and the base",
        );
    }
    if let Some(open) = row.open_pull(&head, &base) {
        let message = format!(
            "pull request already exists for these targets [id: {}, issue_id: {}, head_repo_id: {}, base_repo_id: {}, head_branch: {head}, base_branch: {base}]",
            open.id, open.number, row.id, row.id
        );
        return ForgeAnswer::message(409, &message);
    }
    let Some(head_commit) =
        row.branches.get(&head).cloned().filter(|_| row.branches.contains_key(&base))
    else {
        return not_found();
    };
    let (id, number) = (world.generate_id(), world.next_number(path, true));
    let pull = ScriptedPullRequest {
        id,
        number,
        is_draft: render::is_draft(&title),
        title,
        body: field("body"),
        author: exchange.login.clone(),
        head,
        fork: None,
        base,
        head_commit,
        state: ScriptedPullState::Open,
        mergeable: None,
    };
    if let Some(row) = world.repositories.get_mut(path) {
        row.pulls.insert(number, pull.clone());
    }
    let Some(row) = world.repositories.get(path) else { return not_found() };
    ForgeAnswer::new(201, render::pull(world, row, &pull))
}

fn update_pull(
    world: &mut ForgeWorld,
    exchange: &ForgeExchange,
    path: &str,
    index: &str,
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
    let index: u64 = index.parse().ok()?;
    let pull = world.repositories.get_mut(path)?.pulls.get_mut(&index)?;
    if let Some(title) = text_of(&body, "title") {
        title.clone_into(&mut pull.title);
        pull.is_draft = render::is_draft(title);
    }
    if let Some(text) = text_of(&body, "body") {
        text.clone_into(&mut pull.body);
    }
    let row = world.repositories.get(path)?;
    // Gitea answers a change with 201.
    Some(ForgeAnswer::new(201, render::pull(world, row, row.pulls.get(&index)?)))
}
