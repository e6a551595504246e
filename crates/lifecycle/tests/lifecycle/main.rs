//! The lifecycle against its ports: tables, sequences of events, and one test for each task.
//!
//! Responsible for what no single module shows: the machine through its public face. It must never look inside.

mod assess;
mod grammars;
mod machine;
mod perform;
mod questions;
mod requests;
mod sequences;
mod steps;
mod support;
