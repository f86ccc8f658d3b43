//! stdout as a terminal: its size, its colours, and drawing in place.

use std::io::{self, IsTerminal, Write};
use std::time::{Duration, Instant};

use super::Screen;
use crate::in_place::{BREAK_LINES, InPlace, has_colours, size_of};

/// A picture that is older than this and three times the pause between pictures stays on the
/// terminal: the process was stopped, and a shell has written below the picture.
const STALE: Duration = Duration::from_secs(60);

/// stdout, if it is a terminal that can move its cursor.
pub(crate) struct Terminal {
    /// Where each picture takes the place of the one before.
    place: Option<InPlace>,
}

impl Terminal {
    /// `None` if stdout is no terminal, or one that cannot move its cursor. `every` is the pause
    /// between pictures that take the place of each other.
    pub(crate) fn of_stdout(every: Option<Duration>) -> Option<Self> {
        let is_dumb = std::env::var_os("TERM").is_some_and(|term| term == "dumb");
        let place = every.map(|every| InPlace::with_stale(STALE + every * 3));
        (io::stdout().is_terminal() && !is_dumb).then_some(Terminal { place })
    }

    /// The size and the colours of a picture.
    pub(crate) fn screen(&self) -> Screen {
        let (width, height) = size_of(io::stdout());
        // The cursor is in the line below the picture.
        let height = self.place.as_ref().map(|_| height.saturating_sub(1));
        Screen { width, height, colours: has_colours() }
    }

    /// Draws a picture, in the place of the one before it where that is wanted.
    ///
    /// # Errors
    /// stdout cannot be written.
    pub(crate) fn draw(&mut self, picture: &str, width: usize) -> io::Result<()> {
        let mut stdout = io::stdout().lock();
        match &mut self.place {
            Some(place) => {
                let rows = picture.lines().map(str::to_owned).collect();
                stdout.write_all(place.draw(rows, width, Instant::now()).as_bytes())?;
            }
            None => stdout.write_all(picture.as_bytes())?,
        }
        stdout.flush()
    }

    /// Has the terminal break long lines again. Ctrl-C makes it drop what it has not drawn yet,
    /// which may be the end of a picture.
    ///
    /// # Errors
    /// stdout cannot be written.
    pub(crate) fn break_lines(&self) -> io::Result<()> {
        let mut stdout = io::stdout().lock();
        stdout.write_all(BREAK_LINES.as_bytes())?;
        stdout.flush()
    }
}
