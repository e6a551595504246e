//! Sequences of events that no table thinks of: answers in any order, late, doubled, and of every kind.
//!
//! It must never assert on anything but what holds for all of them.

mod world;

use proptest::collection::vec;
use proptest::prelude::*;
use steward_ports::JobKind;

use self::world::{Step, Temper, World};
use crate::support::*;

fn step() -> impl Strategy<Value = Step> {
    let job = prop_oneof![Just(JobKind::Index), Just(JobKind::Sync), Just(JobKind::Rebuild)];
    prop_oneof![
        3 => (0..3u8).prop_map(Step::Join),
        1 => (0..3u8).prop_map(Step::Replace),
        2 => (0..3u8).prop_map(Step::Leave),
        2 => Just(Step::Edit),
        3 => (0..3u8).prop_map(Step::Look),
        1 => (0..3u8).prop_map(Step::Sync),
        1 => Just(Step::Consult),
        3 => (job, 0..3u64).prop_map(|(job, client)| Step::Request(job, client)),
        1 => (0..3u64).prop_map(Step::ClientLeaves),
        6 => Just(Step::Grant),
        24 => (0..4usize, 0..24usize, prop::bool::weighted(0.1))
            .prop_map(|(which, how, is_doubled)| Step::Answer { which, how, is_doubled }),
        1 => (0..4usize).prop_map(Step::LateAnswer),
        2 => Just(Step::Deadline),
    ]
}

fn temper() -> impl Strategy<Value = Temper> {
    prop_oneof![Just(Temper::Obedient), Just(Temper::Deaf)]
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn lc_13_after_the_last_session_nothing_is_left(
        steps in vec(step(), 0..80),
        auto_create: bool,
        sync_on_start: bool,
        temper in temper(),
    ) {
        let mut world = World::new(terms(auto_create, sync_on_start));
        for step in steps {
            world.take(step);
        }

        for number in 0..3 {
            world.take(Step::ClientLeaves(u64::from(number)));
            world.take(Step::Leave(number));
        }
        world.settle(temper);

        world.assert_at_rest();
        prop_assert!(world.lifecycle.is_abandoned());
    }

    #[test]
    fn lc_13_after_a_shutdown_nothing_is_left(
        steps in vec(step(), 0..80),
        later in vec(step(), 0..20),
        auto_create: bool,
        temper in temper(),
    ) {
        let mut world = World::new(terms(auto_create, true));
        for step in steps {
            world.take(step);
        }

        world.take(Step::Shutdown);
        for step in later {
            world.take(step);
        }
        world.settle(temper);

        world.assert_at_rest();
    }

    #[test]
    fn a_live_session_comes_to_rest_as_well(steps in vec(step(), 0..80), auto_create: bool, temper in temper()) {
        let mut world = World::new(terms(auto_create, true));
        world.take(Step::Join(0));
        for step in steps {
            world.take(step);
        }

        world.settle(temper);

        world.assert_at_rest();
    }
}
