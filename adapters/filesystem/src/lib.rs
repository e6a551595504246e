//! The ports to the file system: `FileSystem` on the user's working trees, `Store` on the companion's own state
//! directory, and `LockProbe` on cgc's database files.
//!
//! Responsible for reading what the disk holds at the moment of the call and for keeping what was recorded. It must
//! never write into a workspace, run git or cgc, follow a link out of a workspace, or wait on anything but the disk.

mod baseline;
mod blocking;
mod bounded;
mod compare;
mod file_system;
mod git;
mod head;
mod languages;
mod links;
mod lock;
mod manifest_file;
mod path_text;
mod paths;
mod pattern;
mod record;
mod renames;
mod resolve;
mod rules;
mod scan;
mod stamp;
mod state;
mod store;
mod walk;

pub use file_system::SystemFileSystem;
pub use lock::PosixLockProbe;
pub use paths::state_directory;
pub use rules::IndexRules;
pub use store::FileStore;
