//! The first stage: the process that leads the group.
//!
//! It must never end while a descendant lives, except by killing itself together with its group, and never be ended
//! silently by a signal that was meant for the program.

use std::fs::{File, OpenOptions};
use std::io::{self, PipeReader, Read, Write};
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::process::{Command, ExitCode};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::process::{
    Pid, Signal, WaitOptions, WaitStatus, getpgrp, getpid, kill_current_process_group, set_child_subreaper, setpgid,
    wait,
};
use signal_hook::consts::signal::{
    SIGALRM, SIGCHLD, SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGTSTP, SIGTTIN, SIGTTOU, SIGUSR1, SIGUSR2,
};

use crate::arguments::{ExecArguments, RunArguments};
use crate::descriptors::close_inherited_descriptors;
use crate::escalation::{Escalation, Step};
use crate::process_table;
use crate::protocol::{Report, Request};

/// Leads the group until nothing of it is left.
pub(crate) fn run(arguments: &RunArguments) -> ExitCode {
    close_inherited_descriptors();
    let Ok(lifeline) = lead_group().and_then(|()| take_lifeline()) else {
        return ExitCode::FAILURE;
    };
    let mut reports = lifeline.try_clone();
    match supervise(arguments, lifeline) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            if let Ok(reports) = &mut reports {
                let failed = Report::Failed(error.raw_os_error().unwrap_or(0));
                // A daemon that cannot be told is gone.
                let _daemon_is_gone = reports.write_all(&failed.encode());
            }
            // Whatever was started dies with the group.
            let _died = kill_current_process_group(Signal::KILL);
            ExitCode::FAILURE
        }
    }
}

/// How long the guard goes on killing before it takes the whole group down, itself included.
const KILL_PATIENCE: Duration = Duration::from_secs(2);
/// How often it looks for new descendants meanwhile, where none has ended.
const KILL_INTERVAL: Duration = Duration::from_millis(20);

fn supervise(arguments: &RunArguments, lifeline: UnixStream) -> io::Result<()> {
    let wakeups = catch_signals()?;
    set_child_subreaper(Some(getpid()))?;
    let mut guard = Guard {
        lifeline,
        wakeups,
        launch: None,
        program: None,
        escalation: Escalation::new(arguments.orphan_grace),
        has_ended: false,
    };
    if !guard.is_told_to_start()? {
        return Ok(());
    }
    guard.start_program(arguments)?;
    guard.watch()?;
    guard.end_descendants()
}

/// Makes the guard the leader of a group, which it is already where the daemon started it: signals to a group that it
/// shares with others would hit them too.
fn lead_group() -> io::Result<()> {
    if getpgrp() != getpid() {
        setpgid(None, None)?;
    }
    Ok(())
}

/// Takes the socket off descriptor 0, so that no child can inherit it.
fn take_lifeline() -> io::Result<UnixStream> {
    let lifeline = io::stdin().as_fd().try_clone_to_owned()?;
    rustix::stdio::dup2_stdin(null_device()?)?;
    Ok(UnixStream::from(lifeline))
}

fn null_device() -> io::Result<File> {
    OpenOptions::new().read(true).write(true).open("/dev/null")
}

/// Catches what would end or stop the guard, and returns a stream that is readable after each end of a child.
///
/// A caught signal has its default meaning again in the program, while an ignored one would stay ignored: started from a
/// shell's background job, a program would never obey SIGINT.
fn catch_signals() -> io::Result<UnixStream> {
    let caught = Arc::new(AtomicBool::new(false));
    for signal in [SIGALRM, SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGTSTP, SIGTTIN, SIGTTOU, SIGUSR1, SIGUSR2] {
        signal_hook::flag::register(signal, Arc::clone(&caught))?;
    }
    let (wakeups, sender) = UnixStream::pair()?;
    wakeups.set_nonblocking(true)?;
    signal_hook::low_level::pipe::register(SIGCHLD, sender)?;
    Ok(wakeups)
}

