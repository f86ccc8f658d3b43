//! In which form requests are sent, and what is done when a server does not understand it after all.

use std::sync::Arc;
use std::time::Duration;

use super::slot::{Part, Plain};
use super::{Command, Flow, Note};
use crate::time::Time;
use crate::tune::{Outcome, Sample, WireTuner};
use crate::wire::{Body, Compression, Encoding, Wire};

impl Flow {
    /// Who decides how requests are sent. Default: always as plain JSON. To be called before the first block.
    pub fn send_as(&mut self, wire: WireTuner) {
        self.wire = wire;
    }

    /// How requests are sent now. A document that SMILE cannot say goes as JSON all the same.
    pub fn wire(&self) -> Wire {
        self.wire.wire()
    }

    /// How requests are sent when nothing is compared.
    pub fn wire_stands(&self) -> Wire {
        self.wire.stands()
    }

    /// What that is based on.
    pub fn wire_why(&self) -> String {
        self.wire.why()
    }

    /// The form in which documents are wanted from now on.
    pub fn encoding(&self) -> Encoding {
        self.wire().encoding
    }

    /// The CPU time that this process has taken so far: what decides between forms that are equally fast.
    pub fn handle_cpu(&mut self, total: Duration) {
        self.wire.handle_cpu(total);
    }

    /// Whether the cluster takes SMILE and gzip, or why not.
    pub fn handle_probe(&mut self, smile: Result<(), String>, gzip: Result<(), String>) {
        self.wire.handle_probe(smile, gzip);
    }

    /// Tells both tuners of an attempt. While one compares, the other one holds still, unless there is trouble. What was put `aside` is small for no
    /// reason that the cluster gave, so the batch tuner hears of it only in trouble; it is a part of what SMILE costs. Returns whether it did.
    pub(super) fn learn(&mut self, now: Time, sample: &Sample, wire: Wire, aside: bool) -> bool {
        let trouble = sample.outcome != Outcome::Answered || sample.rejected > 0;
        let trying = self.wire.is_trying();
        self.wire.handle_sample(now, sample, wire, self.tuner.is_settled());
        if trying && !self.wire.is_trying() {
            self.tuner_break(now);
        }
        let heard = (!trying && !aside) || trouble;
        if trying && trouble {
            self.tuner_break(now);
        }
        if heard {
            self.tuner.handle_sample(now, sample);
        }
        self.tell_wire();
        heard
    }

    /// What would be measured across this moment says nothing of the cluster.
    pub(super) fn tuner_break(&mut self, now: Time) {
        self.tuner.handle_break(now);
        if self.config.samples {
            self.commands.push_back(Command::Break { now });
        }
    }

    pub(super) fn distrust(&mut self, now: Time, wire: Wire, why: &str) {
        let trying = self.wire.is_trying();
        self.wire.forbid(now, wire, why);
        if trying && !self.wire.is_trying() {
            self.tuner_break(now);
        }
        self.tell_wire();
    }

    fn tell_wire(&mut self) {
        while let Some(change) = self.wire.poll_change() {
            self.commands.push_back(Command::Note(Note::Wire(change)));
        }
        self.commands.extend(self.wire.poll_probe().map(Command::Probe));
    }

    /// A part was answered item by item. If it was refused in another form before, that form is to blame.
    pub(super) fn taken(&mut self, now: Time, part: Part) -> Part {
        if part.plain != Plain::Tried {
            return part;
        }
        let wire = self.wire();
        self.distrust(now, wire, "it refused a request, and took the same one as plain JSON");
        Part { plain: Plain::Yes, ..part }
    }

    /// Memory that compressed bodies take besides the documents, bytes.
    pub(super) fn packed_bytes(&self) -> u64 {
        self.slots.values().flat_map(|slot| &slot.parts).map(Part::packed_bytes).sum()
    }
}

impl Part {
    /// The body to send, where others are sent as `wire` says. The same as before, if it is.
    pub(super) fn body(&mut self, wire: Wire) -> Arc<Body> {
        let encoding = if self.batch.has_smile() { wire.encoding } else { Encoding::Json };
        let wire = if self.plain == Plain::No { Wire { encoding, ..wire } } else { Wire::PLAIN };
        self.wire = wire;
        let body = match self.body.take() {
            Some(body) if body.wire == wire => body,
            _ => Arc::new(Body::new(self.batch.body(wire.encoding), wire)),
        };
        // Slices cost nothing to make again.
        self.body = (wire.compression != Compression::None).then(|| Arc::clone(&body));
        body
    }

    /// Bytes of its compressed body, 0 where there is none.
    pub(super) fn packed_bytes(&self) -> u64 {
        self.body.as_ref().map_or(0, |body| body.packed_bytes())
    }

    /// The server refused the whole request as something it cannot read. If it was not plain JSON, it is that now, to be sent once more
    /// before it is taken apart.
    pub(super) fn refused_so(&self) -> Option<Part> {
        (self.wire != Wire::PLAIN).then(|| Part { plain: Plain::Tried, body: None, ..self.clone() })
    }

    /// What was refused as plain JSON as well is to blame itself.
    pub(super) fn kept_plain(self) -> Part {
        match self.plain {
            Plain::No => self,
            Plain::Tried | Plain::Yes => Part { plain: Plain::Yes, ..self },
        }
    }
}
