//! What is read before anything is decided.

use super::*;

/// Sets up the three reads that an inspection is made of.
fn inspecting(record: Record) -> Mocks {
    let mut mocks = Mocks::default();
    mocks.graph.expect_inspect().with(eq(terms(false, true).query)).return_once(|_| Ok(facts()));
    mocks
        .store
        .expect_load()
        .withf(|workspace, database| *workspace == root() && *database == Some(Path::new(DATABASE)))
        .return_once(|_, _| Ok(record));
    mocks.locks.expect_holder().with(eq(Path::new(DATABASE))).return_once(|_| Ok(LockState::Free));
    mocks
}

#[test]
fn an_inspection_reads_cgcs_files_the_record_and_the_lock() {
    let event = inspecting(trusted_record()).perform(inspect());

    assert_eq!(event, Some(Event::Inspected(Box::new(trusted()))));
}

#[test]
fn without_cgc_there_is_still_a_record() {
    let mut mocks = Mocks::default();
    let missing = GraphToolError::Missing { executable: PathBuf::from("cgc") };
    mocks.graph.expect_inspect().return_once(|_| Err(missing));
    mocks.store.expect_load().withf(|_, database| database.is_none()).return_once(|_, _| Ok(Record::default()));

    let Some(Event::Inspected(found)) = mocks.perform(inspect()) else { panic!("it was inspected") };

    assert_eq!(found.facts, Err(Problem("no executable `cgc` on the search path".to_owned())));
    assert_eq!((found.lock, found.problems), (None, vec![]));
}

#[test]
fn cgcs_files_that_cannot_be_read_are_a_failed_inspection() {
    let mut mocks = Mocks::default();
    mocks.graph.expect_inspect().return_once(|_| Err(no_cgc_files()));

    let event = mocks.perform(inspect());

    assert_eq!(event, Some(Event::InspectionFailed(problem("/home/.env cannot be read"))));
}

#[test]
fn a_record_and_a_lock_that_cannot_be_read_are_problems_and_no_failure() {
    let mut mocks = Mocks::default();
    mocks.graph.expect_inspect().return_once(|_| Ok(facts()));
    mocks.store.expect_load().return_once(|_, _| Err(no_store()));
    let unreadable = LockProbeError::Unreadable { database: PathBuf::from(DATABASE), source: denied() };
    mocks.locks.expect_holder().return_once(|_| Err(unreadable));

    let Some(Event::Inspected(found)) = mocks.perform(inspect()) else { panic!("it was inspected") };

    assert_eq!((found.record, found.lock), (Record::default(), None));
    let lock = format!("the lock of {DATABASE} cannot be read");
    assert_eq!(found.problems, [problem("the state file /state cannot be used"), problem(&lock)]);
}

#[rstest]
#[case::own(own_process(), None, false)]
#[case::alive(other_process(), Some(other_process()), true)]
#[case::gone(other_process(), None, false)]
#[case::its_number_is_reused(other_process(), Some(ProcessIdentity { start_time: 99, ..other_process() }), false)]
fn an_intent_is_foreign_while_its_companion_lives(
    #[case] owner: ProcessIdentity,
    #[case] found: Option<ProcessIdentity>,
    #[case] expected: bool,
) {
    let mut record = trusted_record();
    let mut intent = intent(JobKind::Sync);
    let record_owner = owner.clone();
    intent.owner = owner;
    record.intent = Some(intent);
    let mut mocks = inspecting(record);
    // Nobody looks for the companion's own process.
    if record_owner != own_process() {
        mocks.processes.expect_identify().with(eq(200)).return_once(|_| Ok(found));
    }

    let Some(Event::Inspected(found)) = mocks.perform(inspect()) else { panic!("it was inspected") };

    assert_eq!(found.intent_is_foreign, expected);
}

fn other_process() -> ProcessIdentity {
    ProcessIdentity { pid: 200, start_time: 2, boot_id: "boot".to_owned() }
}
