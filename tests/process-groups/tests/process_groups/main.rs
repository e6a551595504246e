//! Real processes, killed in every order. Nothing may be left, and nothing may be killed that is not ours.

mod runner;
mod support;
mod sweep;
