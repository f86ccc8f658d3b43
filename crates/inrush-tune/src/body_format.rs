//! The tuner of the body format. It sends batches in two formats in turn and keeps the one with
//! more accepted source bytes per second. The same link, cluster and documents decide differently
//! from job to job and from hour to hour, so nothing is assumed.

mod arm;
#[cfg(test)]
mod tests;
mod watch;

use std::collections::VecDeque;
use std::time::Duration;

use super::trial::{Pairs, Verdict};
use super::window::Window;
use super::{Sample, SampleOutcome};
use crate::format::{BodyFormat, BodyFormatChange, Compression, Encoding, GzipLevel};
use crate::time::Time;
use arm::{Arm, Measured};
use watch::Watch;

/// The formats that the tuner may choose. Everything else is fixed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BodyFormatChoices {
    /// SMILE may replace JSON. It has to be clearly better, because documents stored as SMILE are
    /// transcoded whenever they are read as JSON.
    pub smile: bool,
    /// Bodies may be compressed with this level.
    pub gzip: Option<GzipLevel>,
}

/// The gain that SMILE has to bring, as a factor.
const SMILE_WORTH: f64 = 1.05;
/// The gain that compression has to bring.
const GZIP_WORTH: f64 = 1.03;
/// The gain for a return to plain JSON: a little less than its replacement.
const BACK_WORTH: f64 = 0.98;
/// The gain that a single comparison can prove, as a factor. A slow link shows in less than a
/// second. Variation of a server that warms up or merges must not count as a gain, because the
/// choice lasts for a minute.
const AT_ONCE: f64 = 2.0;
/// Above this part of the same rate, the client's processor time decides.
const TIE: f64 = 0.97;
/// Less processor time for each byte, by this factor, is worth a change.
const LESS_WORK: f64 = 0.85;

/// The first comparison waits until the batch tuner is stable, for at most `FIRST_MAX`, and until
/// the comparison is a small part of the load. It takes 10 to 20 s, half of them in a format that
/// is usually worse; shorter loads do not regain that (measured: DESIGN.md). A slow link does not
/// wait.
const FIRST_MAX: Duration = Duration::from_secs(90);
const FIRST_MIN: Duration = Duration::from_secs(60);
/// The pause after a comparison without a change; doubled each time.
const PAUSE_MIN: Duration = Duration::from_secs(60);
const PAUSE_MAX: Duration = Duration::from_secs(900);
/// The pause after a comparison that could not be finished, and between two comparisons.
const PAUSE_SHORT: Duration = Duration::from_secs(5);

/// Chooses the body format by comparisons. A state machine without a clock: equal calls give equal
/// choices.
#[derive(Debug)]
pub struct BodyFormatTuner {
    /// The current format.
    format: BodyFormat,
    /// The best format so far.
    steady: BodyFormat,
    gzip: Option<Knob>,
    smile: Option<Knob>,
    level: GzipLevel,
    trial: Option<Trial>,
    probe: Probe,
    /// When sending started.
    began: Option<Time>,
    watch: Watch,
    /// The client's processor time at the last report.
    cpu: Duration,
    changes: VecDeque<BodyFormatChange>,
    /// The reasons for what is fixed.
    fixed_why: String,
    /// The format to return to if what an earlier load learned does not hold.
    recalled_from: Option<BodyFormat>,
}

/// A setting that can be changed either way.
#[derive(Clone, Debug)]
struct Knob {
    next: Time,
    pause: Duration,
    evidence: Option<String>,
}

/// Whether it is known what the server accepts. The server is asked only when it matters, so a
/// short load does not ask.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Probe {
    NotYet,
    Wanted,
    Asked,
    Done,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Setting {
    Gzip,
    Smile,
}

#[derive(Debug)]
struct Trial {
    setting: Setting,
    other: BodyFormat,
    pairs: Pairs,
    arm: Arm,
    /// Processor seconds and bytes of each arm.
    work: [(f64, f64); 2],
}

impl Knob {
    fn new() -> Self {
        Knob { next: Time::START, pause: PAUSE_MIN, evidence: None }
    }

    fn later(&mut self, now: Time) {
        self.next = now + self.pause;
        self.pause = (self.pause * 2).min(PAUSE_MAX);
    }

    fn soon(&mut self, at: Time) {
        self.next = at;
        self.pause = PAUSE_MIN;
    }
}

