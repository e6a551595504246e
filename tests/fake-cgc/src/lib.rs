//! Puts the scripted cgc into a directory, tells it how to behave, and reads what it was asked to do.
//!
//! Responsible for the test's side of the stand-in; `main.rs` is the stand-in itself. It must never decide what a test
//! expects, and never depend on the crates that drive cgc: it stands for the other side.

mod calls;
mod install;
mod script;

pub use calls::{Call, CallLog};
pub use install::Install;
pub use script::{Behaviour, Command, Rule, Script};
