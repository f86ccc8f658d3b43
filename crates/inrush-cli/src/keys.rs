//! Keys that pause and resume a running load: `p` and space.
//!
//! The terminal keeps its signals (Ctrl-C, Ctrl-Z). Only line buffering and echo are switched off.
//! The terminal's mode is restored on every exit that the program notices.

use std::io;
use std::os::fd::AsFd;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Signal, getpgrp, getpid, kill_process};
use rustix::termios::{LocalModes, OptionalActions, SpecialCodeIndex, Termios, tcgetattr, tcgetpgrp, tcsetattr};

/// How often the thread checks whether it has to end, and whether the process is in the foreground
/// again after a stop by the shell.
const LOOK_EVERY: Duration = Duration::from_millis(200);

/// A thread that listens to keys until [`Keys::restore`] or a drop.
pub(crate) struct Keys {
    terminal: Arc<Mutex<Terminal>>,
}

#[derive(Default)]
struct Terminal {
    /// The original mode, while it is changed.
    original: Option<Termios>,
    ended: bool,
}

impl Keys {
    /// Calls `pressed` for each `p` and space. None if stdin is not the controlling terminal.
    pub(crate) fn listen(pressed: impl Fn() + Send + 'static) -> Option<Keys> {
        tcgetpgrp(io::stdin()).ok()?;
        let terminal = Arc::new(Mutex::new(Terminal::default()));
        let shared = Arc::clone(&terminal);
        thread::Builder::new().name("keys".to_owned()).spawn(move || listen(&shared, &pressed)).ok()?;
        Some(Keys { terminal })
    }

    /// Restores the terminal's mode and ends the thread.
    pub(crate) fn restore(&self) {
        let mut terminal = lock(&self.terminal);
        terminal.ended = true;
        terminal.restore();
    }

    /// Restores the terminal's mode and stops the process, as Ctrl-Z does. Returns when the process
    /// continues; the thread then changes the mode again.
    pub(crate) fn suspend(&self) {
        let mut terminal = lock(&self.terminal);
        terminal.restore();
        // A process that may not stop itself continues.
        let _ = kill_process(getpid(), Signal::STOP);
    }
}

impl Drop for Keys {
    fn drop(&mut self) {
        self.restore();
    }
}

impl Terminal {
    /// Switches off line buffering and echo, unless this is done. Does nothing in the background,
    /// where it would stop the process.
    fn prepare(&mut self) {
        if !in_foreground() {
            return;
        }
        let Ok(mut modes) = tcgetattr(io::stdin()) else { return };
        if !modes.local_modes.contains(LocalModes::ICANON) {
            return;
        }
        self.original = Some(modes.clone());
        modes.local_modes.remove(LocalModes::ICANON | LocalModes::ECHO);
        modes.special_codes[SpecialCodeIndex::VMIN] = 1;
        modes.special_codes[SpecialCodeIndex::VTIME] = 0;
        // If this fails, keys arrive with the next line.
        let _ = tcsetattr(io::stdin(), OptionalActions::Now, &modes);
    }

    fn restore(&mut self) {
        if let Some(original) = self.original.take()
            && in_foreground()
        {
            let _ = tcsetattr(io::stdin(), OptionalActions::Now, &original);
        }
    }
}

fn listen(terminal: &Mutex<Terminal>, pressed: &impl Fn()) {
    loop {
        {
            let mut terminal = lock(terminal);
            if terminal.ended {
                return;
            }
            terminal.prepare();
        }
        match key() {
            Ok(Some(b'p' | b' ')) => pressed(),
            Ok(Some(_) | None) => {}
            // The terminal is gone.
            Err(_) => return,
        }
    }
}

/// The next key, if one is pressed within [`LOOK_EVERY`].
fn key() -> io::Result<Option<u8>> {
    let stdin = io::stdin();
    let timeout = Timespec { tv_sec: 0, tv_nsec: LOOK_EVERY.subsec_nanos().into() };
    let mut fds = [PollFd::from_borrowed_fd(stdin.as_fd(), PollFlags::IN)];
    match poll(&mut fds, Some(&timeout)) {
        Ok(0) | Err(rustix::io::Errno::INTR) => return Ok(None),
        Ok(_) => {}
        Err(error) => return Err(error.into()),
    }
    if !in_foreground() {
        // The input is for the foreground process. Reading it would stop this process.
        thread::sleep(LOOK_EVERY);
        return Ok(None);
    }
    let mut key = [0];
    match rustix::io::read(stdin.as_fd(), &mut key) {
        Ok(0) => Err(io::ErrorKind::UnexpectedEof.into()),
        Ok(_) => Ok(Some(key[0])),
        Err(rustix::io::Errno::INTR | rustix::io::Errno::AGAIN) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

fn in_foreground() -> bool {
    tcgetpgrp(io::stdin()).is_ok_and(|group| group == getpgrp())
}

fn lock(terminal: &Mutex<Terminal>) -> MutexGuard<'_, Terminal> {
    // A panic leaves no half-done change in it.
    terminal.lock().unwrap_or_else(PoisonError::into_inner)
}
