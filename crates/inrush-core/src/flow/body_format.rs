//! In which form requests are sent, and what is done when a server does not understand it after all.

use std::sync::Arc;
use std::time::Duration;

use super::slot::{Part, Plain};
use super::{Command, Flow, Note};
use crate::body_format::{Body, BodyFormat, Compression, Encoding};
use crate::time::Time;
use crate::tune::{BodyFormatTuner, Outcome, Sample};

impl Flow {
    /// Who decides how requests are sent. Default: always as plain JSON. To be called before the first block.
    pub fn set_body_format_tuner(&mut self, tuner: BodyFormatTuner) {
        self.body_format_tuner = tuner;
    }

    /// How requests are sent now. A document that SMILE cannot say goes as JSON all the same.
    pub fn body_format(&self) -> BodyFormat {
        self.body_format_tuner.format()
    }

    /// How requests are sent when nothing is compared.
    pub fn steady_body_format(&self) -> BodyFormat {
        self.body_format_tuner.steady()
    }

    /// What that is based on.
    pub fn body_format_why(&self) -> String {
        self.body_format_tuner.why()
    }

    /// The form in which documents are wanted from now on.
    pub fn encoding(&self) -> Encoding {
        self.body_format().encoding
    }

    /// The CPU time that this process has taken so far: what decides between forms that are equally fast.
    pub fn handle_cpu(&mut self, total: Duration) {
        self.body_format_tuner.handle_cpu(total);
    }

    /// Whether the cluster takes SMILE and gzip, or why not.
    pub fn handle_probe(&mut self, smile: Result<(), String>, gzip: Result<(), String>) {
        self.body_format_tuner.handle_probe(smile, gzip);
    }

    /// Tells both tuners of an attempt. While one compares, the other one holds still, unless there is trouble. What was put `set_apart` is small for no
    /// reason that the cluster gave, so the batch tuner hears of it only in trouble; it is a part of what SMILE costs. Returns whether it did.
    pub(super) fn learn(&mut self, now: Time, sample: &Sample, format: BodyFormat, set_apart: bool) -> bool {
        let trouble = sample.outcome != Outcome::Answered || sample.rejected > 0;
        let trying = self.body_format_tuner.is_trying();
        self.body_format_tuner.handle_sample(now, sample, format, self.tuner.is_settled());
        if trying && !self.body_format_tuner.is_trying() {
            self.tuner_break(now);
        }
        let heard = (!trying && !set_apart) || trouble;
        if trying && trouble {
            self.tuner_break(now);
        }
        if heard {
            self.tuner.handle_sample(now, sample);
        }
        self.log_body_format_changes();
        heard
    }

    /// What would be measured across this moment says nothing of the cluster.
    pub(super) fn tuner_break(&mut self, now: Time) {
        self.tuner.handle_break(now);
        if self.config.samples {
            self.commands.push_back(Command::Break { now });
        }
    }

    pub(super) fn forbid_format(&mut self, now: Time, format: BodyFormat, why: &str) {
        let trying = self.body_format_tuner.is_trying();
        self.body_format_tuner.forbid(now, format, why);
        if trying && !self.body_format_tuner.is_trying() {
            self.tuner_break(now);
        }
        self.log_body_format_changes();
    }

    fn log_body_format_changes(&mut self) {
        while let Some(change) = self.body_format_tuner.poll_change() {
            self.commands.push_back(Command::Note(Note::BodyFormat(change)));
        }
        self.commands.extend(self.body_format_tuner.poll_probe().map(Command::Probe));
    }

    /// A part was answered item by item. If it was refused in another form before, that form is to blame.
    pub(super) fn blame_refused_format(&mut self, now: Time, part: Part) -> Part {
        if part.plain != Plain::Tried {
            return part;
        }
        let format = self.body_format();
        self.forbid_format(now, format, "it refused a request, and took the same one as plain JSON");
        Part { plain: Plain::Yes, ..part }
    }

    /// Memory that compressed bodies take besides the documents, bytes.
    pub(super) fn packed_bytes(&self) -> u64 {
        self.slots.values().flat_map(|slot| &slot.parts).map(Part::packed_bytes).sum()
    }
}

impl Part {
    /// The body to send, where others are sent as `format` says. The same as before, if it is.
    pub(super) fn body(&mut self, format: BodyFormat) -> Arc<Body> {
        let encoding = if self.batch.has_smile() { format.encoding } else { Encoding::Json };
        let format = if self.plain == Plain::No { BodyFormat { encoding, ..format } } else { BodyFormat::PLAIN };
        self.format = format;
        let body = match self.body.take() {
            Some(body) if body.format == format => body,
            _ => Arc::new(Body::new(self.batch.body(format.encoding), format)),
        };
        // Slices cost nothing to make again.
        self.body = (format.compression != Compression::None).then(|| Arc::clone(&body));
        body
    }

    /// Bytes of its compressed body, 0 where there is none.
    pub(super) fn packed_bytes(&self) -> u64 {
        self.body.as_ref().map_or(0, |body| body.packed_bytes())
    }

    /// The server refused the whole request as something it cannot read. If it was not plain JSON, it is that now, to be sent once more
    /// before it is taken apart.
    pub(super) fn as_plain_json(&self) -> Option<Part> {
        (self.format != BodyFormat::PLAIN).then(|| Part { plain: Plain::Tried, body: None, ..self.clone() })
    }

    /// What was refused as plain JSON as well is to blame itself.
    pub(super) fn stay_plain(self) -> Part {
        match self.plain {
            Plain::No => self,
            Plain::Tried | Plain::Yes => Part { plain: Plain::Yes, ..self },
        }
    }
}
