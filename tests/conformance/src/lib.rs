//! A simulated world around the real machines: harnesses, clients, a working tree, a cgc and a clock under one hand.
//!
//! Responsible for playing scenarios deterministically: everything that can happen happens in the order in which it was
//! asked for, and time stands still until a test moves it. It must never know what a scenario expects.

mod cgc;
mod world;

pub use cgc::{index, inventory, reconcile, whole_index};
pub use world::{Harness, ROOT, World};