impl BodyFormatTuner {
    /// Starts with `start` and compares what `choices` allow. `why`: the reason for what is fixed.
    pub fn new(start: BodyFormat, choices: BodyFormatChoices, why: impl Into<String>) -> Self {
        BodyFormatTuner {
            format: start,
            steady: start,
            gzip: choices.gzip.map(|_| Knob::new()),
            smile: choices.smile.then(Knob::new),
            level: choices.gzip.unwrap_or_default(),
            trial: None,
            probe: Probe::NotYet,
            began: None,
            watch: Watch::new(Time::START),
            cpu: Duration::ZERO,
            changes: VecDeque::new(),
            fixed_why: why.into(),
            recalled_from: None,
        }
    }

    /// Begins with the format that an earlier load found best, as far as it may be chosen. It is
    /// compared again as any other format.
    #[must_use]
    pub fn recalling(mut self, learned: BodyFormat) -> Self {
        let mut to = self.steady;
        if self.smile.is_some() {
            to.encoding = learned.encoding;
        }
        if self.gzip.is_some() {
            to.compression = learned.compression;
        }
        if to != self.steady {
            self.recalled_from = Some(self.steady);
            let separator = if self.fixed_why.is_empty() { "" } else { "; " };
            self.fixed_why.push_str(&format!("{separator}an earlier load found {to} best"));
            (self.format, self.steady) = (to, to);
        }
        self
    }

    /// The format that the next load may begin with. `None` where nothing was compared.
    pub fn learned(&self) -> Option<BodyFormat> {
        (self.compared() || self.recalled_from.is_some()).then_some(self.steady)
    }

    fn compared(&self) -> bool {
        [&self.gzip, &self.smile].into_iter().flatten().any(|knob| knob.evidence.is_some())
    }

    /// What an earlier load learned does not hold. A format that was only recalled is given up.
    pub fn forget(&mut self, now: Time) {
        let Some(start) = self.recalled_from.take() else { return };
        if self.compared() || start == self.steady {
            return;
        }
        self.break_off(now);
        let from = self.steady;
        (self.format, self.steady) = (start, start);
        let why = format!("an earlier load found {from} best, but what it learned does not hold");
        self.fixed_why.clone_from(&why);
        self.changes.push_back(BodyFormatChange { from, to: start, why, forced: false });
    }

    /// The current format.
    pub fn format(&self) -> BodyFormat {
        self.format
    }

    /// The best format so far, used when nothing is compared.
    pub fn steady(&self) -> BodyFormat {
        self.steady
    }

    /// Whether a comparison is in progress. Nothing else should change then.
    pub fn is_trying(&self) -> bool {
        self.trial.is_some()
    }

    /// The processor time of this process so far.
    pub fn handle_cpu(&mut self, total: Duration) {
        self.cpu = total;
    }

    /// Takes an attempt that was sent in this format. `settled`: no other experiment is in
    /// progress.
    pub fn handle_sample(&mut self, now: Time, sample: &Sample, format: BodyFormat, settled: bool) {
        if self.gzip.is_none() && self.smile.is_none() {
            return;
        }
        let began = *self.began.get_or_insert(sample.sent);
        if self.trial.is_some() {
            return self.handle_trial(now, sample, format);
        }
        self.watch(now, sample);
        let untried = |knob: &Knob| knob.evidence.is_none() && knob.next <= now;
        let slow = self.steady.compression == Compression::None
            && !sample.source_limited
            && self.watch.waits_for_link(settled)
            && self.gzip.as_ref().is_some_and(untried);
        let lasted = now.since(began);
        let may = lasted >= FIRST_MIN && (settled || lasted >= FIRST_MAX) && !sample.source_limited;
        let due = self.due(now).filter(|_| may);
        if (slow || due.is_some()) && self.probe != Probe::Done {
            if self.probe == Probe::NotYet {
                self.probe = Probe::Wanted;
            }
            return;
        }
        if let Some((rate, error)) = self.watch.rate(now).filter(|_| slow) {
            // Nothing else helps as much, and every request takes long. The observations so far are
            // the first window.
            self.begin(now, Setting::Gzip);
            return self.judge(now, Measured { rate, error, cpu_seconds: 0.0, bytes: 0.0 }, sample);
        }
        if let Some(setting) = due {
            self.begin(now, setting);
        }
    }

