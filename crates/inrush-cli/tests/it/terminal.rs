//! A pseudo-terminal in which the binary runs, and the text that a person sees on it.

use std::io::{Read, Write};
use std::os::fd::OwnedFd;
use std::path::Path;
use std::process::Stdio;
use std::sync::{Arc, Mutex};

use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{LocalModes, OptionalActions, Winsize, tcgetattr, tcsetattr, tcsetwinsize};
use tokio::process::{Child, Command};

use crate::common;

/// A terminal: its own end, what was drawn so far, and the end that a process gets.
pub(crate) struct Terminal {
    own: OwnedFd,
    theirs: OwnedFd,
    drawn: Arc<Mutex<String>>,
}

impl Terminal {
    pub(crate) fn new() -> Terminal {
        let own = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
        grantpt(&own).unwrap();
        unlockpt(&own).unwrap();
        let name = ptsname(&own, Vec::new()).unwrap().into_string().unwrap();
        let theirs: OwnedFd = std::fs::File::options().read(true).write(true).open(name).unwrap().into();
        // Ctrl-C drops nothing that is not read yet.
        let mut modes = tcgetattr(&theirs).unwrap();
        modes.local_modes |= LocalModes::NOFLSH;
        tcsetattr(&theirs, OptionalActions::Now, &modes).unwrap();
        let drawn = Arc::new(Mutex::new(String::new()));
        let (mut from, into) = (std::fs::File::from(own.try_clone().unwrap()), Arc::clone(&drawn));
        std::thread::spawn(move || {
            let (mut bytes, mut rest) = ([0; 4096], Vec::new());
            while let Ok(n @ 1..) = from.read(&mut bytes) {
                rest.extend_from_slice(&bytes[..n]);
                // A letter may be cut off.
                let whole = std::str::from_utf8(&rest).map_or_else(|error| error.valid_up_to(), str::len);
                into.lock().unwrap().push_str(std::str::from_utf8(&rest[..whole]).unwrap());
                rest.drain(..whole);
            }
        });
        Terminal { own, theirs, drawn }
    }

    pub(crate) fn resize(&self, columns: u16, rows: u16) {
        let size = Winsize { ws_row: rows, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0 };
        tcsetwinsize(&self.own, size).unwrap();
    }

    /// Starts the binary as a shell does: this is the terminal that it runs in. Its stdout is a
    /// pipe.
    pub(crate) fn start(&self, folder: &Path, arguments: &[String], environment: &[(&str, &str)]) -> Child {
        let mut command = self.command(folder, arguments);
        command.envs(environment.iter().copied()).stdout(Stdio::piped());
        command.spawn().unwrap()
    }

    /// The same with stdout on the terminal, too.
    pub(crate) fn start_with_stdout(&self, folder: &Path, arguments: &[String]) -> Child {
        self.command(folder, arguments).stdout(self.theirs.try_clone().unwrap()).spawn().unwrap()
    }

    fn command(&self, folder: &Path, arguments: &[String]) -> Command {
        let mut command = common::command("setsid", folder);
        command.args(["--ctty", env!("CARGO_BIN_EXE_inrush")]).args(arguments).env("TERM", "xterm");
        command.stdin(self.theirs.try_clone().unwrap()).stderr(self.theirs.try_clone().unwrap());
        command
    }

    pub(crate) fn press(&self, keys: &[u8]) {
        std::fs::File::from(self.own.try_clone().unwrap()).write_all(keys).unwrap();
    }

    pub(crate) async fn shows(&self, text: &str) {
        while !self.drawn().contains(text) {
            tokio::task::yield_now().await;
        }
    }

    /// All that was written so far.
    pub(crate) fn drawn(&self) -> String {
        self.drawn.lock().unwrap().clone()
    }

    pub(crate) fn forget(&self) {
        self.drawn.lock().unwrap().clear();
    }

    /// All that was written, after the process has ended.
    pub(crate) async fn all(&self) -> String {
        const END: &str = "\x07end\x07";
        std::fs::File::from(self.theirs.try_clone().unwrap()).write_all(END.as_bytes()).unwrap();
        self.shows(END).await;
        self.drawn().replace(END, "")
    }

    /// Whether it hands over lines and shows what is typed, as shells leave it.
    pub(crate) fn is_as_it_was(&self) -> bool {
        tcgetattr(&self.theirs).unwrap().local_modes.contains(LocalModes::ICANON | LocalModes::ECHO)
    }

    pub(crate) async fn listens(&self) {
        while self.is_as_it_was() {
            tokio::task::yield_now().await;
        }
    }
}

/// The lines that a terminal with this number of columns shows, with those that scrolled away, and
/// the line and the column of its cursor.
pub(crate) fn screen(written: &str, columns: usize) -> (Vec<String>, (usize, usize)) {
    let mut lines: Vec<Vec<char>> = vec![Vec::new()];
    let (mut row, mut column, mut breaks_lines) = (0_usize, 0_usize, true);
    let mut rest = written.chars();
    while let Some(c) = rest.next() {
        match c {
            '\r' => column = 0,
            '\n' => row += 1,
            '\x1b' => {
                assert_eq!(rest.next(), Some('['), "{written:?}");
                let mut number = String::new();
                let command = loop {
                    match rest.next().unwrap() {
                        c @ ('0'..='9' | '?' | ';') => number.push(c),
                        command => break command,
                    }
                };
                match (number.as_str(), command) {
                    (_, 'F') => (row, column) = (row.saturating_sub(number.parse().unwrap()), 0),
                    ("", 'K') => lines[row].truncate(column),
                    ("", 'J') => {
                        lines[row].truncate(column);
                        lines.truncate(row + 1);
                    }
                    ("?7", 'h' | 'l') => breaks_lines = command == 'h',
                    (_, 'm') => {}
                    unknown => panic!("{unknown:?} in {written:?}"),
                }
            }
            c => {
                if column == columns && breaks_lines {
                    (row, column) = (row + 1, 0);
                }
                let at = column.min(columns - 1);
                lines.resize(lines.len().max(row + 1), Vec::new());
                let length = lines[row].len().max(at + 1);
                lines[row].resize(length, ' ');
                lines[row][at] = c;
                column = at + 1;
            }
        }
        lines.resize(lines.len().max(row + 1), Vec::new());
    }
    assert!(breaks_lines, "line breaks are on again: {written:?}");
    let text = lines.iter().map(|line| line.iter().collect::<String>().trim_end().to_owned()).collect();
    (text, (row, column))
}
