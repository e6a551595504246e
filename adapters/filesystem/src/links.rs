//! Files that only a symbolic link makes part of the graph.
//!
//! cgc 0.6.13 follows a link to a file and stores the node under the target's path. So a link counts as its target,
//! where the target lies in the workspace, is not left out and has a name that cgc alone would not look at. It must
//! never look at a target outside of the workspace, nor into a directory behind a link, which cgc does not enter either.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use rustix::fs::{CWD, Mode, OFlags, openat};
use rustix::io::Errno;
use steward_ports::FileKind;

use crate::languages::kind_of_name;
use crate::rules::IndexRules;

/// Returns the files that `links` add to the graph, by their path relative to the canonical directory `root`.
pub(crate) fn resolve(root: &Path, rules: &IndexRules, links: &[PathBuf]) -> BTreeMap<PathBuf, FileKind> {
    let mut targets: BTreeMap<PathBuf, FileKind> = BTreeMap::new();
    for link in links {
        let Some((target, kind)) = target_of(root, rules, link) else {
            continue;
        };
        // `Parsed` comes first: a target with two links is parsed if one of them says so.
        targets.entry(target).and_modify(|known| *known = (*known).min(kind)).or_insert(kind);
    }
    targets
}

fn target_of(root: &Path, rules: &IndexRules, link: &Path) -> Option<(PathBuf, FileKind)> {
    let kind = kind_of_name(link.file_name()?.as_bytes())?;
    let canonical = root.join(link).canonicalize().ok()?;
    let target = canonical.strip_prefix(root).ok()?;
    // A target with a name of its own in the graph is there already.
    let is_new = kind_of_name(target.file_name()?.as_bytes()).is_none() && rules.keeps(target);
    (is_new && canonical.is_file()).then(|| (target.to_owned(), kind))
}

/// Opens the directory of `path`, which is relative to `root`, without following a link; returns it with the name in
/// it. `None` where the directory is gone.
pub(crate) fn open_parent(root: &Path, path: &Path) -> io::Result<Option<(OwnedFd, OsString)>> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let open = |parent: &dyn std::os::fd::AsFd, name: &OsStr| openat(parent.as_fd(), name, flags, Mode::empty());
    let Some(name) = path.file_name() else {
        return Ok(None);
    };
    let mut directory = open(&CWD, root.as_os_str());
    for component in path.parent().into_iter().flat_map(Path::components) {
        directory = directory.and_then(|directory| open(&directory, component.as_os_str()));
    }
    match directory {
        Ok(directory) => Ok(Some((directory, name.to_owned()))),
        Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) => Ok(None),
        Err(errno) => Err(errno.into()),
    }
}
