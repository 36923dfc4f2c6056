//! The instructions of a role: a directory of texts, read once at the start.
//!
//! The files are those that end in `.md` or `.txt`, in the order of their names. The first is the
//! baseline; the others follow it. One whose name ends with `tools` is included only where a model can call tools. Without a configured root it is `instructions/` in the data directory;
//! where nobody put one, the texts inside this program are used, which are those of the repository's
//! `instructions/`.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use cynode_agent::context::Instructions;
use cynode_wire::handoff::AgentRole;

use crate::PmaOptions;

/// More would crowd out the work in every request to a model.
const MAX_BYTES: usize = 128 * 1024;

const PROJECT_MANAGER: [&str; 2] = [
    include_str!("../../../instructions/project_manager/01_baseline.md"),
    include_str!("../../../instructions/project_manager/02_tools.md"),
];
const PROJECT_ANALYST: [&str; 2] = [
    include_str!("../../../instructions/project_analyst/01_baseline.md"),
    include_str!("../../../instructions/project_analyst/02_tools.md"),
];

/// Why there are no instructions.
#[derive(Debug, thiserror::Error)]
pub enum BundleError {
    /// The directory cannot be read.
    #[error(
        "the instructions of the {role} in {} cannot be read: {cause}; create the directory, or point --instructions-root elsewhere",
        path.display()
    )]
    Unreadable {
        /// For which role.
        role: &'static str,
        /// Where.
        path: PathBuf,
        /// What the system said.
        cause: io::Error,
    },
    /// There is no text in the directory.
    #[error(
        "the instructions of the {role} in {} are empty: add at least 01_baseline.md with text in it",
        path.display()
    )]
    Empty {
        /// For which role.
        role: &'static str,
        /// Where.
        path: PathBuf,
    },
    /// The first file says nothing, and the next would take its place.
    #[error(
        "{} is the baseline of the {role} and has no text: write it, or remove the file",
        file.display()
    )]
    BlankBaseline {
        /// For which role.
        role: &'static str,
        /// The file.
        file: PathBuf,
    },
    /// There is too much of it: a part would be cut in every request to a model.
    #[error("the {part} of the {role} in {} has more than {most} bytes: shorten it", path.display())]
    TooLarge {
        /// For which role.
        role: &'static str,
        /// Which part.
        part: &'static str,
        /// The most bytes that it may have.
        most: usize,
        /// Where.
        path: PathBuf,
    },
}

/// Instructions, and where they came from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Bundle {
    /// The texts.
    pub instructions: Instructions,
    /// The directory, or words for what is inside the program.
    pub origin: String,
}

impl Bundle {
    /// Reads the instructions of `role` from where the options say. No role has those of the other
    /// unless a path says so.
    pub fn load(
        options: &PmaOptions,
        role: AgentRole,
        data_dir: &Path,
    ) -> Result<Self, BundleError> {
        let own = match role {
            AgentRole::ProjectManager => &options.instructions_project_manager,
            AgentRole::ProjectAnalyst => &options.instructions_project_analyst,
        };
        let default = || Some(data_dir.join("instructions")).filter(|root| root.is_dir());
        let root = options.instructions_root.clone().or_else(default);
        let in_root = || root.map(|root| root.join(role.as_str()));
        match own.clone().or_else(in_root) {
            Some(path) => read(&path, role),
            None => Ok(embedded(role)),
        }
    }
}

fn embedded(role: AgentRole) -> Bundle {
    let [baseline, rest] = match role {
        AgentRole::ProjectManager => PROJECT_MANAGER,
        AgentRole::ProjectAnalyst => PROJECT_ANALYST,
    };
    let instructions =
        Instructions { baseline: baseline.to_owned(), role: String::new(), tools: rest.to_owned() };
    Bundle { instructions, origin: format!("instructions/{} in this program", role.as_str()) }
}

