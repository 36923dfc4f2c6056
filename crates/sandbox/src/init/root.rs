//! Builds the root filesystem of a job: system directories read-only, its own directories writable.
//!
//! Built on a tmpfs that becomes `/`; only the host paths named here are reachable.

use std::fs::{self, DirBuilder, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _, symlink};
use std::path::{Path, PathBuf};

use nix::mount::{MntFlags, MsFlags, mount, umount2};
use nix::sys::statvfs::{FsFlags, statvfs};
use nix::unistd::{chdir, pivot_root};

use cynode_image::ImageUse;

use crate::cache::SANDBOX_CACHE;
use crate::job_dir::JobDir;
use crate::mount_table::parse_mounts;
use crate::request::{
    NamespaceOptions, RootFilesystem, SANDBOX_ARTIFACTS, SANDBOX_WORKSPACE, SandboxFile,
    SandboxInput, SandboxRequest,
};
use crate::spec::SANDBOX_STDIN;

/// Programs and libraries; symbolic links on merged-usr systems, directories on others.
const SYSTEM_DIRS: [&str; 7] = ["usr", "bin", "sbin", "lib", "lib32", "lib64", "libx32"];
/// Files of `/etc` that programs need; excludes keys and accounts.
const ETC_ENTRIES: [&str; 10] = [
    "ld.so.cache",
    "ld.so.conf",
    "ld.so.conf.d",
    "alternatives",
    "localtime",
    "ssl/certs",
    "ssl/openssl.cnf",
    "ca-certificates",
    "pki/tls/certs",
    "pki/ca-trust/extracted",
];
/// Directories of the sandbox itself; those of an image with these names are not used.
const OWN_DIRS: [&str; 5] = ["dev", "job", "proc", "tmp", "workspace"];
const DEVICES: [&str; 5] = ["null", "zero", "full", "random", "urandom"];
/// Kernel settings, mounted read-only even for their owner.
const READ_ONLY_PROC: [&str; 5] = ["sys", "sysrq-trigger", "irq", "bus", "fs"];

/// Longer lists of accounts of an image are left as they are.
const MAX_ACCOUNTS_BYTES: u64 = 1 << 20;

/// Maximum files in each memory-backed directory: every one takes about a kilobyte of the kernel's memory, which the size
/// of the directory does not bound.
const MAX_INODES: u32 = 32_768;

/// Replaces this process's root filesystem with the job's.
pub(super) fn build_root(
    dir: &JobDir,
    request: &SandboxRequest,
    options: &NamespaceOptions,
) -> io::Result<()> {
    set_mount_flags("/", MsFlags::MS_REC | MsFlags::MS_PRIVATE)?;
    let mut root = SandboxRoot { path: dir.root_dir(), read_only: vec![] };
    mount_tmpfs(&root.path, "size=64m,nr_inodes=8192,mode=0755")?;
    let uid = options.uid.unwrap_or_default();
    match &request.root {
        RootFilesystem::Image { path } => root.add_image(&ImageUse::root_dir(path), uid)?,
        RootFilesystem::Host { .. } => {
            root.add_system()?;
            root.add_etc(uid)?;
        }
    }
    root.add_devices_and_proc()?;
    root.add_writable(request)?;
    // Last, because an exposed path may be below a directory created above. An image has files of its own.
    if let RootFilesystem::Host { expose } = &request.root {
        expose.iter().try_for_each(|host| root.bind_read_only(host))?;
    }
    root.make_binds_read_only()?;
    if let SandboxInput::Pipe { path } = &request.input {
        root.bind_file(path, SANDBOX_STDIN)?;
    }
    for program in &request.programs {
        make_read_only(&root.bind_file(&program.host, &program.path)?)?;
    }
    request.files.iter().try_for_each(|file| root.add_file(file))?;
    root.pivot()?;
    request.protected.iter().try_for_each(|path| protect(Path::new(path)))?;
    make_read_only(Path::new("/"))
}

/// Makes a file or directory of a writable mount read-only, if it exists.
///
/// Runs after the pivot, so that a link which an earlier job left there leads to nothing that this job cannot read anyway.
fn protect(path: &Path) -> io::Result<()> {
    if fs::symlink_metadata(path).is_ok_and(|found| found.is_file() || found.is_dir()) {
        bind_mount(path, path)?;
        make_read_only(path)?;
    }
    Ok(())
}

struct SandboxRoot {
    path: PathBuf,
    /// Mount points that [`Self::make_binds_read_only`] makes read-only, with everything below them.
    read_only: Vec<PathBuf>,
}

impl SandboxRoot {
    /// Host path of the absolute path `inside`.
    fn host_path(&self, inside: &str) -> PathBuf {
        self.path.join(inside.trim_start_matches('/'))
    }

    fn add_system(&mut self) -> io::Result<()> {
        for name in SYSTEM_DIRS {
            let host = Path::new("/").join(name);
            match fs::read_link(&host) {
                Ok(target) => symlink(target, self.host_path(name))?,
                Err(_) => self.bind_read_only(&host)?,
            }
        }
        Ok(())
    }

