//! Whether what the graph holds is what the working tree holds.
//!
//! It must never take an exit code for a proof: cgc exits 0 after doing nothing (cgc 0.6.13).

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use steward_ports::{Comparison, FileKind, Inventory, Manifest};

/// What asking the graph after a job showed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Proof {
    /// The graph holds exactly the files of the manifest, and symbols where there is code.
    Holds,
    /// Files of code are there and not a single symbol: the grammars are missing.
    NoSymbols,
    /// The files differ.
    FilesDiffer {
        /// Files of the tree that the graph lacks.
        missing: Vec<PathBuf>,
        /// Files of the graph that the tree lacks.
        surplus: Vec<PathBuf>,
    },
}

/// Compares `inventory` with `manifest`. Files that `recheck` found to have changed while the job ran prove nothing
/// either way and are left out.
///
/// cgc stores a synthetic function for every file that it parsed, so no function at all with parsed files present
/// means that nothing was parsed (cgc 0.6.13).
pub fn prove(manifest: &Manifest, inventory: &Inventory, recheck: &Comparison) -> Proof {
    let parsed = manifest.entries.iter().any(|entry| entry.kind == FileKind::Parsed);
    if parsed && inventory.counts.functions == 0 && inventory.counts.classes == 0 {
        return Proof::NoSymbols;
    }
    let unsettled = unsettled_paths(recheck);
    let expected: BTreeSet<&Path> = manifest.entries.iter().map(|entry| entry.path.as_path()).collect();
    let held: BTreeSet<&Path> = inventory.files.iter().map(PathBuf::as_path).collect();
    let differing = |from: &BTreeSet<&Path>, to: &BTreeSet<&Path>| -> Vec<PathBuf> {
        from.difference(to).filter(|path| !unsettled.contains(**path)).map(|path| path.to_path_buf()).collect()
    };
    let missing = differing(&expected, &held);
    let surplus = differing(&held, &expected);
    if missing.is_empty() && surplus.is_empty() { Proof::Holds } else { Proof::FilesDiffer { missing, surplus } }
}

/// Returns `manifest` without the files that changed while the job ran: whether cgc read them before or after is
/// unknown, so the next comparison must find them as added.
pub(crate) fn settled_part(manifest: &Manifest, recheck: &Comparison) -> Manifest {
    let unsettled = unsettled_paths(recheck);
    let entries = manifest.entries.iter().filter(|entry| !unsettled.contains(entry.path.as_path())).cloned().collect();
    Manifest { entries, taken_at: manifest.taken_at }
}

fn unsettled_paths(recheck: &Comparison) -> BTreeSet<&Path> {
    let difference = &recheck.difference;
    let renamed = difference.renamed.iter().flat_map(|rename| [&rename.from, &rename.to]);
    [&difference.edited, &difference.added, &difference.deleted, &recheck.touched]
        .into_iter()
        .flatten()
        .chain(renamed)
        .map(PathBuf::as_path)
        .collect()
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;
    use crate::samples::{inventory, manifest, recheck};

    #[rstest]
    #[case::equal(&["a.py"], &["a.py"], 1, &[], Proof::Holds)]
    #[case::no_symbols(&["a.py"], &["a.py"], 0, &[], Proof::NoSymbols)]
    #[case::an_old_name_stays(
        &["b.py"], &["a.py"], 1, &[],
        Proof::FilesDiffer { missing: vec!["b.py".into()], surplus: vec!["a.py".into()] }
    )]
    #[case::changed_meanwhile(&["a.py", "b.py"], &["a.py"], 1, &["b.py"], Proof::Holds)]
    fn the_graph_is_held_against_the_tree(
        #[case] tree: &[&str],
        #[case] graph: &[&str],
        #[case] functions: u64,
        #[case] changed: &[&str],
        #[case] expected: Proof,
    ) {
        assert_eq!(prove(&manifest(tree), &inventory(graph, functions), &recheck(changed)), expected);
    }

    #[test]
    fn a_file_that_changed_during_the_job_is_not_vouched_for() {
        let settled = settled_part(&manifest(&["a.py", "b.py"]), &recheck(&["b.py"]));

        assert_eq!(settled, manifest(&["a.py"]));
    }
}
