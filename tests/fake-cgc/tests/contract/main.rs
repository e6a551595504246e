//! One table of cases, run against the stand-in and against the real cgc 0.6.13, so that the one cannot drift from the
//! other. What is compared is what the companion is told and what happens to files, not texts.
//!
//! It must never skip: without the real cgc, which `cargo xtask test` provides, its half fails.

#![expect(clippy::unwrap_used, reason = "helpers of tests")]

mod cases;
mod world;

/// Declares each case once for either program.
macro_rules! contract {
    ($($case:ident),+ $(,)?) => {
        mod fake {
            use super::cases;
            use super::world::World;
            $(#[test] fn $case() { cases::$case(&World::fake()); })+
        }

        mod real {
            use super::cases;
            use super::world::World;
            $(#[test] fn $case() { cases::$case(&World::real()); })+
        }
    };
}

contract!(
    contract_an_installation_is_found_with_its_version,
    contract_a_first_index_works_and_leaves_its_files,
    contract_an_unchanged_tree_is_skipped,
    contract_changes_deletions_and_renames_are_skipped,
    contract_an_added_file_brings_everything_in_and_takes_nothing_out,
    contract_a_reconcile_makes_the_graph_equal_to_the_tree,
    contract_a_reconcile_of_an_unindexed_tree_indexes_it,
    contract_a_replaced_function_shows_though_every_count_is_the_same,
    contract_a_rebuild_leaves_nothing_over,
    contract_an_unindexed_workspace_is_not_known,
    contract_names_survive_the_answer,
    contract_a_read_changes_the_files_times,
    contract_a_held_database_is_busy,
    contract_a_killed_index_leaves_a_part_that_looks_whole_to_the_next,
    contract_an_interrupted_index_ends_by_itself,
    contract_a_reconcile_that_is_stopped_early_is_none,
    contract_a_garbled_header_is_corruption,
    contract_a_truncated_database_is_corruption,
    contract_a_database_set_aside_makes_room_for_a_new_one,
    contract_missing_grammars_are_told,
    contract_an_unknown_context_fails,
    contract_a_vanished_workspace_fails,
    contract_a_repository_keeps_its_own_graph_in_per_repository_mode,
    contract_ladybug_is_indexed_reconciled_and_asked,
    contract_a_killed_ladybug_index_is_corruption,
    contract_the_doctor_is_content_with_a_corrupt_database,
);
