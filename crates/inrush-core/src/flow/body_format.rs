//! The body format of requests, and what happens when a server does not accept it.

use std::sync::Arc;
use std::time::Duration;

use super::slot::{Part, Plain};
use super::{Command, Flow, Note};
use crate::body_format::{Body, BodyFormat, Compression, Encoding};
use crate::time::Time;
use crate::tune::{BodyFormatTuner, Recollection, Sample, SampleOutcome};

impl Flow {
    /// Sets the tuner of the body format. Default: always uncompressed JSON. To be called before
    /// the first block.
    pub fn set_body_format_tuner(&mut self, tuner: BodyFormatTuner) {
        self.body_format_tuner = tuner;
    }

    /// The current body format. A document without an exact SMILE form is sent as JSON in any case.
    pub fn body_format(&self) -> BodyFormat {
        self.body_format_tuner.format()
    }

    /// The body format without the current experiment.
    pub fn steady_body_format(&self) -> BodyFormat {
        self.body_format_tuner.steady()
    }

    /// The reason for the body format, in words.
    pub fn body_format_why(&self) -> String {
        self.body_format_tuner.why()
    }

    /// The encoding that new items need.
    pub fn encoding(&self) -> Encoding {
        self.body_format().encoding
    }

    /// The processor time of this process so far. It decides between formats that are equally fast.
    pub fn handle_cpu(&mut self, total: Duration) {
        self.body_format_tuner.handle_cpu(total);
    }

    /// Whether the cluster accepts SMILE and gzip; if not, the reason.
    pub fn handle_probe(&mut self, smile: Result<(), String>, gzip: Result<(), String>) {
        self.body_format_tuner.handle_probe(smile, gzip);
    }

    /// Passes a sample to both tuners. While one runs an experiment, the other is not told, unless
    /// the cluster rejects or loses requests. Requests of items that were set apart (`set_apart`)
    /// are small for reasons of their own: the batch tuner hears of them only in that case, but
    /// they count as a cost of SMILE. Returns whether the batch tuner received the sample.
    pub(super) fn learn(&mut self, now: Time, sample: &Sample, format: BodyFormat, set_apart: bool) -> bool {
        let trouble = sample.outcome != SampleOutcome::Answered || sample.rejected > 0;
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
            if let Some(Recollection::Contradicted(_)) = self.tuner.recollection() {
                self.body_format_tuner.forget(now);
            }
        }
        self.log_body_format_changes();
        heard
    }

    /// Voids measurements of the tuner across this moment.
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

    /// A part was answered item by item. If it was refused in another format before, that format
    /// was the cause.
    pub(super) fn blame_refused_format(&mut self, now: Time, part: Part) -> Part {
        if part.plain != Plain::Tried {
            return part;
        }
        let format = self.body_format();
        self.forbid_format(now, format, "it refused a request, but accepted the same one as plain JSON");
        Part { plain: Plain::Yes, ..part }
    }

    /// Memory that compressed bodies take in addition to the documents, bytes.
    pub(super) fn packed_bytes(&self) -> u64 {
        self.slots.values().flat_map(|slot| &slot.parts).map(Part::packed_bytes).sum()
    }
}

impl Part {
    /// The body to send, given the format of other requests. The previous body if its format is the
    /// same.
    pub(super) fn body(&mut self, format: BodyFormat) -> Arc<Body> {
        let encoding = if self.batch.has_smile() { format.encoding } else { Encoding::Json };
        let format = if self.plain == Plain::No { format.with_encoding(encoding) } else { BodyFormat::PLAIN };
        self.format = format;
        let body = match self.body.take() {
            Some(body) if body.format == format => body,
            _ => Arc::new(Body::new(self.batch.body(format.encoding), format).with_rows(self.batch.rows())),
        };
        // Slices cost nothing to create again.
        self.body = (format.compression != Compression::None).then(|| Arc::clone(&body));
        body
    }

    /// Bytes of the compressed body, 0 if there is none.
    pub(super) fn packed_bytes(&self) -> u64 {
        self.body.as_ref().map_or(0, |body| body.packed_bytes())
    }

    /// After a refusal of the whole request as unreadable: the part as plain JSON, to be sent once
    /// before it is halved. `None` if it was plain JSON.
    pub(super) fn as_plain_json(&self) -> Option<Part> {
        (self.format != BodyFormat::PLAIN).then(|| Part { plain: Plain::Tried, body: None, ..self.clone() })
    }

    /// If plain JSON was refused as well, the content is the cause.
    pub(super) fn stay_plain(self) -> Part {
        match self.plain {
            Plain::No => self,
            Plain::Tried | Plain::Yes => Part { plain: Plain::Yes, ..self },
        }
    }
}