    /// The next question to the server: whether it accepts SMILE, and whether it accepts gzip.
    pub fn poll_probe(&mut self) -> Option<BodyFormatChoices> {
        if self.probe != Probe::Wanted {
            return None;
        }
        self.probe = Probe::Asked;
        Some(BodyFormatChoices { smile: self.smile.is_some(), gzip: self.gzip.as_ref().map(|_| self.level) })
    }

    /// Whether the server accepts SMILE and gzip; if not, the reason.
    pub fn handle_probe(&mut self, smile: Result<(), String>, gzip: Result<(), String>) {
        self.probe = Probe::Done;
        for (knob, name, answer) in [(&mut self.smile, "smile", smile), (&mut self.gzip, "gzip", gzip)] {
            if let (Some(_), Err(reason)) = (&knob, answer) {
                *knob = None;
                let separator = if self.fixed_why.is_empty() { "" } else { "; " };
                self.fixed_why.push_str(&format!("{separator}the server does not accept {name}: {reason}"));
            }
        }
    }

    /// Nothing was sent for a while on purpose.
    pub fn handle_break(&mut self, now: Time) {
        self.break_off(now);
        self.watch.handle_break(now);
    }

    /// The server does not accept this format, with the reason. It is not used any more. The
    /// encoding is given up first: every reader refuses a compressed body that it cannot read.
    pub fn forbid(&mut self, now: Time, format: BodyFormat, why: &str) {
        let from = self.format;
        match (format.encoding, format.compression) {
            (Encoding::Smile, _) => (self.smile, self.steady.encoding) = (None, Encoding::Json),
            (Encoding::Json, Compression::Gzip(_)) => (self.gzip, self.steady.compression) = (None, Compression::None),
            (Encoding::Json, Compression::None) => return,
        }
        self.break_off(now);
        self.format = self.steady;
        if self.format != from {
            let why = format!("the server does not accept {format}: {why}");
            self.fixed_why.clone_from(&why);
            self.changes.push_back(BodyFormatChange { from, to: self.format, why, forced: true });
        }
    }

    /// The next change that was not reported yet.
    pub fn poll_change(&mut self) -> Option<BodyFormatChange> {
        self.changes.pop_front()
    }

    /// The reason for the choice, in words.
    pub fn why(&self) -> String {
        let evidence = |knob: &Option<Knob>| knob.as_ref().and_then(|knob| knob.evidence.clone());
        let fixed = (!self.fixed_why.is_empty()).then(|| self.fixed_why.clone());
        let told: Vec<String> = [fixed, evidence(&self.gzip), evidence(&self.smile)].into_iter().flatten().collect();
        match told.is_empty() {
            true => "no other format was tried: the load was too short, or its source was the limit".to_owned(),
            false => told.join("; "),
        }
    }

    /// Watches the rate, and repeats comparisons when it has changed.
    fn watch(&mut self, now: Time, sample: &Sample) {
        if self.watch.has_changed(now, sample) {
            for knob in [&mut self.gzip, &mut self.smile].into_iter().flatten().filter(|knob| knob.evidence.is_some()) {
                knob.soon(now + PAUSE_SHORT);
            }
        }
    }

    fn due(&self, now: Time) -> Option<Setting> {
        let due = |knob: &Option<Knob>| knob.as_ref().is_some_and(|knob| knob.next <= now);
        if due(&self.gzip) {
            Some(Setting::Gzip)
        } else if due(&self.smile) {
            Some(Setting::Smile)
        } else {
            None
        }
    }

    fn knob(&mut self, setting: Setting) -> Option<&mut Knob> {
        match setting {
            Setting::Gzip => self.gzip.as_mut(),
            Setting::Smile => self.smile.as_mut(),
        }
    }

    fn begin(&mut self, now: Time, setting: Setting) {
        let (other, worth) = match setting {
            Setting::Gzip => match self.steady.compression {
                Compression::None => {
                    (BodyFormat { compression: Compression::Gzip(self.level), ..self.steady }, GZIP_WORTH)
                }
                Compression::Gzip(_) => (BodyFormat { compression: Compression::None, ..self.steady }, BACK_WORTH),
            },
            Setting::Smile => match self.steady.encoding {
                Encoding::Json => (BodyFormat { encoding: Encoding::Smile, ..self.steady }, SMILE_WORTH),
                Encoding::Smile => (BodyFormat { encoding: Encoding::Json, ..self.steady }, BACK_WORTH),
            },
        };
        // Requests in flight already have the current format.
        let arm = Arm::measuring(self.steady, now, self.cpu);
        self.trial = Some(Trial { setting, other, pairs: Pairs::careful(worth, AT_ONCE), arm, work: [(0.0, 0.0); 2] });
    }

