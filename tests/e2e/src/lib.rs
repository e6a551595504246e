//! What the end-to-end tests stand on: a world with its own home, repositories, a cgc and harness processes.
//!
//! It must never touch the developer's own home, and it fails the test over whatever is left running.
#![expect(clippy::unwrap_used, reason = "only tests use this, and a test fails by panicking")]

pub mod exchange;

mod cgc;
mod disk;
mod graph;
mod harness;
mod repository;
mod world;

pub use cgc::{Cgc, RealCgc};
pub use disk::{content, lock_holder};
pub use harness::{Harness, HookRun};
pub use repository::Repository;
pub use world::World;
