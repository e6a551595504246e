//! The resolver through its public interface.
//!
//! It must never reach past that interface.

mod layers;
mod support;
mod values;
