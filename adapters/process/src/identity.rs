//! Who a process is: its number, its start time, and the boot that both belong to.
//!
//! It must never signal anything.

use std::fs;
use std::io;

use steward_guard::process_table;
use steward_ports::ProcessIdentity;

/// The id of this boot of the machine.
pub(crate) fn boot_id() -> io::Result<String> {
    let text = fs::read_to_string("/proc/sys/kernel/random/boot_id")?;
    Ok(text.trim().to_owned())
}

/// The identity of the live process `pid`, `None` where there is none (a zombie counts as none).
pub(crate) fn of(pid: u32) -> io::Result<Option<ProcessIdentity>> {
    let Some(stat) = process_table::read(pid)?.filter(|stat| stat.is_alive) else {
        return Ok(None);
    };
    Ok(Some(ProcessIdentity { pid, start_time: stat.start_time, boot_id: boot_id()? }))
}

/// Whether `process` still lives.
pub(crate) fn is_alive(process: &ProcessIdentity) -> io::Result<bool> {
    Ok(of(process.pid)?.as_ref() == Some(process))
}
