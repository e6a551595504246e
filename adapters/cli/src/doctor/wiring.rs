//! Who calls whom: the companion's hooks in Claude Code, and cgc's hooks in git.
//!
//! It must never judge hooks that belong to others.

use std::path::{Path, PathBuf};

use steward_ports::{FileText, WorkspaceKind};

use super::Subject;
use super::finding::Finding;
use crate::install::{Wiring, user_settings, wanted, wiring};
use crate::plain::{plain, shown};

/// No settings file and no git hook is larger, in bytes.
const LIMIT: u64 = 16 << 20;

/// What cgc 0.6.13 writes into each git hook that it installs.
const CGC_HOOK_MARK: &str = "CGC_MANAGED_HOOK";

pub(super) async fn look(subject: &Subject<'_>) -> Vec<Finding> {
    let mut findings = vec![claude_code(subject).await];
    findings.extend(doubled(subject).await);
    findings.extend(git_hooks(subject).await);
    findings
}

async fn claude_code(subject: &Subject<'_>) -> Finding {
    const CHECK: &str = "Claude Code";
    const INSTALL: &str = "`steward install claude-code` wires it.";
    let path = match user_settings(&subject.surroundings.environment) {
        Ok(path) => path,
        Err(error) => return Finding::warn(CHECK, error.to_string(), "Set HOME."),
    };
    let Some(text) = read(subject, &path).await else {
        return Finding::warn(CHECK, format!("{} is not there or cannot be read", shown(&path)), INSTALL);
    };
    let program = subject.surroundings.executable().map(wanted);
    match (wiring(&text), program) {
        (Ok(Wiring { disabled: true, .. }), _) => Finding::warn(
            CHECK,
            format!("{} turns all hooks off", shown(&path)),
            "Remove disableAllHooks, or the companion is not heard.",
        ),
        (Ok(Wiring { entries, .. }), Ok(wanted)) if entries == wanted => {
            Finding::ok(CHECK, format!("wired in {}", shown(&path)))
        }
        (Ok(Wiring { entries, .. }), _) if entries.is_empty() => {
            Finding::warn(CHECK, format!("not wired in {}", shown(&path)), INSTALL)
        }
        (Ok(_), _) => Finding::warn(
            CHECK,
            format!("{} holds other entries than this version writes", shown(&path)),
            "`steward install claude-code` replaces them.",
        ),
        (Err(error), _) => Finding::warn(CHECK, format!("{}: {error}", shown(&path)), "Mend the file."),
    }
}

/// Claude Code adds the hooks of all its settings files up, so entries in a second one run a second time.
async fn doubled(subject: &Subject<'_>) -> Vec<Finding> {
    let root = subject.resolution.workspace.root.as_path();
    let mut findings = Vec::new();
    for name in [".claude/settings.json", ".claude/settings.local.json"] {
        let path = root.join(name);
        let text = read(subject, &path).await.unwrap_or_default();
        if wiring(&text).is_ok_and(|wiring| !wiring.entries.is_empty()) {
            findings.push(Finding::warn(
                "Claude Code",
                format!("{} wires the companion too", shown(&path)),
                "Remove its entries there; the user settings are enough.",
            ));
        }
    }
    findings
}

async fn git_hooks(subject: &Subject<'_>) -> Option<Finding> {
    let common = match &subject.resolution.workspace.kind {
        WorkspaceKind::Repository { common_directory, .. } => common_directory,
        WorkspaceKind::Plain | WorkspaceKind::Forbidden => return None,
    };
    let mut managed = Vec::new();
    for name in ["post-commit", "post-checkout"] {
        let path = common.join("hooks").join(name);
        if read(subject, &path).await.is_some_and(|text| text.contains(CGC_HOOK_MARK)) {
            managed.push(plain(name));
        }
    }
    Some(if managed.is_empty() {
        Finding::ok("git hooks", "none of cgc's")
    } else {
        Finding::warn(
            "git hooks",
            format!("cgc's {} run `cgc update`, which deletes the graph and builds it anew", managed.join(" and ")),
            "`cgc hook uninstall` removes them; the companion keeps the graph up to date without.",
        )
    })
}

async fn read(subject: &Subject<'_>, path: &Path) -> Option<String> {
    let path: PathBuf = path.to_owned();
    match subject.ports.files.read_text(&path, LIMIT).await {
        Ok(FileText::Text(text)) => Some(text),
        Ok(FileText::Absent) | Err(_) => None,
    }
}
