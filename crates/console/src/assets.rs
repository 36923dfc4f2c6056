//! The files of the console, embedded in the binary.

pub(crate) struct ConsoleAsset {
    pub(crate) path: &'static str,
    pub(crate) media_type: &'static str,
    pub(crate) content: &'static str,
}

const HTML: &str = "text/html; charset=utf-8";
const CSS: &str = "text/css; charset=utf-8";
const JAVASCRIPT: &str = "text/javascript; charset=utf-8";
const SVG: &str = "image/svg+xml";

macro_rules! assets {
    ($($path:literal = $file:literal, $media_type:ident;)*) => {
        &[$(ConsoleAsset {
            path: $path,
            media_type: $media_type,
            content: include_str!(concat!("../assets/", $file)),
        }),*]
    };
}

/// Every file.
pub(crate) const ASSETS: &[ConsoleAsset] = assets! {
    "/console/" = "index.html", HTML;
    "/console/style.css" = "style.css", CSS;
    "/console/icon.svg" = "icon.svg", SVG;
    "/console/account.js" = "account.js", JAVASCRIPT;
    "/console/admin.js" = "admin.js", JAVASCRIPT;
    "/console/agent-profile-form.js" = "agent-profile-form.js", JAVASCRIPT;
    "/console/agent-profiles.js" = "agent-profiles.js", JAVASCRIPT;
    "/console/agent-tokens.js" = "agent-tokens.js", JAVASCRIPT;
    "/console/agents.js" = "agents.js", JAVASCRIPT;
    "/console/answer.js" = "answer.js", JAVASCRIPT;
    "/console/api.js" = "api.js", JAVASCRIPT;
    "/console/app.js" = "app.js", JAVASCRIPT;
    "/console/attempts.js" = "attempts.js", JAVASCRIPT;
    "/console/audit.js" = "audit.js", JAVASCRIPT;
    "/console/board.js" = "board.js", JAVASCRIPT;
    "/console/change-log.js" = "change-log.js", JAVASCRIPT;
    "/console/changes.js" = "changes.js", JAVASCRIPT;
    "/console/credentials.js" = "credentials.js", JAVASCRIPT;
    "/console/dialog.js" = "dialog.js", JAVASCRIPT;
    "/console/diff.js" = "diff.js", JAVASCRIPT;
    "/console/dom.js" = "dom.js", JAVASCRIPT;
    "/console/evidence.js" = "evidence.js", JAVASCRIPT;
    "/console/explain.js" = "explain.js", JAVASCRIPT;
    "/console/filters.js" = "filters.js", JAVASCRIPT;
    "/console/groups.js" = "groups.js", JAVASCRIPT;
    "/console/home.js" = "home.js", JAVASCRIPT;
    "/console/install.js" = "install.js", JAVASCRIPT;
    "/console/join-tokens.js" = "join-tokens.js", JAVASCRIPT;
    "/console/knowledge-form.js" = "knowledge-form.js", JAVASCRIPT;
    "/console/knowledge.js" = "knowledge.js", JAVASCRIPT;
    "/console/leases.js" = "leases.js", JAVASCRIPT;
    "/console/live.js" = "live.js", JAVASCRIPT;
    "/console/logs.js" = "logs.js", JAVASCRIPT;
    "/console/memory.js" = "memory.js", JAVASCRIPT;
    "/console/nav.js" = "nav.js", JAVASCRIPT;
    "/console/nodes.js" = "nodes.js", JAVASCRIPT;
    "/console/notices.js" = "notices.js", JAVASCRIPT;
    "/console/notifications.js" = "notifications.js", JAVASCRIPT;
    "/console/pager.js" = "pager.js", JAVASCRIPT;
    "/console/password-fields.js" = "password-fields.js", JAVASCRIPT;
    "/console/people.js" = "people.js", JAVASCRIPT;
    "/console/plan.js" = "plan.js", JAVASCRIPT;
    "/console/preferences.js" = "preferences.js", JAVASCRIPT;
    "/console/profile-choice.js" = "profile-choice.js", JAVASCRIPT;
    "/console/profile-form.js" = "profile-form.js", JAVASCRIPT;
    "/console/profiles.js" = "profiles.js", JAVASCRIPT;
    "/console/project-choice.js" = "project-choice.js", JAVASCRIPT;
    "/console/project.js" = "project.js", JAVASCRIPT;
    "/console/projects.js" = "projects.js", JAVASCRIPT;
    "/console/providers.js" = "providers.js", JAVASCRIPT;
    "/console/request.js" = "request.js", JAVASCRIPT;
    "/console/requests.js" = "requests.js", JAVASCRIPT;
    "/console/review.js" = "review.js", JAVASCRIPT;
    "/console/row-verbs.js" = "row-verbs.js", JAVASCRIPT;
    "/console/rule-form.js" = "rule-form.js", JAVASCRIPT;
    "/console/rules.js" = "rules.js", JAVASCRIPT;
    "/console/run-compare.js" = "run-compare.js", JAVASCRIPT;
    "/console/run-decisions.js" = "run-decisions.js", JAVASCRIPT;
    "/console/run-history.js" = "run-history.js", JAVASCRIPT;
    "/console/run-overview.js" = "run-overview.js", JAVASCRIPT;
    "/console/run-verbs.js" = "run-verbs.js", JAVASCRIPT;
    "/console/run.js" = "run.js", JAVASCRIPT;
    "/console/runs.js" = "runs.js", JAVASCRIPT;
    "/console/schedule-form.js" = "schedule-form.js", JAVASCRIPT;
    "/console/schedule.js" = "schedule.js", JAVASCRIPT;
    "/console/schedules.js" = "schedules.js", JAVASCRIPT;
    "/console/scopes.js" = "scopes.js", JAVASCRIPT;
    "/console/secret-dialog.js" = "secret-dialog.js", JAVASCRIPT;
    "/console/servers.js" = "servers.js", JAVASCRIPT;
    "/console/session.js" = "session.js", JAVASCRIPT;
    "/console/settings.js" = "settings.js", JAVASCRIPT;
    "/console/signin.js" = "signin.js", JAVASCRIPT;
    "/console/skill-form.js" = "skill-form.js", JAVASCRIPT;
    "/console/skill.js" = "skill.js", JAVASCRIPT;
    "/console/skills.js" = "skills.js", JAVASCRIPT;
    "/console/smtp.js" = "smtp.js", JAVASCRIPT;
    "/console/spans.js" = "spans.js", JAVASCRIPT;
    "/console/subject-id.js" = "subject-id.js", JAVASCRIPT;
    "/console/submit.js" = "submit.js", JAVASCRIPT;
    "/console/task-changes.js" = "task-changes.js", JAVASCRIPT;
    "/console/task-fields.js" = "task-fields.js", JAVASCRIPT;
    "/console/task-files.js" = "task-files.js", JAVASCRIPT;
    "/console/task-form.js" = "task-form.js", JAVASCRIPT;
    "/console/task-list.js" = "task-list.js", JAVASCRIPT;
    "/console/task-logs.js" = "task-logs.js", JAVASCRIPT;
    "/console/task-overview.js" = "task-overview.js", JAVASCRIPT;
    "/console/task-result.js" = "task-result.js", JAVASCRIPT;
    "/console/task-runs.js" = "task-runs.js", JAVASCRIPT;
    "/console/task-verbs.js" = "task-verbs.js", JAVASCRIPT;
    "/console/task.js" = "task.js", JAVASCRIPT;
    "/console/tasks.js" = "tasks.js", JAVASCRIPT;
    "/console/timeline.js" = "timeline.js", JAVASCRIPT;
    "/console/tools.js" = "tools.js", JAVASCRIPT;
    "/console/trace.js" = "trace.js", JAVASCRIPT;
    "/console/traces.js" = "traces.js", JAVASCRIPT;
    "/console/users.js" = "users.js", JAVASCRIPT;
    "/console/value-fields.js" = "value-fields.js", JAVASCRIPT;
    "/console/verbs.js" = "verbs.js", JAVASCRIPT;
    "/console/versions.js" = "versions.js", JAVASCRIPT;
    "/console/words.js" = "words.js", JAVASCRIPT;
};

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use regex::Regex;

    use super::*;

    /// References of a file: sources and styles of the page, imports of a script, also those when a page is opened.
    fn references(asset: &ConsoleAsset) -> Vec<String> {
        let pattern =
            Regex::new(r##"(?:src|href)="(/[^"#]+)"|(?:from |import\()"([^"]+)""##).unwrap();
        let found = pattern.captures_iter(asset.content);
        let texts = found.filter_map(|hit| hit.get(1).or(hit.get(2)));
        texts.map(|text| text.as_str().replacen("./", "/console/", 1)).collect()
    }

    #[test]
    fn every_file_that_the_console_refers_to_is_served() {
        let served: BTreeSet<_> = ASSETS.iter().map(|asset| asset.path.to_owned()).collect();
        let mut referred: BTreeSet<_> = ASSETS.iter().flat_map(references).collect();

        assert!(referred.is_subset(&served), "{referred:?} in {served:?}");
        referred.insert("/console/".to_owned());
        assert_eq!(served, referred, "files that nothing refers to are served");
    }

    #[test]
    fn the_page_preloads_the_modules_of_home() {
        let import = Regex::new(r#"from "\./([^"]+)""#).unwrap();
        let preload = Regex::new(r#"rel="modulepreload" href="([^"]+)""#).unwrap();
        let content = |path: &str| ASSETS.iter().find(|asset| asset.path == path).unwrap().content;
        let (mut needed, mut open) = (BTreeSet::new(), vec!["/console/home.js".to_owned()]);
        open.extend(
            import
                .captures_iter(content("/console/app.js"))
                .map(|hit| format!("/console/{}", &hit[1])),
        );
        while let Some(path) = open.pop() {
            if needed.insert(path.clone()) {
                let imports = import.captures_iter(content(&path));
                open.extend(imports.map(|hit| format!("/console/{}", &hit[1])));
            }
        }

        let links = preload.captures_iter(content("/console/"));
        assert_eq!(links.map(|hit| hit[1].to_owned()).collect::<BTreeSet<_>>(), needed);
    }

    #[test]
    fn no_page_takes_anything_from_another_host() {
        let elsewhere = Regex::new(r"(?:https?:)?//[a-z0-9]").unwrap();
        // A namespace URI and a placeholder in a form are never fetched.
        let harmless = ["http://www.w3.org/2000/svg", "https://example.com/mcp"];
        for asset in ASSETS {
            let content =
                harmless.iter().fold(asset.content.to_owned(), |text, name| text.replace(name, ""));
            assert!(!elsewhere.is_match(&content), "{}", asset.path);
        }
    }

    #[test]
    fn no_script_parses_markup_or_text_as_code() {
        let sinks = Regex::new(concat!(
            r"innerHTML|outerHTML|insertAdjacentHTML|setHTML|document\.write|DOMParser|",
            r"\beval\(|new Function|createContextualFragment|srcdoc|javascript:|localStorage",
        ))
        .unwrap();
        for asset in ASSETS {
            assert!(!sinks.is_match(asset.content), "{}", asset.path);
        }
    }

    #[test]
    fn the_page_holds_no_inline_script_and_no_inline_style() {
        let page = ASSETS.iter().find(|asset| asset.media_type == HTML).unwrap().content;
        let inline = Regex::new(r"<script(?:>|[^>]*>[^<])|<style|\sstyle=|\son\w+=").unwrap();

        assert!(!inline.is_match(page));
        assert!(page.contains(r#"<script type="module" src="/console/app.js"></script>"#));
    }
}
