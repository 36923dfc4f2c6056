//! Parsing of what people paste. The host decides the forge; the path decides the rest.

use url::Url;

use super::{
    AddressError, ForgeInstance, ForgeKind, ItemAddress, ItemKind, RepositoryAddress,
    RepositoryPath,
};

const MAX_BYTES: usize = 2048;

/// Parses the address of a repository: a page, an https or ssh remote, or `owner/name`.
///
/// `known` are the configured forges; the first one completes short references. Without a configured forge for the host,
/// only the public forges, and pages whose form only GitLab has, are recognized.
pub fn parse_repository(
    text: &str,
    known: &[ForgeInstance],
) -> Result<RepositoryAddress, AddressError> {
    let text = check_text(text)?;
    if let Some((host, path)) = split_ssh(text)? {
        let instance = find_by_ssh_host(&host, known)?;
        return within_instance(instance, RepositoryPath::from_remote(path)?);
    }
    if text.contains("://") {
        let (instance, path) = split_web(text, known)?;
        let path = split_item(instance.kind, &path).map_or(path.clone(), |(path, _, _)| path);
        let path = path.split("/-/").next().unwrap_or_default();
        let path = keep_repository_parts(instance.kind, path);
        return within_instance(instance, RepositoryPath::from_remote(&path)?);
    }
    let instance = known.first().ok_or(AddressError::NoDefaultForge)?.clone();
    within_instance(instance, text.parse()?)
}

/// Parses the address of an issue or pull request: its page, or `owner/name#12` (`owner/name!12` for a pull request).
pub fn parse_item(text: &str, known: &[ForgeInstance]) -> Result<ItemAddress, AddressError> {
    let text = check_text(text)?;
    if text.contains("://") {
        let (instance, path) = split_web(text, known)?;
        let (path, kind, number) = split_item(instance.kind, &path).ok_or(AddressError::NoItem)?;
        let repository = within_instance(instance, RepositoryPath::from_remote(&path)?)?;
        return Ok(ItemAddress { repository, kind, number });
    }
    let (path, kind, number) = match (text.split_once('#'), text.split_once('!')) {
        (Some((path, number)), None) => (path, ItemKind::Issue, number),
        (None, Some((path, number))) => (path, ItemKind::PullRequest, number),
        _ => return Err(AddressError::NoItem),
    };
    let instance = known.first().ok_or(AddressError::NoDefaultForge)?.clone();
    let number = parse_number(number).ok_or(AddressError::NoItem)?;
    Ok(ItemAddress { repository: within_instance(instance, path.parse()?)?, kind, number })
}

fn check_text(text: &str) -> Result<&str, AddressError> {
    let text = text.trim();
    let is_odd = |c: char| c.is_control() || c.is_whitespace();
    if text.is_empty() || text.len() > MAX_BYTES || text.starts_with('-') || text.contains(is_odd) {
        return Err(AddressError::Malformed);
    }
    Ok(text)
}

/// Host and path of `ssh://user@host:port/path` and `user@host:path`; `None` for another form.
fn split_ssh(text: &str) -> Result<Option<(String, &str)>, AddressError> {
    if let Some((scheme, rest)) = text.split_once("://") {
        if !matches!(scheme, "ssh" | "git+ssh") {
            return Ok(None);
        }
        let (authority, path) = rest.split_once('/').ok_or(AddressError::Malformed)?;
        let (user, host) = authority.rsplit_once('@').unwrap_or(("", authority));
        if user.contains(':') {
            return Err(AddressError::Password);
        }
        let host = host.split(':').next().unwrap_or_default();
        return Ok(Some((host.to_ascii_lowercase(), path)));
    }
    let Some((authority, path)) = text.split_once(':') else { return Ok(None) };
    let (user, host) = authority.rsplit_once('@').unwrap_or(("", authority));
    if path.contains('@') || user.contains(':') {
        return Err(AddressError::Password);
    }
    Ok((!host.contains('/')).then(|| (host.to_ascii_lowercase(), path)))
}

/// The forge of an ssh host: a configured one with that host, or a public one.
fn find_by_ssh_host(host: &str, known: &[ForgeInstance]) -> Result<ForgeInstance, AddressError> {
    let host = match host {
        // The ssh servers on port 443.
        "ssh.github.com" => "github.com",
        "altssh.gitlab.com" => "gitlab.com",
        host => host,
    };
    if let Some(instance) = known.iter().find(|known| known.base_url.host_str() == Some(host)) {
        return Ok(instance.clone());
    }
    let kind = ForgeKind::of_public_host(host)
        .ok_or_else(|| AddressError::UnknownForge(host.chars().take(100).collect()))?;
    ForgeInstance::new(kind, &format!("https://{host}"))
}

