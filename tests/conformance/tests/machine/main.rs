//! The machine world: scenarios and trials played on fakes and a manual clock.
//!
//! It must never start a process or read a clock.

mod lifecycle;
mod lifecycle_trials;
