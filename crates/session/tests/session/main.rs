//! The application machine from outside: who is resolved, who pays, what ends when.
//!
//! Responsible for what only the composition shows. The scenarios are played in `tests/conformance`.

mod ending;
mod support;
