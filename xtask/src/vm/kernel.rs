//! The kernel of the virtual machine: Debian's for clouds, unpacked and not installed.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result, bail};

use crate::{prepare, tool};

/// Depends on the package of the newest kernel.
const PACKAGE: &str = "linux-image-cloud-amd64";
/// Files of a package, in the order in which they are loaded: a disk without a device, scheduled by weight.
const MODULES: &[&str] =
    &["fs/configfs/configfs.ko", "drivers/block/null_blk/null_blk.ko", "block/bfq.ko"];

const KERNEL_HELP: &str = "the tests of cgroups need a kernel for a virtual machine. On Debian it is downloaded with \
`apt-get download`, which needs current package lists (`sudo apt-get update`). Elsewhere, unpack Debian's package \
linux-image-cloud-amd64 (its dependency with a version in the name) to target/vm/kernel";

/// An unpacked kernel.
pub(super) struct Kernel {
    pub(super) image: PathBuf,
    pub(super) modules: Vec<PathBuf>,
}

/// The kernel in `directory`, downloaded if it is not there.
pub(super) fn ensure_kernel(directory: &Path) -> Result<Kernel> {
    let unpacked = directory.join("kernel");
    if let Some(kernel) = find_kernel(&unpacked) {
        return Ok(kernel);
    }
    fs::create_dir_all(directory)?;
    if tool::find_in_path("apt-get").is_some() {
        download(directory, &unpacked)
            .or_else(|_| {
                // The package lists are missing or name a kernel that was replaced.
                prepare::update_package_lists()?;
                download(directory, &unpacked)
            })
            .context(KERNEL_HELP)?;
    }
    match find_kernel(&unpacked) {
        Some(kernel) => Ok(kernel),
        None => bail!(KERNEL_HELP),
    }
}

fn find_kernel(unpacked: &Path) -> Option<Kernel> {
    let image = find_entry(&unpacked.join("boot"), "vmlinuz-")?;
    let modules = ["lib/modules", "usr/lib/modules"].map(|path| unpacked.join(path));
    let modules = modules.iter().find_map(|path| find_entry(path, ""))?.join("kernel");
    let find = |name: &&str| {
        let path = modules.join(name);
        find_entry(path.parent()?, path.file_name()?.to_str()?)
    };
    Some(Kernel { image, modules: MODULES.iter().filter_map(find).collect() })
}

/// The first entry whose name begins with `prefix`.
fn find_entry(directory: &Path, prefix: &str) -> Option<PathBuf> {
    let entries = fs::read_dir(directory).ok()?.flatten();
    let mut named = entries.filter(|entry| entry.file_name().to_string_lossy().starts_with(prefix));
    named.next().map(|entry| entry.path())
}

fn download(directory: &Path, unpacked: &Path) -> Result<()> {
    let depends = tool::stdout_of(Command::new("apt-cache").args(["depends", PACKAGE]))?;
    let package = parse_dependency(&depends).with_context(|| format!("{PACKAGE} is unknown"))?;
    let mut download = Command::new("apt-get");
    tool::download_with_retries(download.current_dir(directory).args(["download", package]))?;
    let archive = find_entry(directory, package).context("apt-get downloaded nothing")?;
    tool::run_or_fail(Command::new("dpkg-deb").arg("-x").arg(&archive).arg(unpacked))?;
    fs::remove_file(archive)?;
    Ok(())
}

/// The first dependency in the output of `apt-cache depends`.
fn parse_dependency(depends: &str) -> Option<&str> {
    depends.lines().find_map(|line| line.trim().strip_prefix("Depends: "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_package_of_the_newest_kernel_is_a_dependency() {
        let depends = "linux-image-cloud-amd64\n  Depends: linux-image-6.1.0-48-cloud-amd64\n";

        assert_eq!(parse_dependency(depends), Some("linux-image-6.1.0-48-cloud-amd64"));
        assert_eq!(parse_dependency("N: Unable to locate package\n"), None);
    }

    #[test]
    fn an_unpacked_kernel_is_found_with_its_modules() {
        let dir = tempfile::tempdir().unwrap();
        assert!(find_kernel(dir.path()).is_none());
        let modules = dir.path().join("lib/modules/6.1.0/kernel");
        fs::create_dir_all(dir.path().join("boot")).unwrap();
        fs::create_dir_all(modules.join("block")).unwrap();
        fs::write(dir.path().join("boot/vmlinuz-6.1.0"), "").unwrap();
        fs::write(modules.join("block/bfq.ko.xz"), "").unwrap();

        let kernel = find_kernel(dir.path()).unwrap();

        assert_eq!(kernel.image, dir.path().join("boot/vmlinuz-6.1.0"));
        assert_eq!(kernel.modules, [modules.join("block/bfq.ko.xz")]);
    }
}
