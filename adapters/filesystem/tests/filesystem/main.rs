//! Tests of the file system adapters on the real file system, in scratch directories.
//!
//! They must never touch a file outside of their scratch directories.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod discovery;
mod drift;
mod drift_model;
mod lock;
mod store;
mod store_fixture;
mod support;
mod workspace;
