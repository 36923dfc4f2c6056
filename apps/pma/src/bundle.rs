//! The instructions of a role: a directory of texts, loaded once at startup.
//!
//! The files are those that end in `.md` or `.txt`, in the order of their names. The first one is the baseline. A
//! file whose name ends with `tools` is included only where a model can call tools. The default root is
//! `instructions/` in the data directory; without it the built-in texts of the repository's `instructions/` are used.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use cynode_agent::context::Instructions;
use cynode_wire::handoff::AgentRole;

use crate::PmaOptions;

/// Larger instructions would leave too little context in every model request.
const MAX_BYTES: usize = 128 * 1024;

const PROJECT_MANAGER: [&str; 2] = [
    include_str!("../../../instructions/project_manager/01_baseline.md"),
    include_str!("../../../instructions/project_manager/02_tools.md"),
];
const PROJECT_ANALYST: [&str; 2] = [
    include_str!("../../../instructions/project_analyst/01_baseline.md"),
    include_str!("../../../instructions/project_analyst/02_tools.md"),
];

/// Why the instructions cannot be loaded.
#[derive(Debug, thiserror::Error)]
pub enum InstructionBundleError {
    #[error(
        "the instructions of the {role} in {} cannot be read: {cause}; create the directory, or point --instructions-root elsewhere",
        path.display()
    )]
    Unreadable { role: &'static str, path: PathBuf, cause: io::Error },
    /// The directory holds no text.
    #[error(
        "the instructions of the {role} in {} are empty: add at least 01_baseline.md with text in it",
        path.display()
    )]
    Empty { role: &'static str, path: PathBuf },
    /// The first file is blank; the next file must not become the baseline.
    #[error(
        "{} is the baseline of the {role} and has no text: write it, or remove the file",
        file.display()
    )]
    BlankBaseline { role: &'static str, file: PathBuf },
    /// A part would be truncated in every model request.
    #[error("the {part} of the {role} in {} exceeds {most} bytes: shorten it", path.display())]
    TooLarge {
        role: &'static str,
        part: &'static str,
        /// In bytes.
        most: usize,
        path: PathBuf,
    },
}

/// Instructions and their origin.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InstructionBundle {
    pub instructions: Instructions,
    /// The directory, or a description of the built-in texts.
    pub origin: String,
}

impl InstructionBundle {
    /// Loads the instructions of `role`. A role gets those of the other role only if its path is configured so.
    pub fn load(
        options: &PmaOptions,
        role: AgentRole,
        data_dir: &Path,
    ) -> Result<Self, InstructionBundleError> {
        let role = if cynode_fault::fault!("PMA-11") { AgentRole::ProjectManager } else { role };
        let own = match role {
            AgentRole::ProjectManager => &options.instructions_project_manager,
            AgentRole::ProjectAnalyst => &options.instructions_project_analyst,
        };
        let default = || Some(data_dir.join("instructions")).filter(|root| root.is_dir());
        let root = options.instructions_root.clone().or_else(default);
        let in_root = || root.map(|root| root.join(role.as_str()));
        match own.clone().or_else(in_root) {
            Some(path) => read_bundle(&path, role),
            None => Ok(built_in_bundle(role)),
        }
    }
}

fn built_in_bundle(role: AgentRole) -> InstructionBundle {
    let [baseline, rest] = match role {
        AgentRole::ProjectManager => PROJECT_MANAGER,
        AgentRole::ProjectAnalyst => PROJECT_ANALYST,
    };
    let instructions =
        Instructions { baseline: baseline.to_owned(), role: String::new(), tools: rest.to_owned() };
    InstructionBundle {
        instructions,
        origin: format!("instructions/{} in this program", role.as_str()),
    }
}

fn read_bundle(path: &Path, role: AgentRole) -> Result<InstructionBundle, InstructionBundleError> {
    let (named, path) = (role.as_str(), path.to_owned());
    let texts = read_texts(&path).map_err(|cause| {
        if cause.kind() == io::ErrorKind::FileTooLarge {
            let (part, path) = ("bundle", path.clone());
            return InstructionBundleError::TooLarge { role: named, part, most: MAX_BYTES, path };
        }
        InstructionBundleError::Unreadable { role: named, path: path.clone(), cause }
    })?;
    if texts.iter().all(|(_, text)| is_blank(text)) {
        return Err(InstructionBundleError::Empty { role: named, path });
    }
    let mut texts = texts.into_iter();
    let (first, baseline) = texts.next().unwrap_or_default();
    if is_blank(&baseline) {
        return Err(InstructionBundleError::BlankBaseline { role: named, file: first });
    }
    let rest = texts.filter(|(_, text)| !is_blank(text));
    let (tools, role): (Vec<_>, Vec<_>) = rest.partition(|(file, _)| is_about_tools(file));
    let joined = |texts: Vec<(PathBuf, String)>| {
        texts.into_iter().map(|(_, text)| text).collect::<Vec<_>>().join("\n\n")
    };
    let instructions = Instructions { baseline, role: joined(role), tools: joined(tools) };
    if let Some((part, most)) = instructions.excess() {
        return Err(InstructionBundleError::TooLarge { role: named, part, most, path });
    }
    Ok(InstructionBundle { instructions, origin: path.display().to_string() })
}

fn is_about_tools(file: &Path) -> bool {
    file.file_stem().and_then(|stem| stem.to_str()).is_some_and(|stem| stem.ends_with("tools"))
}

fn is_blank(text: &str) -> bool {
    text.trim().is_empty()
}

/// Reads the files in the order of their names.
fn read_texts(path: &Path) -> io::Result<Vec<(PathBuf, String)>> {
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

    /// Loads with an empty data directory.
    fn load(
        options: &PmaOptions,
        role: AgentRole,
    ) -> Result<InstructionBundle, InstructionBundleError> {
        InstructionBundle::load(options, role, Path::new("/nowhere"))
    }

    fn options_with_root(root: &Path) -> PmaOptions {
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

        let found = InstructionBundle::load(&PmaOptions::default(), role, data.path()).unwrap();
        let set =
            InstructionBundle::load(&options_with_root(root.path()), role, data.path()).unwrap();

        assert_eq!(found.instructions.baseline, "kept");
        assert_eq!(set.instructions.baseline, "set");
        let analyst =
            InstructionBundle::load(&PmaOptions::default(), AgentRole::ProjectAnalyst, data.path());
        assert!(
            matches!(analyst, Err(InstructionBundleError::Unreadable { .. })),
            "not the manager's"
        );
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

        let bundle = load(&options_with_root(root.path()), AgentRole::ProjectManager).unwrap();

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
        let missing = load(&options_with_root(root.path()), AgentRole::ProjectManager).unwrap_err();
        let dir = root.path().join("project_manager");
        fs::create_dir(&dir).unwrap();
        fs::write(dir.join("01_baseline.md"), " \n").unwrap();
        let empty = load(&options_with_root(root.path()), AgentRole::ProjectManager).unwrap_err();

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

        let refused = load(&options_with_root(root.path()), AgentRole::ProjectManager).unwrap_err();

        assert!(matches!(refused, InstructionBundleError::BlankBaseline { .. }), "{refused}");
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

            let refused =
                load(&options_with_root(root.path()), AgentRole::ProjectManager).unwrap_err();

            assert!(refused.to_string().contains(part), "{refused}");
        }
        fs::write(dir.join("02_tools.md"), "x".repeat(200 * 1024)).unwrap();
        let refused = load(&options_with_root(root.path()), AgentRole::ProjectManager).unwrap_err();
        assert!(matches!(refused, InstructionBundleError::TooLarge { .. }), "{refused}");
    }
}