/// The forge of an http(s) URL, and the path below its base URL.
fn split_web(text: &str, known: &[ForgeInstance]) -> Result<(ForgeInstance, String), AddressError> {
    let url = Url::parse(text).map_err(|_| AddressError::Malformed)?;
    if url.password().is_some() {
        return Err(AddressError::Password);
    }
    let host = url.host_str().filter(|_| matches!(url.scheme(), "http" | "https"));
    let host = host.ok_or(AddressError::Malformed)?;
    // The longest base URL first: a forge below a path may share its host with another one.
    let mut bases: Vec<&ForgeInstance> = known.iter().collect();
    bases.sort_by_key(|known| std::cmp::Reverse(known.base_url.path().len()));
    for instance in bases {
        if let Some(path) = path_below(&url, &instance.base_url) {
            return Ok((instance.clone(), path));
        }
    }
    let path = url.path().trim_matches('/').to_owned();
    let host = host.strip_prefix("www.").unwrap_or(host);
    let kind = match ForgeKind::of_public_host(host) {
        Some(kind) => kind,
        None if path.contains("/-/") => ForgeKind::Gitlab,
        None => return Err(AddressError::UnknownForge(host.chars().take(100).collect())),
    };
    let port = url.port().map_or_else(String::new, |port| format!(":{port}"));
    let instance = ForgeInstance::new(kind, &format!("{}://{host}{port}", url.scheme()))?;
    Ok((instance, path))
}

/// The path of `url` below `base`, if both have the same host and port. The scheme may differ: remotes often say http.
fn path_below(url: &Url, base: &Url) -> Option<String> {
    let has_same_port = url.port_or_known_default() == base.port_or_known_default()
        || (url.port().is_none() && base.port().is_none());
    if url.host_str() != base.host_str() || !has_same_port {
        return None;
    }
    let prefix = base.path().trim_matches('/');
    let path = url.path().trim_matches('/');
    if prefix.is_empty() {
        return Some(path.to_owned());
    }
    path.strip_prefix(prefix)?.strip_prefix('/').map(str::to_owned)
}

/// Repository, kind and number in the path of a page.
fn split_item(kind: ForgeKind, path: &str) -> Option<(String, ItemKind, u64)> {
    let parts: Vec<&str> = path.split('/').collect();
    // A repository has at least two parts, and may be called like a folder of pages.
    let first = match kind {
        ForgeKind::Github | ForgeKind::Gitea => 2..3,
        ForgeKind::Gitlab => 2..parts.len(),
    };
    first.into_iter().find_map(|index| {
        let item = match (kind, *parts.get(index)?) {
            (_, "issues") | (ForgeKind::Gitlab, "work_items") => ItemKind::Issue,
            (ForgeKind::Github, "pull" | "pulls")
            | (ForgeKind::Gitea, "pulls")
            | (ForgeKind::Gitlab, "merge_requests") => ItemKind::PullRequest,
            _ => return None,
        };
        let number = parse_number(parts.get(index + 1)?)?;
        let repository = &parts[..index];
        let repository = repository.strip_suffix(&["-"]).unwrap_or(repository);
        (repository.len() >= 2).then(|| (repository.join("/"), item, number))
    })
}

/// GitHub and Gitea have no nested groups, so what follows is a page of the repository.
fn keep_repository_parts(kind: ForgeKind, path: &str) -> String {
    match kind {
        ForgeKind::Gitlab => path.to_owned(),
        ForgeKind::Github | ForgeKind::Gitea => {
            path.split('/').take(2).collect::<Vec<_>>().join("/")
        }
    }
}

fn within_instance(
    instance: ForgeInstance,
    path: RepositoryPath,
) -> Result<RepositoryAddress, AddressError> {
    if instance.kind != ForgeKind::Gitlab && path.parts() != 2 {
        return Err(AddressError::Repository(path.to_string()));
    }
    Ok(RepositoryAddress { instance, path })
}

