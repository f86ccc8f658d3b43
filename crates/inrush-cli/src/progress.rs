//! The progress on stderr while a load runs: a picture of a few rows that is drawn in its place on
//! a terminal, plain lines otherwise.

mod lines;
mod periodic;
mod picture;

use std::io::{IsTerminal, Write};
use std::time::{Duration, Instant};

use inrush_front::progress::{OPENING, Seen};
use inrush_load::{Phase, Progress};
use tokio::sync::{oneshot, watch};
use tokio::task::JoinHandle;

use crate::in_place;
use crate::logging::Stderr;
use lines::Lines;
pub(crate) use lines::pause;
pub(crate) use periodic::report;
use picture::picture;
pub(crate) use picture::{Screen, phase_row};

/// The interval between pictures on a terminal.
pub(crate) const REDRAW_EVERY: Duration = Duration::from_millis(200);

/// How progress is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Display {
    /// A picture that is drawn in its place.
    Terminal,
    /// A line every 10 s, later every minute, where there is news.
    Plain,
    /// No progress is shown.
    None,
}

impl Display {
    /// The display for this stderr. A `dumb` terminal cannot move its cursor. With `--log-json`
    /// programs read stderr and could not parse a bare line.
    pub(crate) fn detect(quiet: bool, log_json: bool) -> Self {
        if quiet || log_json {
            Display::None
        } else if std::io::stderr().is_terminal() && std::env::var_os("TERM").is_none_or(|term| term != "dumb") {
            Display::Terminal
        } else {
            Display::Plain
        }
    }
}

impl Screen {
    /// The terminal of stderr. The cursor is in the line below a picture.
    pub(crate) fn of_stderr() -> Self {
        let (width, height) = in_place::size();
        Screen { width, height: height.saturating_sub(1), colours: in_place::has_colours() }
    }
}

/// The display of a load that is being opened.
pub(crate) struct Opening {
    begun: oneshot::Sender<watch::Receiver<Progress>>,
    shown: JoinHandle<()>,
}

impl Opening {
    /// Begins to show that a load is being opened.
    pub(crate) fn show(display: Display, stderr: Stderr) -> Self {
        let (begun, progress) = oneshot::channel();
        Opening { begun, shown: tokio::spawn(show(progress, display, stderr)) }
    }

    /// The load has begun. The task ends with the last picture of its progress.
    pub(crate) fn begun(self, progress: watch::Receiver<Progress>) -> JoinHandle<()> {
        // A display that has ended shows nothing.
        let _ = self.begun.send(progress);
        self.shown
    }

    /// The load does not begin. Nothing of the display is left.
    pub(crate) async fn end(self) {
        drop(self.begun);
        ended(Some(self.shown)).await;
    }
}

/// Shows a load until it is done or the senders are dropped. `begun` gives the progress of the load
/// as soon as it has begun.
async fn show(begun: oneshot::Receiver<watch::Receiver<Progress>>, display: Display, stderr: Stderr) {
    match display {
        Display::None => {}
        Display::Terminal => terminal(begun, &stderr, !std::io::stdout().is_terminal()).await,
        Display::Plain => plain(begun, &stderr).await,
    }
}

/// Waits until the last line of [`report`] or the last picture is there, so that the report is the
/// last one.
pub(crate) async fn ended(told: Option<JoinHandle<()>>) {
    if let Some(told) = told {
        // Its result no longer matters.
        let _ = told.await;
    }
}

/// `keeps_last`: the last picture stays, because the report is not printed on the terminal.
async fn terminal(mut begun: oneshot::Receiver<watch::Receiver<Progress>>, stderr: &Stderr, keeps_last: bool) {
    let (opened, mut seen) = (Instant::now(), Seen::default());
    let mut ticks = tokio::time::interval(REDRAW_EVERY);
    let mut progress = loop {
        tokio::select! {
            biased;
            progress = &mut begun => match progress {
                Ok(progress) => break progress,
                Err(_) => return stderr.clear(),
            },
            _ = ticks.tick() => draw(stderr, |screen| vec![phase_row(opened.elapsed(), OPENING, screen)]),
        }
    };
    let mut is_drawn = false;
    loop {
        ticks.tick().await;
        let now = progress.borrow_and_update().clone();
        let ends = now.phase == Phase::Done || progress.has_changed().is_err();
        seen.see(&now);
        if ends && !(keeps_last && is_drawn) {
            return stderr.clear();
        }
        is_drawn = true;
        draw(stderr, |screen| picture(&now, &seen, opened.elapsed(), screen));
        if ends {
            return stderr.leave();
        }
    }
}

