//! How the simulated cgc carries out each command when all goes well.
//!
//! It must never do better than the real one: an index only adds what it finds, a reconcile ends only when interrupted.

use std::path::Path;
use std::sync::Arc;

use steward_doubles::{FakeGraph, Gate, MemoryFs, READY_LINE, STARTED_LINE, Script};
use steward_ports::{Exit, Stop};

/// `cgc index` of `root`, held up at `gate` before it reads the tree.
pub fn index(graph: &Arc<FakeGraph>, files: &Arc<MemoryFs>, root: &Path, gate: &Gate) -> Script {
    whole_index("index", graph, files, root, gate)
}

/// A whole build of the graph of `root` under the name of `command`, held up at `gate` before it reads the tree.
pub fn whole_index(command: &str, graph: &Arc<FakeGraph>, files: &Arc<MemoryFs>, root: &Path, gate: &Gate) -> Script {
    let build = build(graph, files, root, true);
    Script::command(&[command]).says(STARTED_LINE).pauses(gate).does(build).ends(Exit::Code(0))
}

/// `cgc watch --sync-on-start` of `root`, held up at `gate` before it reads the tree and stopped at its ready line.
pub fn reconcile(graph: &Arc<FakeGraph>, files: &Arc<MemoryFs>, root: &Path, gate: &Gate) -> Script {
    let build = build(graph, files, root, false);
    let script = Script::command(&["reconcile"]).says(STARTED_LINE).pauses(gate).does(build);
    script.says(READY_LINE).awaits(Stop::Interrupt).ends(Exit::Code(0))
}

/// A question about what the graph holds.
pub fn inventory() -> Script {
    Script::command(&["inventory"]).ends(Exit::Code(0))
}

fn build(
    graph: &Arc<FakeGraph>,
    files: &Arc<MemoryFs>,
    root: &Path,
    is_whole_index: bool,
) -> impl FnOnce() + Send + 'static {
    let (graph, files, root) = (Arc::clone(graph), Arc::clone(files), root.to_path_buf());
    move || graph.hold(&root, &files.manifest(&root), is_whole_index)
}
