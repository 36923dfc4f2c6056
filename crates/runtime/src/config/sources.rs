//! The sources of configuration values.

use std::collections::BTreeMap;
use std::env;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use serde::Serialize;
use toml::{Table, Value};

use super::errors::{ConfigError, ConfigErrors};

/// The name of the config file in the data directory.
const FILE_NAME: &str = "cynode.toml";

/// The configuration of a process, by layer.
#[derive(Debug, Clone, Default)]
pub struct ConfigSources {
    pub file: Option<PathBuf>,
    pub env: BTreeMap<String, String>,
    /// The given flags. A table named like a section has flags of that section; any other entry applies
    /// to every section with a key of that name.
    pub flags: Table,
}

impl ConfigSources {
    /// The sources of this process.
    ///
    /// `flags` is a struct of `Option` fields named like the keys of the config file, `None` if the flag
    /// was not given. Without `file`, `cynode.toml` in the data directory is read if it exists; the
    /// flag `data_dir` overrides that directory.
    pub fn from_process(
        file: Option<PathBuf>,
        flags: &impl Serialize,
    ) -> Result<Self, ConfigErrors> {
        let flags = Table::try_from(flags).map_err(|error| ConfigError::File {
            path: PathBuf::from("(command line)"),
            reason: error.to_string(),
        })?;
        let data_dir = data_dir(flags.get("data_dir").and_then(Value::as_str).map(PathBuf::from));
        Ok(Self { file: resolve_file(file, &data_dir)?, env: utf8_env(env::vars_os()), flags })
    }

    /// The content of the config file; empty without one.
    pub(super) fn read_file(&self) -> Result<Table, ConfigError> {
        let Some(path) = &self.file else {
            return Ok(Table::new());
        };
        let complaint = |reason: String| ConfigError::File { path: path.clone(), reason };
        let text = std::fs::read_to_string(path).map_err(|error| complaint(error.to_string()))?;
        // The full error quotes the line, which may contain a secret.
        text.parse::<Table>().map_err(|error| {
            let line = error.span().map_or(1, |span| line_number(&text, span.start));
            complaint(format!("line {line}: {}", error.message()))
        })
    }
}

/// The data directory of a process: the flag, else `$CYNODE_DATA_DIR`, else
/// `$XDG_DATA_HOME/cynode`, else `~/.local/share/cynode`.
pub fn data_dir(flag: Option<PathBuf>) -> PathBuf {
    flag.unwrap_or_else(|| data_dir_from(&env::vars_os().collect(), env::home_dir()))
}

fn data_dir_from(env: &BTreeMap<OsString, OsString>, home: Option<PathBuf>) -> PathBuf {
    let path = |name: &str| {
        env.get(&OsString::from(name)).filter(|value| !value.is_empty()).map(PathBuf::from)
    };
    if let Some(named) = path("CYNODE_DATA_DIR") {
        return named;
    }
    // The XDG specification says to ignore relative paths.
    let shared = path("XDG_DATA_HOME").filter(|shared| shared.is_absolute());
    shared
        .or_else(|| home.map(|home| home.join(".local/share")))
        .map_or_else(|| PathBuf::from("cynode-data"), |shared| shared.join("cynode"))
}

fn resolve_file(named: Option<PathBuf>, data_dir: &Path) -> Result<Option<PathBuf>, ConfigErrors> {
    let Some(path) = named else {
        return Ok(Some(data_dir.join(FILE_NAME)).filter(|path| path.exists()));
    };
    if path.is_file() {
        return Ok(Some(path));
    }
    let reason = if path.exists() { "is not a file" } else { "does not exist" };
    Err(ConfigError::File { path, reason: reason.to_owned() }.into())
}

/// Skips variables that are not UTF-8: names and values of sections are.
fn utf8_env(vars: impl Iterator<Item = (OsString, OsString)>) -> BTreeMap<String, String> {
    vars.filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
        .collect()
}

fn line_number(text: &str, offset: usize) -> usize {
    text.as_bytes().iter().take(offset).filter(|byte| **byte == b'\n').count() + 1
}

#[cfg(test)]
mod tests {
    use super::*;

    fn resolve_data_dir(pairs: &[(&str, &str)], home: Option<&str>) -> PathBuf {
        let env = pairs.iter().map(|(name, value)| (OsString::from(name), OsString::from(value)));
        data_dir_from(&env.collect(), home.map(PathBuf::from))
    }

    #[test]
    fn the_data_directory_is_the_flag_or_the_variable_or_below_the_users_data() {
        assert_eq!(data_dir(Some("/flag".into())), PathBuf::from("/flag"));
        let own = ("CYNODE_DATA_DIR", "/own");
        let xdg = ("XDG_DATA_HOME", "/xdg");
        let home = Some("/home/ada");
        assert_eq!(resolve_data_dir(&[own, xdg], home), PathBuf::from("/own"));
        assert_eq!(resolve_data_dir(&[xdg], home), PathBuf::from("/xdg/cynode"));
        assert_eq!(resolve_data_dir(&[], home), PathBuf::from("/home/ada/.local/share/cynode"));
    }

    #[test]
    fn blank_and_relative_data_variables_are_passed_over() {
        let vars = [("CYNODE_DATA_DIR", ""), ("XDG_DATA_HOME", "relative")];
        assert_eq!(resolve_data_dir(&vars, Some("/h")), PathBuf::from("/h/.local/share/cynode"));
        assert_eq!(resolve_data_dir(&vars, None), PathBuf::from("cynode-data"));
    }

    #[test]
    fn variables_that_are_not_utf8_are_passed_over() {
        use std::os::unix::ffi::OsStringExt as _;
        let odd = OsString::from_vec(vec![0xff]);
        let vars = [("A".into(), odd.clone()), (odd, "b".into()), ("C".into(), "d".into())];
        let env = utf8_env(vars.into_iter());
        assert_eq!(env, BTreeMap::from([("C".to_owned(), "d".to_owned())]));
    }
}
