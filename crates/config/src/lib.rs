//! The settings: their keys, their layers, and where each value comes from.
//!
//! Responsible for turning what the layers say into [`Settings`]: defaults, then the user's file, then the project's
//! file, then the environment, each key for itself. It must never read a file or the environment (their content comes
//! in as values), fail because of what a layer holds, or let a project file start something that the user has not
//! trusted: a bad value is a [`Warning`] and the lower layer's value stands.

mod check;
mod file;
mod key;
mod layers;
mod resolve;
mod settings;
mod warning;

pub use key::{KEYS, Key, Kind, MAXIMUM_MILLISECONDS};
pub use layers::{FileContent, FileLayer, Layers, MAXIMUM_FILE, PROJECT_FILE, user_file};
pub use resolve::{Resolved, resolve};
pub use settings::{
    CgcSettings, CliGapSettings, DaemonSettings, EngineChoice, FreshnessSettings, GuidanceSettings, LifecycleSettings,
    OutputSettings, ProactiveSettings, ReadBarrier, Settings, SyncSettings, ToolsSettings, WatchMode, WorktreeMode,
    WorktreeSettings,
};
pub use warning::{Origin, Warning};