/// Shows one row of progress until its sender is dropped: drawn in its place on a terminal, plain
/// lines otherwise, where there is news.
pub(crate) async fn show_row<T>(
    mut progress: watch::Receiver<T>,
    row: impl Fn(&T) -> String,
    display: Display,
    mut stderr: Stderr,
) {
    if display == Display::None {
        return;
    }
    let begun = tokio::time::Instant::now();
    let wait = || match display {
        Display::Terminal => REDRAW_EVERY,
        _ => pause(begun.elapsed()),
    };
    let (mut next, mut told) = (begun + wait(), String::new());
    loop {
        tokio::select! {
            () = tokio::time::sleep_until(next) => {
                let line = row(&progress.borrow());
                if display == Display::Terminal {
                    draw(&stderr, |screen| vec![phase_row(begun.elapsed(), &line, screen)]);
                } else if line != told {
                    // If stderr is closed, there is no other place to report it.
                    let _ = writeln!(stderr, "{line}");
                    told = line;
                }
                next = tokio::time::Instant::now() + wait();
            }
            changed = progress.changed() => if changed.is_err() {
                return stderr.clear();
            },
        }
    }
}

/// Draws a picture. In the background the terminal belongs to another process.
pub(crate) fn draw(stderr: &Stderr, picture: impl FnOnce(Screen) -> Vec<String>) {
    match in_place::is_in_foreground() {
        true => stderr.draw(picture(Screen::of_stderr())),
        false => stderr.leave(),
    }
}

async fn plain(mut begun: oneshot::Receiver<watch::Receiver<Progress>>, stderr: &Stderr) {
    let (mut lines, opened) = (Lines::default(), tokio::time::Instant::now());
    let mut next = opened + pause(Duration::ZERO);
    let mut progress = loop {
        tokio::select! {
            progress = &mut begun => match progress {
                Ok(progress) => break progress,
                Err(_) => return,
            },
            () = tokio::time::sleep_until(next) => {
                print(lines.on_tick(&Progress::default()), stderr);
                next += pause(opened.elapsed());
            }
        }
    };
    loop {
        tokio::select! {
            () = tokio::time::sleep_until(next) => {
                print(lines.on_tick(&progress.borrow()), stderr);
                next = tokio::time::Instant::now() + pause(opened.elapsed());
            }
            changed = progress.changed() => {
                let now = progress.borrow_and_update().clone();
                if changed.is_err() || now.phase == Phase::Done {
                    return;
                }
                print(lines.on_change(&now), stderr);
            }
        }
    }
}

fn print(text: Option<String>, stderr: &Stderr) {
    if let Some(text) = text {
        // If stderr is closed, there is no other place to report it.
        let _ = writeln!(stderr.clone(), "{text}");
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::logging::testing;

    #[tokio::test]
    async fn a_load_that_ends_ends_the_display_without_a_line() {
        for display in [Display::Plain, Display::Terminal, Display::None] {
            let (sender, receiver) = watch::channel(Progress::default());
            let (stderr, text) = testing::capture();
            sender.send_modify(|p| p.phase = Phase::Done);
            drop(sender);
            let (begun, progress) = oneshot::channel();
            begun.send(receiver).unwrap();
            show(progress, display, stderr).await;
            assert_eq!(text(), "", "{display:?}");
        }
    }

    #[tokio::test]
    async fn a_load_that_does_not_begin_leaves_nothing() {
        for display in [Display::Plain, Display::Terminal, Display::None] {
            let (stderr, text) = testing::capture();
            Opening::show(display, stderr).end().await;
            let text = text();
            assert!(text.is_empty() || text.ends_with("\x1b[1F\x1b[J"), "{display:?}: {text:?}");
        }
    }
}
