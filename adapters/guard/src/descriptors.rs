//! Descriptors that a process was handed without wanting them.
//!
//! It must never be called once the process has opened anything of its own.

use std::os::fd::RawFd;

/// Closes every descriptor from 3 on, to be called first thing in `main`.
///
/// A harness may leak its pipes into everything that it starts, and whoever reads such a pipe to its end waits for
/// every process that still holds it. std marks what it opens itself as close-on-exec, so only inherited descriptors
/// are concerned.
pub fn close_inherited_descriptors() {
    // Without /proc the first few hundred are closed blindly; a leak is far more likely there than higher up.
    let open = listed_descriptors().unwrap_or_else(|_| (3..256).collect());
    for descriptor in open.into_iter().filter(|descriptor| *descriptor > 2) {
        // The listing's own descriptor is among them and already closed; nothing else can fail.
        let _already_closed = nix::unistd::close(descriptor);
    }
}

fn listed_descriptors() -> std::io::Result<Vec<RawFd>> {
    let mut open = Vec::new();
    for entry in std::fs::read_dir("/proc/self/fd")? {
        let name = entry?.file_name();
        open.extend(name.to_str().and_then(|text| text.parse::<RawFd>().ok()));
    }
    Ok(open)
}