    /// Adds every top-level entry of an image read-only. The root itself stays the sandbox's own, so that nothing is mounted
    /// on a path that an image chose.
    fn add_image(&self, image: &Path, uid: u32) -> io::Result<()> {
        for entry in fs::read_dir(image)? {
            let entry = entry?;
            let name = entry.file_name();
            if OWN_DIRS.iter().any(|own| name == *own) {
                continue;
            }
            let (source, path) = (entry.path(), self.path.join(&name));
            let kind = entry.file_type()?;
            if kind.is_symlink() {
                symlink(fs::read_link(&source)?, &path)?;
                continue;
            } else if kind.is_dir() {
                fs::create_dir(&path)?;
            } else {
                fs::write(&path, "")?;
            }
            bind_mount(&source, &path)?;
            make_read_only(&path)?;
        }
        fs::create_dir(self.host_path("job"))?;
        self.add_accounts(image, uid)
    }

    /// Adds the job's user to the accounts of an image that has a list of them.
    fn add_accounts(&self, image: &Path, uid: u32) -> io::Result<()> {
        let is_dir = |path: &Path| fs::symlink_metadata(path).is_ok_and(|found| found.is_dir());
        if uid == 0 || !is_dir(&image.join("etc")) {
            return Ok(());
        }
        for (name, line) in [
            ("passwd", format!("sandbox:x:{uid}:{uid}::{SANDBOX_WORKSPACE}:/bin/sh\n")),
            ("group", format!("sandbox:x:{uid}:\n")),
        ] {
            let source = image.join("etc").join(name);
            // A link would lead to another file than the one in the image.
            let found = fs::symlink_metadata(&source);
            if !found.is_ok_and(|found| found.is_file() && found.len() <= MAX_ACCOUNTS_BYTES) {
                continue;
            }
            let mut accounts = fs::read(&source)?;
            if accounts.last().is_some_and(|last| *last != b'\n') {
                accounts.push(b'\n');
            }
            accounts.extend_from_slice(line.as_bytes());
            let own = self.host_path(&format!("job/{name}"));
            fs::write(&own, accounts)?;
            let path = self.host_path(&format!("etc/{name}"));
            bind_mount(&own, &path)?;
            make_read_only(&path)?;
        }
        Ok(())
    }

    fn add_etc(&mut self, uid: u32) -> io::Result<()> {
        fs::create_dir(self.host_path("etc"))?;
        for name in ETC_ENTRIES {
            self.bind_read_only(&Path::new("/etc").join(name))?;
        }
        let own = match uid {
            0 => String::new(),
            uid => format!("sandbox:x:{uid}:{uid}::{SANDBOX_WORKSPACE}:/bin/sh\n"),
        };
        let group = if uid == 0 { String::new() } else { format!("sandbox:x:{uid}:\n") };
        let passwd = format!("root:x:0:0::{SANDBOX_WORKSPACE}:/bin/sh\n{own}");
        fs::write(self.host_path("etc/passwd"), passwd)?;
        fs::write(self.host_path("etc/group"), format!("root:x:0:\n{group}"))?;
        fs::write(self.host_path("etc/hosts"), "127.0.0.1 localhost sandbox\n::1 localhost\n")?;
        fs::write(
            self.host_path("etc/nsswitch.conf"),
            "passwd: files\ngroup: files\nhosts: files\n",
        )
    }

    fn add_devices_and_proc(&self) -> io::Result<()> {
        fs::create_dir(self.host_path("dev"))?;
        for name in DEVICES {
            let path = self.host_path(&format!("dev/{name}"));
            fs::write(&path, "")?;
            bind_mount(&Path::new("/dev").join(name), &path)?;
        }
        symlink("/proc/self/fd", self.host_path("dev/fd"))?;
        for (number, name) in ["stdin", "stdout", "stderr"].into_iter().enumerate() {
            symlink(format!("/proc/self/fd/{number}"), self.host_path(&format!("dev/{name}")))?;
        }
        let proc = self.host_path("proc");
        fs::create_dir(&proc)?;
        let flags = MsFlags::MS_NOSUID | MsFlags::MS_NODEV | MsFlags::MS_NOEXEC;
        mount(Some("proc"), &proc, Some("proc"), flags, None::<&str>)?;
        for switch in READ_ONLY_PROC.map(|name| proc.join(name)).iter().filter(|path| path.exists())
        {
            bind_mount(switch, switch)?;
            make_read_only(switch)?;
        }
        Ok(())
    }

    fn add_writable(&self, request: &SandboxRequest) -> io::Result<()> {
        let size_mib = request.limits.memory_mib.div_ceil(2);
        for name in ["tmp", "dev/shm"] {
            fs::create_dir(self.host_path(name))?;
            let options = format!("size={size_mib}m,nr_inodes={MAX_INODES},mode=1777");
            mount_tmpfs(&self.host_path(name), &options)?;
        }
        let cache = request.cache.as_ref().and_then(|cache| cache.directory.as_ref());
        let cache = cache.map(|directory| (directory, SANDBOX_CACHE));
        let own =
            [(&request.workspace, SANDBOX_WORKSPACE), (&request.artifacts, SANDBOX_ARTIFACTS)];
        for (host, inside) in own.into_iter().chain(cache) {
            let path = self.host_path(inside);
            fs::create_dir_all(&path)?;
            bind_mount(host, &path)?;
            remount(&path, MsFlags::MS_NOSUID | MsFlags::MS_NODEV)?;
        }
        Ok(())
    }

