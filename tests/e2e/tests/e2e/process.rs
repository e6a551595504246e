//! Real daemon, guard and hook processes, with the stand-in for cgc.

mod bad_input;
mod bad_surroundings;
mod kill;
mod lifecycle;
mod lifecycle_ends;
mod support;
mod trials;