fn read(path: &Path, role: AgentRole) -> Result<Bundle, BundleError> {
    let (named, path) = (role.as_str(), path.to_owned());
    let texts = texts(&path).map_err(|cause| {
        if cause.kind() == io::ErrorKind::FileTooLarge {
            let (part, path) = ("whole of the instructions", path.clone());
            return BundleError::TooLarge { role: named, part, most: MAX_BYTES, path };
        }
        BundleError::Unreadable { role: named, path: path.clone(), cause }
    })?;
    if texts.iter().all(|(_, text)| is_blank(text)) {
        return Err(BundleError::Empty { role: named, path });
    }
    let mut texts = texts.into_iter();
    let (first, baseline) = texts.next().unwrap_or_default();
    if is_blank(&baseline) {
        return Err(BundleError::BlankBaseline { role: named, file: first });
    }
    let rest = texts.filter(|(_, text)| !is_blank(text));
    let (tools, role): (Vec<_>, Vec<_>) = rest.partition(|(file, _)| is_about_tools(file));
    let joined = |texts: Vec<(PathBuf, String)>| {
        texts.into_iter().map(|(_, text)| text).collect::<Vec<_>>().join("\n\n")
    };
    let instructions = Instructions { baseline, role: joined(role), tools: joined(tools) };
    if let Some((part, most)) = instructions.excess() {
        return Err(BundleError::TooLarge { role: named, part, most, path });
    }
    Ok(Bundle { instructions, origin: path.display().to_string() })
}

fn is_about_tools(file: &Path) -> bool {
    file.file_stem().and_then(|stem| stem.to_str()).is_some_and(|stem| stem.ends_with("tools"))
}

fn is_blank(text: &str) -> bool {
    text.trim().is_empty()
}

