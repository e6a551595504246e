//! Test doubles for every port: mocks that assert on one call, and strict fakes that behave.
//!
//! A fake panics where a test leaves the script, because a fake that forgives hides the defect it was to find. Nothing
//! here may touch the operating system, read a clock or run a thread: a test that uses it is deterministic.
//!
//! The mocks of [`mocks`] serve tests of `perform`; everything else is tested with the fakes, which survive a change in
//! the order of calls.

mod clock;
mod consent;
mod files;
mod graph;
mod locks;
pub mod mocks;
mod processes;
mod runner;
mod script;
mod store;
mod surfaces;

pub use clock::ManualClock;
pub use consent::ScriptedConsent;
pub use files::MemoryFs;
pub use graph::{DATABASE, EXECUTABLE, FakeGraph, PROGRESS_LINE, READY_LINE, STARTED_LINE};
pub use locks::FakeLocks;
pub use processes::FakeProcesses;
pub use runner::{ScriptedRunner, StopRecord};
pub use script::{Gate, Script, ScriptStep};
pub use store::{MemoryStore, StoreCall};
pub use surfaces::{RecordingInjector, RecordingNotifier};
