//! The `Runner` and `ProcessWatch` ports on Linux.
//!
//! Responsible for running programs in process groups that leave nothing behind, whoever is killed in whatever order,
//! and for learning of the end of processes that are not ours. It must never decide when to stop a program, never wait
//! for a program's output, and never signal a number that it cannot prove to be the process it means.
//!
//! # How nothing is left
//!
//! Each group is led by a `steward-guard`, started here and told to go on only once the ledger names it.
//!
//! | who dies | what ends the group |
//! |---|---|
//! | the program | its guard, which kills what the program left behind, then ends |
//! | the daemon | its guard, which sees the end of its socket: INT, and by the orphan grace TERM and KILL |
//! | the guard | the kernel kills the program; the daemon kills the group and what carries the group's marker |
//! | daemon and guard | the kernel kills the program; the next daemon sweeps the rest by the ledger |
//!
//! The order after a guard's end is peek, kill, reap: its death is seen without reaping it, the group is killed while
//! the zombie keeps the group's number from being reused, and the zombie goes last.

#![warn(clippy::wildcard_enum_match_arm)]

mod capture;
mod exit_watch;
mod group;
mod identity;
mod launch;
mod ledger;
mod lines;
mod mailbox;
mod marker;
mod pidfd;
mod process_watch;
mod pump;
mod remains;
mod reports;
mod runner;
mod supervisor;
mod sweep;

pub use process_watch::PidfdWatch;
pub use runner::ProcessRunner;
pub use steward_guard::close_inherited_descriptors;
