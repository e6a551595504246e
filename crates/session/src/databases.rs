//! Whose turn it is at each database.
//!
//! It must never let two workspaces work on one database at a time, and never forget a workspace that waits.

use std::collections::{BTreeMap, VecDeque};

use steward_lifecycle::Database;
use steward_ports::WorkspaceRoot;

/// A queue for each database; the first in it has the database.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Databases {
    queues: BTreeMap<Database, VecDeque<WorkspaceRoot>>,
}

impl Databases {
    /// Queues `workspace` and returns it if it has the database at once.
    pub(crate) fn acquire(&mut self, database: Database, workspace: WorkspaceRoot) -> Option<WorkspaceRoot> {
        let queue = self.queues.entry(database).or_default();
        if queue.contains(&workspace) {
            return None;
        }
        queue.push_back(workspace.clone());
        (queue.len() == 1).then_some(workspace)
    }

    /// Takes `workspace` out of the queue and returns who has the database next, if that changes.
    pub(crate) fn release(&mut self, database: &Database, workspace: &WorkspaceRoot) -> Option<WorkspaceRoot> {
        let queue = self.queues.get_mut(database)?;
        let had_it = queue.front() == Some(workspace);
        queue.retain(|waiting| waiting != workspace);
        let next = queue.front().cloned();
        if next.is_none() {
            self.queues.remove(database);
        }
        next.filter(|_| had_it)
    }
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::*;

    fn workspace(name: &str) -> WorkspaceRoot {
        WorkspaceRoot::from_canonical(PathBuf::from(name))
    }

    fn database() -> Database {
        Database::File(PathBuf::from("/db"))
    }

    #[test]
    fn a_database_has_one_user_at_a_time_and_the_next_follows() {
        let mut databases = Databases::default();

        assert_eq!(databases.acquire(database(), workspace("/a")), Some(workspace("/a")));
        assert_eq!(databases.acquire(database(), workspace("/b")), None);
        assert_eq!(databases.release(&database(), &workspace("/a")), Some(workspace("/b")));
        assert_eq!(databases.release(&database(), &workspace("/b")), None);
        assert_eq!(databases, Databases::default());
    }

    #[test]
    fn giving_up_the_place_in_the_queue_gives_the_database_to_nobody() {
        let mut databases = Databases::default();
        databases.acquire(database(), workspace("/a"));
        databases.acquire(database(), workspace("/b"));

        assert_eq!(databases.release(&database(), &workspace("/b")), None);
        assert_eq!(databases.release(&database(), &workspace("/a")), None);
    }

    #[test]
    fn asking_twice_is_asking_once() {
        let mut databases = Databases::default();
        databases.acquire(database(), workspace("/a"));

        assert_eq!(databases.acquire(database(), workspace("/a")), None);
        assert_eq!(databases.release(&database(), &workspace("/a")), None);
    }
}