fn parse_number(text: &str) -> Option<u64> {
    let is_number = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    text.parse().ok().filter(|number| is_number && *number > 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn known() -> Vec<ForgeInstance> {
        vec![
            ForgeInstance::new(ForgeKind::Gitea, "https://git.example/forge/").unwrap(),
            ForgeInstance::new(ForgeKind::Gitlab, "http://lab.example:8080").unwrap(),
            ForgeInstance::new(ForgeKind::Github, "https://ghe.example").unwrap(),
        ]
    }

    fn item(text: &str) -> String {
        match parse_item(text, &known()) {
            Ok(item) => {
                let RepositoryAddress { instance, path } = &item.repository;
                format!(
                    "{} {} {path} {:?} {}",
                    instance.kind, instance.base_url, item.kind, item.number
                )
            }
            Err(error) => format!("{error:?}"),
        }
    }

    fn repository(text: &str) -> String {
        match parse_repository(text, &known()) {
            Ok(it) => format!("{} {} {}", it.instance.kind, it.instance.base_url, it.path),
            Err(error) => format!("{error:?}"),
        }
    }

    #[test]
    fn pages_of_issues_and_pull_requests_are_recognized() {
        for (text, expected) in [
            ("https://github.com/a/b/issues/12", "github https://github.com/ a/b Issue 12"),
            (
                "https://github.com/a/b/pull/3/files#r1",
                "github https://github.com/ a/b PullRequest 3",
            ),
            (
                "https://github.com/issues/pull/issues/7",
                "github https://github.com/ issues/pull Issue 7",
            ),
            ("https://ghe.example/a/b/pull/3", "github https://ghe.example/ a/b PullRequest 3"),
            ("https://gitlab.com/g/s/b/-/issues/4", "gitlab https://gitlab.com/ g/s/b Issue 4"),
            (
                "https://gitlab.com/g/issues/-/work_items/4",
                "gitlab https://gitlab.com/ g/issues Issue 4",
            ),
            (
                "https://gitlab.com/g/b/merge_requests/5",
                "gitlab https://gitlab.com/ g/b PullRequest 5",
            ),
            (
                "http://lab.example:8080/g/b/-/merge_requests/5?x=1",
                "gitlab http://lab.example:8080/ g/b PullRequest 5",
            ),
            (
                "https://unknown.example/g/b/-/issues/5",
                "gitlab https://unknown.example/ g/b Issue 5",
            ),
            ("https://codeberg.org/a/b/pulls/9", "gitea https://codeberg.org/ a/b PullRequest 9"),
            (
                "https://git.example/forge/a/b/issues/9",
                "gitea https://git.example/forge a/b Issue 9",
            ),
            ("a/b#12", "gitea https://git.example/forge a/b Issue 12"),
            ("a/b!12", "gitea https://git.example/forge a/b PullRequest 12"),
        ] {
            assert_eq!(item(text), expected, "{text}");
        }
    }

    #[test]
    fn the_page_of_an_item_is_parsed_to_the_same_item() {
        for text in [
            "https://github.com/a/b/pull/3",
            "https://gitlab.com/g/s/b/-/merge_requests/4",
            "https://git.example/forge/a/b/pulls/9",
            "https://git.example/forge/a/b/issues/9",
        ] {
            assert_eq!(parse_item(text, &known()).unwrap().url(), text);
        }
    }

    #[test]
    fn remotes_and_pages_of_repositories_are_recognized() {
        for (text, expected) in [
            ("git@github.com:a/b.git", "github https://github.com/ a/b"),
            ("ssh://git@ssh.github.com:443/a/b.git", "github https://github.com/ a/b"),
            ("git@lab.example:g/s/t/b.git", "gitlab http://lab.example:8080/ g/s/t/b"),
            ("ssh://git@git.example:2222/a/b", "gitea https://git.example/forge a/b"),
            ("https://ada@github.com/a/b.git/", "github https://github.com/ a/b"),
            ("https://gitlab.com/g/s/b/-/tree/main/src", "gitlab https://gitlab.com/ g/s/b"),
            ("https://github.com/a/b/tree/main", "github https://github.com/ a/b"),
            ("https://github.com/a/b/issues/4", "github https://github.com/ a/b"),
            ("a/b", "gitea https://git.example/forge a/b"),
        ] {
            assert_eq!(repository(text), expected, "{text}");
        }
    }

    #[test]
    fn what_is_no_address_is_rejected_with_the_reason() {
        for (text, expected) in [
            ("", "Malformed"),
            ("a/b #1", "Malformed"),
            ("--upload-pack=x", "Malformed"),
            ("a/b#0", "NoItem"),
            ("a/b#+1", "NoItem"),
            ("a/b#1!2", "NoItem"),
            ("a/b/c#1", "Repository(\"a/b/c\")"),
            ("https://github.com/a/b", "NoItem"),
            ("https://github.com/a/b/issues/new", "NoItem"),
            ("https://evil.example/a/b/issues/1", "UnknownForge(\"evil.example\")"),
            (
                "https://github.com.evil.example/a/b/issues/1",
                "UnknownForge(\"github.com.evil.example\")",
            ),
            ("https://ada:secret@github.com/a/b/issues/1", "Password"),
            ("https://git.example/forgery/a/b/issues/1", "UnknownForge(\"git.example\")"),
        ] {
            assert_eq!(item(text), expected, "{text}");
        }
        for (text, expected) in [
            ("ada:secret@github.com/a/b", "Password"),
            ("git@evil.example:a/b", "UnknownForge(\"evil.example\")"),
            ("git@github.com:a/../b", "Repository(\"a/../b\")"),
        ] {
            assert_eq!(repository(text), expected, "{text}");
        }
        assert_eq!(parse_item("a/b#1", &[]), Err(AddressError::NoDefaultForge));
    }
}
