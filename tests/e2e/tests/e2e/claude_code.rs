//! A real Claude Code with our hooks installed, offline, and a stand-in or the real cgc.

mod lifecycle;
mod lifecycle_ends;
mod support;
