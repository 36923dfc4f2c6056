//! The repository contains no paths or hosts of one developer's machine.

use super::TidyFindings;
use crate::fault::Fault;

/// Third-party files.
const FOREIGN: &[&str] = &["Cargo.lock", "LICENSE"];

// Written in two halves, so that this file does not report itself.
const ROOT_HOME: &str = concat!("/ro", "ot/");
const HOMES: &[&str] = &[concat!("/ho", "me/"), concat!("/Us", "ers/")];
/// The user name that examples and tests may use.
const INVENTED_USER: &str = "ada";
const HOSTS: &[&str] = &[
    concat!("arti", "factory"),
    concat!("index.crates", ".io"),
    concat!("registry.npm", "js.org"),
    concat!("sparse", "+http"),
];

/// Reports every line with a path or host of one machine.
pub fn check(path: &str, text: &str, findings: &mut TidyFindings) {
    if FOREIGN.contains(&path) {
        return;
    }
    for (index, line) in text.lines().enumerate() {
        if names_a_home(line) {
            findings.faults.push(Fault::in_line(
                path,
                index + 1,
                "names a home directory",
                "write the path relative to the repository, or call the user \"ada\" in an example",
            ));
        }
        if let Some(host) = HOSTS.iter().find(|host| line.contains(**host)) {
            findings.faults.push(Fault::in_line(
                path,
                index + 1,
                format!("names the package host {host}"),
                "leave package hosts to the user's own cargo configuration",
            ));
        }
    }
}

fn names_a_home(line: &str) -> bool {
    let starts_a_path = |at: usize| {
        let before = line[..at].chars().next_back();
        !before.is_some_and(|c| c.is_alphanumeric() || matches!(c, '_' | '.' | '-' | '/' | '}'))
    };
    let mut roots = line.match_indices(ROOT_HOME);
    let mut homes = HOMES.iter().flat_map(|home| line.match_indices(home));
    roots.any(|(at, _)| starts_a_path(at))
        || homes.any(|(at, home)| {
            let name = line[at + home.len()..].split(|c: char| !is_of_a_name(c)).next();
            starts_a_path(at) && name.is_some_and(|name| !name.is_empty() && name != INVENTED_USER)
        })
}

fn is_of_a_name(c: char) -> bool {
    c.is_alphanumeric() || matches!(c, '_' | '.' | '-')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn faults(text: &str) -> usize {
        let mut findings = TidyFindings::default();
        check("docs/x.md", text, &mut findings);
        findings.faults.len()
    }

    #[test]
    fn home_directories_are_refused() {
        assert_eq!(faults(concat!("see /ro", "ot/notes")), 1);
        assert_eq!(faults(concat!("cd /ho", "me/lovelace/src")), 1);
    }

    #[test]
    fn package_hosts_are_refused() {
        assert_eq!(faults(concat!("https://arti", "factory.example/x")), 1);
    }

    #[test]
    fn ordinary_paths_are_fine() {
        assert_eq!(
            faults("crates/root/src and <home>/x and /home/<name>/ and /home/ada/x and ~/.local"),
            0
        );
    }
}