/// The files in the order of their names, with what they say.
fn texts(path: &Path) -> io::Result<Vec<(PathBuf, String)>> {
    let mut files = vec![];
    for entry in fs::read_dir(path)? {
        let file = entry?.path();
        if file.extension().is_some_and(|kind| kind == "md" || kind == "txt") {
            files.push(file);
        }
    }
    files.sort();
    let mut bytes = 0;
    let mut texts = vec![];
    for file in files {
        bytes += fs::metadata(&file)?.len();
        if bytes > MAX_BYTES as u64 {
            return Err(io::ErrorKind::FileTooLarge.into());
        }
        let text = fs::read_to_string(&file)?;
        texts.push((file, text));
    }
    Ok(texts)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// With a data directory in which there is nothing.
    fn load(options: &PmaOptions, role: AgentRole) -> Result<Bundle, BundleError> {
        Bundle::load(options, role, Path::new("/nowhere"))
    }

    fn at(root: &Path) -> PmaOptions {
        PmaOptions { instructions_root: Some(root.to_owned()), ..PmaOptions::default() }
    }

    #[test]
    fn each_role_has_instructions_of_its_own_by_default() {
        let manager = load(&PmaOptions::default(), AgentRole::ProjectManager).unwrap();
        let analyst = load(&PmaOptions::default(), AgentRole::ProjectAnalyst).unwrap();

        assert!(manager.instructions.baseline.starts_with("# Project manager"));
        assert!(analyst.instructions.baseline.starts_with("# Project analyst"));
        assert_ne!(manager.instructions.tools, analyst.instructions.tools);
        assert!(manager.origin.contains("in this program"), "{}", manager.origin);
    }

    #[test]
    fn instructions_in_the_data_directory_beat_those_of_the_program_and_no_configured_root() {
        let (data, root) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        for (place, text) in
            [(data.path().join("instructions"), "kept"), (root.path().into(), "set")]
        {
            fs::create_dir_all(place.join("project_manager")).unwrap();
            fs::write(place.join("project_manager/01_baseline.md"), text).unwrap();
        }
        let role = AgentRole::ProjectManager;

        let found = Bundle::load(&PmaOptions::default(), role, data.path()).unwrap();
        let set = Bundle::load(&at(root.path()), role, data.path()).unwrap();

        assert_eq!(found.instructions.baseline, "kept");
        assert_eq!(set.instructions.baseline, "set");
        let analyst = Bundle::load(&PmaOptions::default(), AgentRole::ProjectAnalyst, data.path());
        assert!(matches!(analyst, Err(BundleError::Unreadable { .. })), "not the manager's");
    }

    #[test]
    fn texts_are_read_in_the_order_of_their_names_and_the_first_is_the_baseline() {
        let root = tempfile::tempdir().unwrap();
        let dir = root.path().join("project_manager");
        fs::create_dir(&dir).unwrap();
        for (name, text) in
            [("03_c.txt", "third"), ("01_a.md", "first"), ("02_b.md", "second"), ("x.json", "{}")]
        {
            fs::write(dir.join(name), text).unwrap();
        }
        fs::write(dir.join("02_tools.md"), "tools").unwrap();

        let bundle = load(&at(root.path()), AgentRole::ProjectManager).unwrap();

        assert_eq!(bundle.instructions.baseline, "first");
        assert_eq!(bundle.instructions.role, "second\n\nthird");
        assert_eq!(bundle.instructions.tools, "tools");
        assert_eq!(bundle.origin, dir.display().to_string());
    }

    #[test]
    fn the_path_of_a_role_beats_the_root_and_says_nothing_of_the_other_role() {
        let root = tempfile::tempdir().unwrap();
        fs::write(root.path().join("own.md"), "own").unwrap();
        let options = PmaOptions {
            instructions_project_analyst: Some(root.path().to_owned()),
            ..PmaOptions::default()
        };

        let analyst = load(&options, AgentRole::ProjectAnalyst).unwrap();
        let manager = load(&options, AgentRole::ProjectManager).unwrap();

        assert_eq!(analyst.instructions.baseline, "own");
        assert!(manager.instructions.baseline.starts_with("# Project manager"));
    }

    #[test]
    fn missing_and_empty_instructions_are_refused_with_what_to_do() {
        let root = tempfile::tempdir().unwrap();
        let missing = load(&at(root.path()), AgentRole::ProjectManager).unwrap_err();
        let dir = root.path().join("project_manager");
        fs::create_dir(&dir).unwrap();
        fs::write(dir.join("01_baseline.md"), " \n").unwrap();
        let empty = load(&at(root.path()), AgentRole::ProjectManager).unwrap_err();

        assert!(missing.to_string().contains("create the directory"), "{missing}");
        assert!(empty.to_string().contains("add at least 01_baseline.md"), "{empty}");
    }

    #[test]
    fn a_blank_baseline_is_refused_and_no_other_file_takes_its_place() {
        let root = tempfile::tempdir().unwrap();
        let dir = root.path().join("project_manager");
        fs::create_dir(&dir).unwrap();
        fs::write(dir.join("01_baseline.md"), " \n").unwrap();
        fs::write(dir.join("02_tools.md"), "You may do anything.").unwrap();

        let refused = load(&at(root.path()), AgentRole::ProjectManager).unwrap_err();

        assert!(matches!(refused, BundleError::BlankBaseline { .. }), "{refused}");
        assert!(refused.to_string().contains("01_baseline.md is the baseline"), "{refused}");
    }

    #[test]
    fn instructions_that_would_be_cut_in_every_request_are_refused() {
        let root = tempfile::tempdir().unwrap();
        let dir = root.path().join("project_manager");
        fs::create_dir(&dir).unwrap();
        let cases = [("01_baseline.md", 40, "baseline"), ("02_tools.md", 70, "role_instructions")];
        for (file, kib, part) in cases {
            fs::write(dir.join("01_baseline.md"), "short").unwrap();
            fs::write(dir.join(file), "x".repeat(kib * 1024)).unwrap();

            let refused = load(&at(root.path()), AgentRole::ProjectManager).unwrap_err();

            assert!(refused.to_string().contains(part), "{refused}");
        }
        fs::write(dir.join("02_tools.md"), "x".repeat(200 * 1024)).unwrap();
        let refused = load(&at(root.path()), AgentRole::ProjectManager).unwrap_err();
        assert!(matches!(refused, BundleError::TooLarge { .. }), "{refused}");
    }
}