    fn handle_trial(&mut self, now: Time, sample: &Sample, format: BodyFormat) {
        let Some(trial) = &mut self.trial else { return };
        let loss = sample.outcome != SampleOutcome::Answered || sample.rejected > sample.docs / 100;
        if loss || trial.arm.is_overdue(now) {
            return self.break_off(now);
        }
        let Some(measured) = trial.arm.handle(now, sample, format, self.cpu) else { return };
        match measured {
            Ok(measured) => self.judge(now, measured, sample),
            // The source became the limit only because the other format is so much faster.
            Err(at_least) if trial.pairs.is_clear(at_least.rate, at_least.error) => self.judge(now, at_least, sample),
            Err(_) => self.break_off(now),
        }
    }

    /// Takes the result of an arm. Continues with the other arm, or ends the comparison.
    fn judge(&mut self, now: Time, measured: Measured, sample: &Sample) {
        let Some(trial) = &mut self.trial else { return };
        let other = usize::from(trial.pairs.is_other());
        trial.work[other].0 += measured.cpu_seconds;
        trial.work[other].1 += measured.bytes;
        let gain = match trial.pairs.handle(measured.rate, measured.error) {
            Verdict::Open => {
                let format = if trial.pairs.is_other() { trial.other } else { self.steady };
                trial.arm = Arm::new(format, now, sample);
                self.format = format;
                return;
            }
            Verdict::Better { gain } => (gain, true),
            Verdict::NotBetter { gain } => (gain, false),
        };
        self.conclude(now, gain);
    }

    fn conclude(&mut self, now: Time, (gain, better): (f64, bool)) {
        let Some(trial) = self.trial.take() else { return };
        let work = |(cpu, bytes): (f64, f64)| (bytes > 0.0).then(|| cpu / bytes);
        let less_work = match (work(trial.work[0]), work(trial.work[1])) {
            (Some(steady), Some(other)) => other < LESS_WORK * steady,
            _ => false,
        };
        // SMILE costs readers of the documents later, which no measurement of a load shows.
        let to_smile = trial.setting == Setting::Smile && trial.other.encoding == Encoding::Smile;
        let tie = !better && gain > TIE && less_work && !to_smile;
        let percent = (gain - 1.0) * 100.0;
        let (name, than) = match trial.setting {
            Setting::Gzip => (trial.other.compression.to_string(), self.steady.compression.to_string()),
            Setting::Smile => (trial.other.encoding.to_string(), self.steady.encoding.to_string()),
        };
        let mut why = format!("{name} brought {percent:+.0} % bytes of source per second against {than}");
        if tie {
            why.push_str(" and takes less processor time here");
        } else if !better && percent > 0.0 {
            why.push_str(", which is not enough");
        }
        self.format = self.steady;
        if better || tie {
            self.changes.push_back(BodyFormatChange {
                from: self.steady,
                to: trial.other,
                why: why.clone(),
                forced: false,
            });
            (self.steady, self.format) = (trial.other, trial.other);
        }
        if let Some(knob) = self.knob(trial.setting) {
            knob.evidence = Some(why);
            if better || tie {
                knob.pause = PAUSE_MIN;
            }
            knob.later(now);
        }
        for knob in [&mut self.gzip, &mut self.smile].into_iter().flatten() {
            knob.next = knob.next.max(now + Duration::from_secs(1));
        }
        self.watch = Watch::new(now);
    }

    /// Ends a comparison without a result.
    fn break_off(&mut self, now: Time) {
        let Some(trial) = self.trial.take() else { return };
        self.format = self.steady;
        if let Some(knob) = self.knob(trial.setting) {
            knob.next = now + PAUSE_SHORT;
        }
        self.watch = Watch::new(now);
    }
}

/// Whether a window is sufficient: two rounds of the requests in flight, or, where requests take
/// long, two requests after `long`.
fn is_complete(window: &Window, now: Time, sample: &Sample, long: Duration) -> bool {
    let lasted = now.since(window.from());
    let rounds = window.samples() >= (2 * sample.in_flight).max(4) && lasted >= Duration::from_millis(500);
    rounds || (window.samples() >= 2 && lasted >= long)
}
