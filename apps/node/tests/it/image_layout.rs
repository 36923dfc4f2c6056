//! Small images for jobs, built from programs of this machine.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::json;
use sha2::{Digest as _, Sha256};

/// Programs of an image in which commands can run.
const PROGRAMS: [&str; 7] =
    ["/bin/sh", "/bin/cat", "/bin/ls", "/bin/touch", "/bin/rm", "/usr/bin/id", "/bin/sleep"];

pub(crate) struct LayoutBuilder {
    layer: tar::Builder<Vec<u8>>,
    env: Vec<String>,
}

impl LayoutBuilder {
    /// An image without any file.
    pub(crate) fn empty() -> Self {
        Self { layer: tar::Builder::new(vec![]), env: vec![] }
    }

    /// An image with a shell and a few programs.
    pub(crate) fn with_programs() -> Self {
        let mut image = Self::empty()
            .file("etc/passwd", "root:x:0:0::/root:/bin/sh")
            .file("etc/group", "root:x:0:\n");
        let mut files: BTreeSet<PathBuf> = PROGRAMS.map(PathBuf::from).into();
        for program in PROGRAMS {
            files.extend(libraries(program));
        }
        for path in files {
            let content = fs::read(&path).unwrap();
            image = image.entry(path.to_str().unwrap().trim_start_matches('/'), &content, 0o755);
        }
        image
    }

    pub(crate) fn file(self, path: &str, content: &str) -> Self {
        self.entry(path, content.as_bytes(), 0o644)
    }

    pub(crate) fn entry(mut self, path: &str, content: &[u8], mode: u32) -> Self {
        let mut header = tar::Header::new_gnu();
        header.set_size(content.len() as u64);
        header.set_mode(mode);
        self.layer.append_data(&mut header, path, content).unwrap();
        self
    }

    pub(crate) fn symlink(mut self, path: &str, target: &str) -> Self {
        let mut header = tar::Header::new_gnu();
        header.set_entry_type(tar::EntryType::Symlink);
        header.set_size(0);
        self.layer.append_link(&mut header, path, target).unwrap();
        self
    }

    pub(crate) fn env(mut self, variable: &str) -> Self {
        self.env.push(variable.to_owned());
        self
    }

    /// Writes the image as an OCI layout.
    pub(crate) fn write(self, layout: &Path) {
        let layer = self.layer.into_inner().unwrap();
        let config = json!({
            "os": "linux", "config": { "Env": self.env },
            "rootfs": { "type": "layers", "diff_ids": [digest(&layer)] },
        });
        let config = config.to_string().into_bytes();
        let describe = |media_type: &str, content: &[u8]| json!({ "mediaType": media_type, "digest": digest(content), "size": content.len() });
        let manifest = json!({
            "schemaVersion": 2,
            "config": describe("application/vnd.oci.image.config.v1+json", &config),
            "layers": [describe("application/vnd.oci.image.layer.v1.tar", &layer)],
        });
        let manifest = manifest.to_string().into_bytes();
        let index = json!({
            "schemaVersion": 2,
            "manifests": [describe("application/vnd.oci.image.manifest.v1+json", &manifest)],
        });
        let blobs = layout.join("blobs/sha256");
        fs::create_dir_all(&blobs).unwrap();
        for blob in [layer, config, manifest] {
            fs::write(blobs.join(digest(&blob).trim_start_matches("sha256:")), &blob).unwrap();
        }
        fs::write(layout.join("index.json"), index.to_string()).unwrap();
    }
}

fn digest(content: &[u8]) -> String {
    format!("sha256:{}", hex::encode(Sha256::digest(content)))
}

/// Libraries and loader of a program, at the paths where it looks for them.
fn libraries(program: &str) -> Vec<PathBuf> {
    let output = Command::new("ldd").arg(program).output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let paths = text.split_whitespace().filter(|word| word.starts_with('/'));
    paths.map(PathBuf::from).collect()
}