/// Whether there are children.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Children {
    None,
    Some,
}

struct Guard {
    lifeline: UnixStream,
    wakeups: UnixStream,
    /// Tells whether the second stage became the program; `None` once it has.
    launch: Option<PipeReader>,
    program: Option<Pid>,
    escalation: Escalation,
    has_ended: bool,
}

impl Guard {
    fn is_told_to_start(&mut self) -> io::Result<bool> {
        let mut byte = [0];
        match self.lifeline.read_exact(&mut byte) {
            Ok(()) => Ok(Request::from_byte(byte[0]) == Some(Request::Start)),
            Err(error) if is_end_of_daemon(&error) => Ok(false),
            Err(error) => Err(error),
        }
    }

    fn start_program(&mut self, arguments: &RunArguments) -> io::Result<()> {
        let (launch, outcome) = io::pipe()?;
        let second_stage = ExecArguments {
            parent: getpid().as_raw_nonzero().get(),
            niceness: arguments.niceness,
            program: arguments.program.clone(),
            arguments: arguments.arguments.clone(),
        };
        // By this path the very file that runs is started, even where another was installed over it.
        let child = Command::new("/proc/self/exe").args(second_stage.to_arguments()).stdin(outcome).spawn()?;
        self.program = process_table::to_pid(child.id());
        self.launch = Some(launch);
        // The output ends when the program's processes have closed it, not when the guard has.
        let null = null_device()?;
        rustix::stdio::dup2_stdout(&null)?;
        rustix::stdio::dup2_stderr(&null)?;
        Ok(())
    }

    /// Returns when the program has ended or everything has to be killed.
    fn watch(&mut self) -> io::Result<()> {
        loop {
            self.reap()?;
            if self.has_ended {
                return self.read_launch();
            }
            while let Some(step) = self.escalation.due(Instant::now()) {
                match step {
                    Step::Interrupt => kill_current_process_group(Signal::INT)?,
                    Step::Terminate => kill_current_process_group(Signal::TERM)?,
                    Step::Kill => return Ok(()),
                }
            }
            let ready = self.wait_for_something()?;
            if ready.launch {
                self.read_launch()?;
            }
            if ready.lifeline && self.obey()? == Stop::Everything {
                return Ok(());
            }
        }
    }

    /// Kills and reaps until there is no descendant: the children of a killed process become the guard's own, so its
    /// having no child means that there is none.
    fn end_descendants(&mut self) -> io::Result<()> {
        let deadline = Instant::now() + KILL_PATIENCE;
        while self.reap()? == Children::Some {
            if Instant::now() > deadline {
                // The kernel signals a group in one go, which even a member that forks without end cannot outrun.
                return Ok(kill_current_process_group(Signal::KILL)?);
            }
            let processes = process_table::all()?;
            for process in process_table::descendants(&processes, std::process::id()) {
                process_table::kill(&process, || true)?;
            }
            let mut wakeups = [PollFd::new(&self.wakeups, PollFlags::IN)];
            wait_for_events(&mut wakeups, Some(KILL_INTERVAL))?;
            self.drain_wakeups()?;
        }
        Ok(())
    }

