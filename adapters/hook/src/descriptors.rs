//! Descriptors that the harness did not mean to hand over.
//!
//! It must never be called once the process has opened anything of its own.

use std::os::fd::RawFd;

/// Closes every descriptor from 3 on, to be called before anything else.
///
/// A daemon that this process starts would inherit them, and a harness that reads such a pipe to its end would wait for
/// the daemon's. std marks what it opens itself as close-on-exec.
pub(crate) fn close_inherited() {
    // Without /proc the first few hundred are closed blindly; a leak is far more likely there than higher up.
    let open = listed().unwrap_or_else(|_| (3..256).collect());
    for descriptor in open.into_iter().filter(|descriptor| *descriptor > 2) {
        // The listing's own descriptor is among them and already closed; nothing else can fail.
        let _already_closed = nix::unistd::close(descriptor);
    }
}

fn listed() -> std::io::Result<Vec<RawFd>> {
    let mut open = Vec::new();
    for entry in std::fs::read_dir("/proc/self/fd")? {
        let name = entry?.file_name();
        open.extend(name.to_str().and_then(|text| text.parse::<RawFd>().ok()));
    }
    Ok(open)
}
