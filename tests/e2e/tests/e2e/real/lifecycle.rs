//! `docs/spec/lifecycle.feature` with the real cgc.

use std::time::Duration;

use steward_e2e::World;

const BOUND: Duration = Duration::from_mins(2);

#[test]
fn lc_05_a_missing_index_is_created_in_the_background() {
    let mut world = World::with_real_cgc();
    world.set("CGC_LIFECYCLE_AUTO_CREATE", "true");
    let repository = world.repository("repo");
    repository.write_python("a.py", &["one", "two"]);
    let mut harness = world.harness(repository.root());

    harness.session_starts("startup");
    world.wait_for_status(repository.root(), "the index to run", BOUND, |status| {
        status["activity"]["name"] == "indexing"
    });
    harness.human_prompts("Go.");
    let status = world.wait_for_state(repository.root(), "clean", BOUND);
    harness.leaves();

    assert_eq!(status["receipt"]["files"], 1);
    assert_eq!(status["receipt"]["cgcVersion"], "0.6.13");
    assert_eq!(status["backend"]["name"], "kuzudb");
    assert_eq!(world.functions_in_graph(repository.root()), ["one", "two"]);
}