    /// Bind-mounts a file of the host; returns where it is mounted.
    fn bind_file(&self, host: &Path, inside: &str) -> io::Result<PathBuf> {
        let path = self.host_path(inside);
        fs::write(&path, "")?;
        bind_mount(host, &path)?;
        Ok(path)
    }

    fn add_file(&self, file: &SandboxFile) -> io::Result<()> {
        let mut options = OpenOptions::new();
        let mode = if file.is_executable { 0o755 } else { 0o644 };
        options.write(true).create_new(true).mode(mode);
        options.open(self.host_path(&file.path))?.write_all(file.content.as_bytes())
    }

    /// Bind-mounts a host file or directory at the same path, if it exists, to be made read-only before the pivot.
    fn bind_read_only(&mut self, host: &Path) -> io::Result<()> {
        let Ok(metadata) = fs::metadata(host) else { return Ok(()) };
        let path = self.host_path(&host.to_string_lossy());
        let mut directories = DirBuilder::new();
        directories.recursive(true).mode(0o755);
        if metadata.is_dir() {
            directories.create(&path)?;
        } else {
            directories.create(path.parent().unwrap_or(&self.path))?;
            fs::write(&path, "")?;
        }
        bind_mount(host, &path)?;
        self.read_only.push(path);
        Ok(())
    }

    /// Makes every mount of [`Self::bind_read_only`], and all that the host has mounted below it, read-only. The table of mounts
    /// is read once, because that takes longer than a mount.
    fn make_binds_read_only(&self) -> io::Result<()> {
        let is_bound = |mount: &PathBuf| self.read_only.iter().any(|path| mount.starts_with(path));
        mounts_under(&self.path)?
            .iter()
            .filter(|mount| is_bound(mount))
            .try_for_each(|m| make_read_only(m))
    }

    /// Pivots to the new root and detaches the old one.
    fn pivot(&self) -> io::Result<()> {
        chdir(&self.path)?;
        pivot_root(".", ".")?;
        umount2(".", MntFlags::MNT_DETACH)?;
        Ok(chdir("/")?)
    }
}

fn set_mount_flags(path: &str, flags: MsFlags) -> io::Result<()> {
    Ok(mount(None::<&str>, path, None::<&str>, flags, None::<&str>)?)
}

fn mount_tmpfs(path: &Path, options: &str) -> io::Result<()> {
    let flags = MsFlags::MS_NOSUID | MsFlags::MS_NODEV;
    mount(Some("tmpfs"), path, Some("tmpfs"), flags, Some(options)).map_err(with_path(path))
}

fn bind_mount(host: &Path, path: &Path) -> io::Result<()> {
    let flags = MsFlags::MS_BIND | MsFlags::MS_REC;
    mount(Some(host), path, None::<&str>, flags, None::<&str>).map_err(with_path(host))
}

fn make_read_only(path: &Path) -> io::Result<()> {
    remount(path, MsFlags::MS_RDONLY | MsFlags::MS_NOSUID | MsFlags::MS_NODEV)
}

/// Adds `flags` to a mount. Present flags must be repeated: a user namespace may not clear them.
fn remount(path: &Path, flags: MsFlags) -> io::Result<()> {
    let present = statvfs(path).map_err(with_path(path))?.flags();
    let kept = [
        (FsFlags::ST_RDONLY, MsFlags::MS_RDONLY),
        (FsFlags::ST_NOSUID, MsFlags::MS_NOSUID),
        (FsFlags::ST_NODEV, MsFlags::MS_NODEV),
        (FsFlags::ST_NOEXEC, MsFlags::MS_NOEXEC),
        (FsFlags::ST_NOATIME, MsFlags::MS_NOATIME),
        (FsFlags::ST_NODIRATIME, MsFlags::MS_NODIRATIME),
        (FsFlags::ST_RELATIME, MsFlags::MS_RELATIME),
    ];
    let kept = kept.into_iter().filter(|(has, _)| present.contains(*has));
    let all =
        kept.fold(flags | MsFlags::MS_REMOUNT | MsFlags::MS_BIND, |all, (_, flag)| all | flag);
    mount(None::<&str>, path, None::<&str>, all, None::<&str>).map_err(with_path(path))
}

/// Lists `path` and every mount point below it, from the kernel's mount table.
fn mounts_under(path: &Path) -> io::Result<Vec<PathBuf>> {
    let table = parse_mounts(&fs::read("/proc/self/mountinfo")?);
    let points = table.into_iter().map(|mount| mount.mount_point);
    Ok(points.filter(|point| point.starts_with(path)).collect())
}

fn with_path(path: &Path) -> impl FnOnce(nix::Error) -> io::Error {
    move |cause| io::Error::other(format!("{}: {cause}", path.display()))
}
