//! The API of a GitLab server, below `/api/v4`. A project is addressed by its encoded path.

pub(crate) mod render;

use serde_json::{Value, json};

use crate::body_schema::{optional_text, parse_body, text, text_of};
use crate::exchange::{ForgeAnswer, ForgeExchange, PageStyle};
use crate::world::{
    ForgeWorld, ScriptedComment, ScriptedPermission, ScriptedPullRequest, ScriptedPullState,
    TokenScope,
};

const PAGES: PageStyle = PageStyle {
    size_key: "per_page",
    default_size: 20,
    max_size: 100,
    has_links: true,
    total_header: Some("x-total"),
};

pub(crate) fn handle(world: &mut ForgeWorld, mut exchange: ForgeExchange) -> ForgeAnswer {
    let bearer = exchange.header("authorization").and_then(|it| it.strip_prefix("Bearer "));
    let token = bearer.or(exchange.header("private-token"));
    let Some(token) = token.and_then(|token| world.tokens.get(token)).cloned() else {
        return ForgeAnswer::message(401, "401 Unauthorized");
    };
    if exchange.is_write() && token.scope == TokenScope::ReadOnly {
        return ForgeAnswer::new(
            403,
            json!({
                "error": "insufficient_scope",
                "error_description": "The request requires higher privileges than provided by the access token.",
                "scope": "api",
            }),
        );
    }
    exchange.login = token.login;
    let segments = exchange.segments.clone();
    let segments: Vec<&str> = segments.iter().map(String::as_str).collect();
    match segments.as_slice() {
        ["api", "v4", "user"] => ForgeAnswer::ok(render::user(world, &exchange.login)),
        ["api", "v4", "users"] => {
            let wanted = exchange.parameter("username").unwrap_or_default();
            let user = world.users.get(wanted).map(|user| render::user(world, &user.login));
            ForgeAnswer::ok(Value::Array(user.into_iter().collect()))
        }
        ["api", "v4", "projects", path, rest @ ..] => {
            let permission =
                world.repositories.get(*path).map(|row| row.permission(&exchange.login));
            match permission {
                Some(permission) if permission >= ScriptedPermission::Read => {
                    route(world, &exchange, path, rest)
                        .unwrap_or_else(|| ForgeAnswer::message(404, "404 Not found"))
                }
                _ => ForgeAnswer::message(404, "404 Project Not Found"),
            }
        }
        _ => ForgeAnswer::new(404, json!({ "error": "404 Not Found" })),
    }
}

fn route(
    world: &mut ForgeWorld,
    exchange: &ForgeExchange,
    path: &str,
    rest: &[&str],
) -> Option<ForgeAnswer> {
    let list = |entries: Vec<Value>, world: &ForgeWorld| {
        exchange.page(entries, &PAGES, &world.base_url).answer()
    };
    let row = world.repositories.get(path)?;
    Some(match (exchange.method.as_str(), rest) {
        ("GET", []) => ForgeAnswer::ok(json!({ "id": row.id, "default_branch": "main" })),
        ("GET", ["issues", iid]) => ForgeAnswer::ok(render::issue(world, row, iid.parse().ok()?)?),
        ("GET", [kind @ ("issues" | "merge_requests"), iid, "notes"]) => {
            let iid: u64 = iid.parse().ok()?;
            let mut notes = render::notes(world, row, kind, iid)?;
            if exchange.parameter("sort") != Some("asc") {
                notes.reverse();
            }
            list(notes, world)
        }
        ("POST", [kind @ ("issues" | "merge_requests"), iid, "notes"]) => {
            create_note(world, exchange, path, kind, iid)?
        }
        ("GET", ["members", "all", id]) => {
            let id: u64 = id.parse().ok()?;
            let user = world.users.values().find(|user| user.id == id)?;
            let access_level = match row.permission(&user.login) {
                ScriptedPermission::None => return None,
                // A reporter, one level below a developer.
                ScriptedPermission::Read => 20,
                ScriptedPermission::Write => 30,
                ScriptedPermission::Admin => 50,
            };
            ForgeAnswer::ok(json!({
                "id": id, "username": user.login, "state": "active",
                "access_level": access_level, "membership_state": "active",
            }))
        }
        ("GET", ["merge_requests"]) => {
            let state = exchange.parameter("state").unwrap_or("all");
            let branch = exchange.parameter("source_branch");
            let pulls = row.pulls.values().rev().filter(|pull| {
                (state == "all" || state == render::state(pull))
                    && branch.is_none_or(|branch| branch == pull.head)
            });
            list(pulls.map(|pull| render::merge_request(world, row, pull, false)).collect(), world)
        }
        ("POST", ["merge_requests"]) => create_merge_request(world, exchange, path),
        ("GET", ["merge_requests", iid]) => {
            let pull = row.pulls.get(&iid.parse().ok()?)?;
            ForgeAnswer::ok(render::merge_request(world, row, pull, true))
        }
        ("PUT", ["merge_requests", iid]) => update_merge_request(world, exchange, path, iid)?,
        ("GET", ["merge_requests", iid, "approvals"]) => {
            let pull = row.pulls.get(&iid.parse().ok()?)?;
            let approved_by = render::approvals(world, row, pull.number);
            ForgeAnswer::ok(json!({ "iid": pull.number, "approved_by": approved_by }))
        }
        ("GET", ["merge_requests", iid, "reviewers"]) => {
            let pull = row.pulls.get(&iid.parse().ok()?)?;
            list(render::reviewers(world, row, pull.number), world)
        }
        ("GET", ["merge_requests", iid, "discussions"]) => {
            let pull = row.pulls.get(&iid.parse().ok()?)?;
            list(render::discussions(world, row, pull), world)
        }
        ("GET", ["repository", "commits", sha, "statuses"]) => {
            list(render::statuses(row, sha), world)
        }
        _ => return None,
    })
}

