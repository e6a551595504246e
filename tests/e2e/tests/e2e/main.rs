//! The end-to-end tests, one module for each world of `docs/spec/worlds.toml`.

mod claude_code;
mod process;
mod real;