    /// Reaps all children that have ended, and reports the program's end.
    fn reap(&mut self) -> io::Result<Children> {
        loop {
            match wait(WaitOptions::NOHANG) {
                Ok(Some((pid, status))) => {
                    if Some(pid) == self.program {
                        self.program = None;
                        self.has_ended = true;
                        self.read_launch()?;
                        self.report_end(status);
                    }
                }
                Ok(None) => return Ok(Children::Some),
                Err(Errno::CHILD) => return Ok(Children::None),
                Err(Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
        }
    }

    fn report_end(&mut self, status: WaitStatus) {
        if let Some(code) = status.exit_status() {
            self.report(Report::Exited(code));
        } else if let Some(signal) = status.terminating_signal() {
            self.report(Report::Signaled(signal));
        }
    }

    fn report(&mut self, report: Report) {
        // A daemon that cannot be told is gone; the lifeline's end says so too.
        let _daemon_is_gone = self.lifeline.write_all(&report.encode());
    }

    /// Learns whether the second stage became the program. After that it is known, and later calls do nothing.
    fn read_launch(&mut self) -> io::Result<()> {
        let Some(mut launch) = self.launch.take() else {
            return Ok(());
        };
        let mut errno = Vec::new();
        launch.read_to_end(&mut errno)?;
        match <[u8; 4]>::try_from(errno.as_slice()) {
            Ok(errno) => self.report(Report::Failed(i32::from_le_bytes(errno))),
            Err(_) => self.report(Report::Started),
        }
        Ok(())
    }

    /// Reads what the daemon asks for, or that it is gone.
    fn obey(&mut self) -> io::Result<Stop> {
        let mut bytes = [0; 16];
        let length = match self.lifeline.read(&mut bytes) {
            Ok(0) => {
                self.escalation.orphan(Instant::now());
                return Ok(Stop::Nothing);
            }
            Ok(length) => length,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => return Ok(Stop::Nothing),
            Err(error) if is_end_of_daemon(&error) => {
                self.escalation.orphan(Instant::now());
                return Ok(Stop::Nothing);
            }
            Err(error) => return Err(error),
        };
        for request in bytes[..length].iter().copied().filter_map(Request::from_byte) {
            self.escalation.note(request);
            match request {
                Request::Start => {}
                Request::Interrupt => kill_current_process_group(Signal::INT)?,
                Request::Terminate => kill_current_process_group(Signal::TERM)?,
                Request::Kill => return Ok(Stop::Everything),
            }
        }
        Ok(Stop::Nothing)
    }

    fn wait_for_something(&mut self) -> io::Result<Ready> {
        let timeout = self.escalation.deadline().map(|deadline| deadline.saturating_duration_since(Instant::now()));
        // A socket whose other end is gone stays readable for ever.
        let lifeline = (!self.escalation.is_orphaned()).then_some(&self.lifeline);
        let mut events = vec![PollFd::new(&self.wakeups, PollFlags::IN)];
        events.extend(lifeline.map(|socket| PollFd::new(socket, PollFlags::IN)));
        events.extend(self.launch.as_ref().map(|pipe| PollFd::new(pipe, PollFlags::IN)));
        wait_for_events(&mut events, timeout)?;
        let mut fired = events.iter().map(|event| !event.revents().is_empty());
        let wakeups = fired.next() == Some(true);
        let ready = Ready {
            lifeline: lifeline.is_some() && fired.next() == Some(true),
            launch: self.launch.is_some() && fired.next() == Some(true),
        };
        if wakeups {
            self.drain_wakeups()?;
        }
        Ok(ready)
    }

    fn drain_wakeups(&mut self) -> io::Result<()> {
        let mut bytes = [0; 64];
        loop {
            match self.wakeups.read(&mut bytes) {
                Ok(0) => return Ok(()),
                Ok(_) => {}
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(()),
                Err(error) => return Err(error),
            }
        }
    }
}

/// What has become readable.
struct Ready {
    lifeline: bool,
    launch: bool,
}

/// What the daemon's requests leave to do.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Stop {
    Nothing,
    Everything,
}

/// Waits until one of `events` fires, a signal arrives, or `timeout` has passed.
fn wait_for_events(events: &mut [PollFd<'_>], timeout: Option<Duration>) -> io::Result<()> {
    let timeout = timeout.and_then(|timeout| Timespec::try_from(timeout).ok());
    match poll(events, timeout.as_ref()) {
        Ok(_) | Err(Errno::INTR) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

/// Whether a read failed because the other end is closed; with unread reports in it the kernel says "reset".
fn is_end_of_daemon(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::UnexpectedEof | io::ErrorKind::ConnectionReset)
}