fn create_note(
    world: &mut ForgeWorld,
    exchange: &ForgeExchange,
    path: &str,
    kind: &str,
    iid: &str,
) -> Option<ForgeAnswer> {
    let iid: u64 = iid.parse().ok()?;
    render::notes(world, world.repositories.get(path)?, kind, iid)?;
    let body = match parse_body(exchange, &[text("body")]) {
        Ok(body) => body,
        Err(fault) => return Some(ForgeAnswer::new(400, json!({ "error": fault }))),
    };
    let note = ScriptedComment {
        id: world.generate_id(),
        author: exchange.login.clone(),
        body: text_of(&body, "body").unwrap_or_default().to_owned(),
        is_system: false,
    };
    let row = world.repositories.get_mut(path)?;
    let comments = match kind {
        "issues" => &mut row.issue_comments,
        _ => &mut row.pull_comments,
    };
    comments.entry(iid).or_default().push(note.clone());
    Some(ForgeAnswer::new(201, render::note(world, &note)))
}

fn create_merge_request(
    world: &mut ForgeWorld,
    exchange: &ForgeExchange,
    path: &str,
) -> ForgeAnswer {
    let fields =
        [text("title"), optional_text("description"), text("source_branch"), text("target_branch")];
    let body = match parse_body(exchange, &fields) {
        Ok(body) => body,
        Err(fault) => return ForgeAnswer::new(400, json!({ "error": fault })),
    };
    let field = |name| text_of(&body, name).unwrap_or_default().to_owned();
    let (head, base, title) = (field("source_branch"), field("target_branch"), field("title"));
    let Some(row) = world.repositories.get(path) else {
        return ForgeAnswer::message(404, "404 Project Not Found");
    };
    if row.permission(&exchange.login) < ScriptedPermission::Write {
        return ForgeAnswer::message(403, "403 Forbidden");
    }
    if title.chars().count() > 255 {
        return ForgeAnswer::new(
            400,
            json!({ "message": { "title": ["is too long (maximum is 255 characters)"] } }),
        );
    }
    if let Some(open) = row.open_pull(&head, &base) {
        let message = format!(
            "Another open merge request already exists for this source branch: !{}",
            open.number
        );
        return ForgeAnswer::new(409, json!({ "message": [message] }));
    }
    let Some(head_commit) = row.branches.get(&head).cloned() else {
        return ForgeAnswer::new(
            400,
            json!({ "message": [format!("Source branch \"{head}\" does not exist")] }),
        );
    };
    let (id, number) = (world.generate_id(), world.next_number(path, true));
    let pull = ScriptedPullRequest {
        id,
        number,
        is_draft: render::is_draft(&title),
        title,
        body: field("description"),
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
    let Some(row) = world.repositories.get(path) else {
        return ForgeAnswer::message(404, "404 Project Not Found");
    };
    ForgeAnswer::new(201, render::merge_request(world, row, &pull, true))
}

fn update_merge_request(
    world: &mut ForgeWorld,
    exchange: &ForgeExchange,
    path: &str,
    iid: &str,
) -> Option<ForgeAnswer> {
    let fields =
        [optional_text("title"), optional_text("description"), optional_text("state_event")];
    let body = match parse_body(exchange, &fields) {
        Ok(body) if body.is_empty() => {
            let message = "title, description, state_event are missing, at least one parameter must be provided";
            return Some(ForgeAnswer::new(400, json!({ "error": message })));
        }
        Ok(body) => body,
        Err(fault) => return Some(ForgeAnswer::new(400, json!({ "error": fault }))),
    };
    let iid: u64 = iid.parse().ok()?;
    let pull = world.repositories.get_mut(path)?.pulls.get_mut(&iid)?;
    if let Some(title) = text_of(&body, "title") {
        title.clone_into(&mut pull.title);
        pull.is_draft = render::is_draft(title);
    }
    if let Some(text) = text_of(&body, "description") {
        text.clone_into(&mut pull.body);
    }
    let row = world.repositories.get(path)?;
    Some(ForgeAnswer::ok(render::merge_request(world, row, row.pulls.get(&iid)?, true)))
}
