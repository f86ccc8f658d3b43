//! The state machine of one guard: of a load that holds the lease and leaves it, or of a recovery.

use std::collections::BTreeMap;
use std::mem;
use std::time::Duration;

use super::commands::{Command, GuardOutcome, Precondition, Purpose, Puts, Reply};
use super::holders::{DEAD_AFTER, Liveness, Observer};
use super::lease::{Change, Changes, Holder, Lease, Phase, SettingState, Settings, Version};
use super::policy::{self, LoadProfile};
use crate::time::Time;

/// How often a guard that waits for a heartbeat reads the lease.
const LOOK_EVERY: Duration = Duration::from_secs(5);

/// The reply that the guard waits for.
#[derive(Clone, Debug)]
enum Stage {
    /// The lease.
    Look,
    /// Whether there was no lease before this one.
    Claim { lease: Lease },
    /// The settings, to record their original values.
    Survey { lease: Lease, version: Version },
    /// Whether this load's share is in the lease.
    Enter { lease: Lease, settings: Settings },
    /// Whether the settings were changed for the load.
    Apply { puts: Puts },
    /// None: the lease is held.
    Active,
    /// The lease, for a heartbeat.
    BeatLook,
    /// Whether the heartbeat is in the lease.
    Beat,
    /// Whether this load's share was removed from the lease.
    Part { holders: usize },
    /// Whether this guard may restore.
    Take { lease: Lease },
    /// The settings, to restore those that were changed.
    Compare { lease: Option<(Lease, Version)> },
    /// Whether the settings were restored.
    Restore { lease: Option<(Lease, Version)>, puts: Puts, foreign: Vec<String> },
    /// Whether the lease was deleted.
    Clear { foreign: Vec<String> },
    /// Whether the lease records the refused settings.
    Keep { refused: BTreeMap<String, String> },
    /// The end of a wait.
    Wait,
    /// None: the guard has ended.
    Ended,
}

/// The guard of one index, for one load or one recovery.
#[derive(Clone, Debug)]
pub struct Guard {
    me: String,
    index: String,
    profile: LoadProfile,
    purpose: Purpose,
    observer: Observer,
    beat: u64,
    stage: Stage,
    command: Option<Command>,
    /// Changes that this guard may have made. Their values are never taken for originals, even if
    /// the lease is lost.
    known: Changes,
    /// Changes that the creation of the index has made, before there could be a lease.
    made: Changes,
    /// This guard may have written a lease with changes. Without changes there is nothing to
    /// restore.
    written: bool,
    refused: BTreeMap<String, String>,
    problem: Option<String>,
    outcome: Option<GuardOutcome>,
}

impl Guard {
    /// The guard of a load into `index`. `me` is an id that no other load has.
    pub fn hold(me: String, index: String, profile: LoadProfile) -> Self {
        Guard::new(me, index, profile, Purpose::Hold, DEAD_AFTER)
    }

    /// The guard of an index that was created with these changes. They are restored at the end, and
    /// at once where the lease cannot be held.
    pub fn with_made(mut self, made: Changes) -> Self {
        self.known.extend(made.clone());
        Guard { made, ..self }
    }

    /// A guard that restores what others left on `index`. A holder without a heartbeat for
    /// `dead_after` is dead (default [`DEAD_AFTER`]; zero takes all holders for dead). `known` are
    /// changes from a local record.
    pub fn recover(me: String, index: String, dead_after: Duration, known: Changes) -> Self {
        Guard { known, ..Guard::new(me, index, LoadProfile::default(), Purpose::Recover, dead_after) }
    }

    fn new(me: String, index: String, profile: LoadProfile, purpose: Purpose, dead_after: Duration) -> Self {
        Guard {
            me,
            index,
            profile,
            purpose,
            observer: Observer::new(dead_after),
            beat: 0,
            stage: Stage::Look,
            command: Some(Command::ReadLease),
            known: Changes::new(),
            made: Changes::new(),
            written: false,
            refused: BTreeMap::new(),
            problem: None,
            outcome: None,
        }
    }

    /// The next command. `None` while a reply is pending, while the lease is held, and after the
    /// end.
    pub fn poll(&mut self) -> Option<Command> {
        let command = self.command.take();
        self.written |= matches!(&command, Some(Command::WriteLease { lease, .. }) if !lease.changes.is_empty());
        command
    }

    /// Whether the lease is held and the settings are changed, as far as the server accepts them.
    pub fn is_active(&self) -> bool {
        matches!(self.stage, Stage::Active)
    }

    /// The outcome, after the end.
    pub fn outcome(&self) -> Option<&GuardOutcome> {
        self.outcome.as_ref()
    }

    /// The changes of this load, or of another one that shares the lease, except refused ones.
    pub fn changes(&self) -> impl Iterator<Item = (&String, &Change)> {
        self.known.iter().filter(|(name, _)| !self.refused.contains_key(*name))
    }

    /// Settings that the server refused to change for the load, with its reasons.
    pub fn refused(&self) -> &BTreeMap<String, String> {
        &self.refused
    }

    /// Why the lease could not be held.
    pub fn problem(&self) -> Option<&str> {
        self.problem.as_deref()
    }

    /// Records whether a holder is alive, from a caller that knows for certain.
    pub fn know_holder(&mut self, holder: &str, alive: bool) {
        self.observer.know(holder, alive);
    }

    /// A heartbeat is due. It is skipped unless the lease is held and no reply is pending.
    pub fn handle_heartbeat(&mut self) {
        if matches!(self.stage, Stage::Active) {
            self.ask(Stage::BeatLook, Command::ReadLease);
        }
    }

    /// The load has ended. The settings are restored after the pending reply.
    pub fn handle_stop(&mut self) {
        if self.purpose != Purpose::Hold {
            return;
        }
        self.purpose = Purpose::Leave;
        match self.stage {
            Stage::Active => self.look(),
            // The command was not handed out yet, so no reply is pending.
            _ if self.command.is_some() => self.look(),
            _ => {}
        }
    }

    /// Takes the reply to the command that [`Guard::poll`] returned last.
    pub fn handle(&mut self, now: Time, reply: Reply) {
        let stage = mem::replace(&mut self.stage, Stage::Ended);
        if let Reply::Lease(Some((lease, version))) = &reply {
            self.observer.look(now, lease, *version);
        }
        if self.purpose == Purpose::Hold {
            self.handle_holding(stage, reply);
        } else {
            self.handle_leaving(now, stage, reply);
        }
    }

    fn handle_holding(&mut self, stage: Stage, reply: Reply) {
        match (stage, reply) {
            (Stage::Look, Reply::Lease(found)) => self.join(found),
            (Stage::Claim { lease }, Reply::Written(version)) => {
                self.ask(Stage::Survey { lease, version }, Command::ReadSettings);
            }
            (Stage::Survey { lease, version }, Reply::Settings(settings)) => self.survey(lease, version, settings),
            (Stage::Enter { lease, settings }, Reply::Written(_)) => self.entered(lease, &settings),
            (Stage::Apply { puts }, Reply::Put) => self.applied(puts, None),
            (Stage::Apply { puts }, Reply::Refused(why)) => self.applied(puts, Some(why)),
            // The settings may have been changed. The lease records their originals.
            (Stage::Apply { puts }, Reply::Failed(why)) => {
                self.refused.extend(puts.now.into_keys().map(|name| (name, why.clone())));
                self.stage = Stage::Active;
            }
            (Stage::BeatLook, Reply::Lease(found)) => match found {
                Some((mut lease, version)) if lease.holders.contains_key(&self.me) => {
                    lease.holders.insert(self.me.clone(), self.next_beat());
                    self.ask(Stage::Beat, Command::WriteLease { lease, over: Precondition::Version(version) });
                }
                // This load was taken for dead, or the lease was deleted by hand.
                lost => self.join(lost),
            },
            (Stage::Beat, Reply::Written(_)) => self.stage = Stage::Active,
            (Stage::Beat, Reply::Conflict) => self.ask(Stage::BeatLook, Command::ReadLease),
            // The next heartbeat may succeed.
            (Stage::BeatLook | Stage::Beat, _) => self.stage = Stage::Active,
            (_, Reply::Conflict) => self.look(),
            (_, reply) => {
                self.problem = Some(problem(reply));
                self.purpose = Purpose::Leave;
                self.look();
            }
        }
    }

    fn handle_leaving(&mut self, now: Time, stage: Stage, reply: Reply) {
        match (stage, reply) {
            (Stage::Look, Reply::Lease(found)) => self.leave(now, found),
            (Stage::Wait, _) | (Stage::Part { .. } | Stage::Take { .. }, Reply::Conflict) => self.look(),
            (Stage::Part { holders }, Reply::Written(_)) => self.finish(GuardOutcome::PassedOn { holders }),
            (Stage::Take { lease }, Reply::Written(version)) => {
                self.ask(Stage::Compare { lease: Some((lease, version)) }, Command::ReadSettings);
            }
            (Stage::Compare { lease }, Reply::Settings(settings)) => self.compare(lease, &settings),
            (Stage::Compare { lease } | Stage::Restore { lease, .. }, Reply::Gone) => self.clear(lease, Vec::new()),
            (Stage::Restore { lease, puts, foreign }, Reply::Put) => self.restored(lease, puts, foreign, None),
            (Stage::Restore { lease, puts, foreign }, Reply::Refused(why)) => {
                self.restored(lease, puts, foreign, Some(why));
            }
            (Stage::Clear { foreign }, Reply::Deleted) => self.finish(GuardOutcome::Restored { foreign }),
            (Stage::Keep { refused }, Reply::Written(_)) => self.finish(GuardOutcome::NotRestored { refused }),
            (Stage::Clear { .. } | Stage::Keep { .. }, Reply::Conflict) => self.look(),
            // The load ended while it was joining. The lease shows how far it came.
            (
                Stage::Claim { .. }
                | Stage::Survey { .. }
                | Stage::Enter { .. }
                | Stage::Apply { .. }
                | Stage::BeatLook
                | Stage::Beat,
                _,
            ) => self.look(),
            (Stage::Look, _) if !self.written && self.known.is_empty() && self.purpose == Purpose::Leave => {
                self.finish(GuardOutcome::Nothing);
            }
            // This load has no lease, and only the creation of the index has changed anything.
            (Stage::Look, _) if !self.written && self.purpose == Purpose::Leave => {
                self.ask(Stage::Compare { lease: None }, Command::ReadSettings);
            }
            (_, reply) => self.finish(GuardOutcome::Unknown(problem(reply))),
        }
    }

    /// Takes a share: alone, beside others, or from a guard that is restoring, which will meet a
    /// conflict.
    fn join(&mut self, found: Option<(Lease, Version)>) {
        match found {
            None => {
                // The settings are read after this write. Every loader records its changes before
                // it makes them, so values found while the lease has no changes are the user's own.
                let holders = BTreeMap::from([(self.me.clone(), self.next_beat())]);
                let index = self.index.clone();
                let lease = Lease { index, phase: Phase::Held, changes: Changes::new(), holders };
                self.ask(
                    Stage::Claim { lease: lease.clone() },
                    Command::WriteLease { lease, over: Precondition::Absent },
                );
            }
            Some((lease, version)) => self.ask(Stage::Survey { lease, version }, Command::ReadSettings),
        }
    }

    fn survey(&mut self, lease: Lease, version: Version, settings: Settings) {
        // The settings before any loader changed them.
        let mut before = settings.clone();
        for (name, change) in self.known.iter().chain(&lease.changes) {
            if change.state(name, &settings) == SettingState::Applied {
                match &change.original {
                    Some(original) => before.set.insert(name.clone(), original.clone()),
                    None => before.set.remove(name),
                };
            }
        }
        let mut next = Lease { phase: Phase::Held, ..lease.clone() };
        for (name, applied) in policy::wanted(&self.profile, &before) {
            let original = before.set.get(name).cloned();
            next.changes.entry(name.to_owned()).or_insert(Change { original, applied });
        }
        for (name, change) in &self.made {
            if change.state(name, &settings) == SettingState::Applied {
                next.changes.entry(name.clone()).or_insert_with(|| change.clone());
            }
        }
        if !next.holders.contains_key(&self.me) {
            next.holders.insert(self.me.clone(), self.next_beat());
        }
        if next == lease {
            return self.entered(lease, &settings);
        }
        let stage = Stage::Enter { lease: next.clone(), settings };
        self.ask(stage, Command::WriteLease { lease: next, over: Precondition::Version(version) });
    }

    fn entered(&mut self, lease: Lease, settings: &Settings) {
        let to_apply = |(name, change): (&String, &Change)| {
            (change.state(name, settings) == SettingState::Original)
                .then(|| (name.clone(), Some(change.applied.clone())))
        };
        let values: BTreeMap<_, _> = lease.changes.iter().filter_map(to_apply).collect();
        self.known.extend(lease.changes);
        if values.is_empty() {
            self.stage = Stage::Active;
            return;
        }
        let command = Command::Put { values: values.clone(), changes: self.known.clone() };
        self.ask(Stage::Apply { puts: Puts::new(values) }, command);
    }

    fn applied(&mut self, mut puts: Puts, refused: Option<String>) {
        if puts.advance(refused) {
            let command = Command::Put { values: puts.now.clone(), changes: self.known.clone() };
            return self.ask(Stage::Apply { puts }, command);
        }
        self.refused = puts.refused;
        // A load that was taken for dead in the meantime has to notice at once.
        self.ask(Stage::BeatLook, Command::ReadLease);
    }

    fn leave(&mut self, now: Time, found: Option<(Lease, Version)>) {
        let Some((mut lease, version)) = found else {
            if self.known.is_empty() {
                return self.finish(GuardOutcome::Nothing);
            }
            // Someone restored the settings and deleted the lease, or only deleted it. This guard
            // still knows the originals.
            return self.ask(Stage::Compare { lease: None }, Command::ReadSettings);
        };
        let lives: Vec<Liveness> = match &lease.phase {
            Phase::Restoring { by } if *by == self.me => {
                return self.ask(Stage::Compare { lease: Some((lease, version)) }, Command::ReadSettings);
            }
            Phase::Restoring { by } => vec![self.observer.restorer(now, by)],
            Phase::Held => {
                lease.holders.keys().filter(|id| **id != self.me).map(|id| self.observer.holder(now, id)).collect()
            }
        };
        let living = lives.iter().filter(|life| **life != Liveness::Dead).count();
        if living == 0 {
            return self.take(lease, version);
        }
        let holders = if lease.phase == Phase::Held { living } else { 0 };
        match self.purpose {
            Purpose::Hold | Purpose::Leave if lease.holders.remove(&self.me).is_some() => {
                self.ask(Stage::Part { holders }, Command::WriteLease { lease, over: Precondition::Version(version) });
            }
            Purpose::Hold | Purpose::Leave => self.finish(GuardOutcome::PassedOn { holders }),
            Purpose::Recover => match lives.iter().filter_map(until).max() {
                // One living holder is enough: it will restore.
                Some(until) if !lives.contains(&Liveness::Alive) => {
                    self.ask(Stage::Wait, Command::Wait { until: until.min(now + LOOK_EVERY) });
                }
                _ => self.finish(GuardOutcome::PassedOn { holders }),
            },
        }
    }

    /// Claims the restore. Other guards that try meet a conflict.
    fn take(&mut self, lease: Lease, version: Version) {
        let lease = Lease { phase: Phase::Restoring { by: self.me.clone() }, holders: BTreeMap::new(), ..lease };
        let stage = Stage::Take { lease: lease.clone() };
        self.ask(stage, Command::WriteLease { lease, over: Precondition::Version(version) });
    }

    fn compare(&mut self, lease: Option<(Lease, Version)>, settings: &Settings) {
        let changes = &self.restorable(lease.as_ref());
        let standing =
            |wanted: SettingState| changes.iter().filter(move |(name, change)| change.state(name, settings) == wanted);
        let values: BTreeMap<_, _> =
            standing(SettingState::Applied).map(|(name, change)| (name.clone(), change.original.clone())).collect();
        // A setting that was refused for the load was never changed.
        let foreign = standing(SettingState::Foreign).map(|(name, _)| name.clone()).collect();
        if values.is_empty() {
            return self.clear(lease, foreign);
        }
        let command = Command::Put { values: values.clone(), changes: changes.clone() };
        self.ask(Stage::Restore { lease, puts: Puts::new(values), foreign }, command);
    }

    fn restored(
        &mut self,
        lease: Option<(Lease, Version)>,
        mut puts: Puts,
        foreign: Vec<String>,
        refused: Option<String>,
    ) {
        if puts.advance(refused) {
            let changes = self.restorable(lease.as_ref());
            let command = Command::Put { values: puts.now.clone(), changes };
            return self.ask(Stage::Restore { lease, puts, foreign }, command);
        }
        let refused = puts.refused;
        match lease {
            _ if refused.is_empty() => self.clear(lease, foreign),
            // The lease has no holders then, so that anyone can retry at once.
            Some((mut lease, version)) => {
                lease.phase = Phase::Held;
                lease.changes = self.restorable(Some(&(lease.clone(), version)));
                lease.changes.retain(|name, _| refused.contains_key(name));
                let command = Command::WriteLease { lease, over: Precondition::Version(version) };
                self.ask(Stage::Keep { refused }, command);
            }
            None => self.finish(GuardOutcome::NotRestored { refused }),
        }
    }

    /// The changes to restore: those of the lease, and those that the creation of the index has
    /// made. Without a lease, all that this guard knows of.
    fn restorable(&self, lease: Option<&(Lease, Version)>) -> Changes {
        let Some((lease, _)) = lease else { return self.known.clone() };
        let mut changes = self.made.clone();
        changes.extend(lease.changes.clone());
        changes
    }

    fn clear(&mut self, lease: Option<(Lease, Version)>, foreign: Vec<String>) {
        match lease {
            Some((_, version)) => self.ask(Stage::Clear { foreign }, Command::DeleteLease { version }),
            None => self.finish(GuardOutcome::Restored { foreign }),
        }
    }

    fn look(&mut self) {
        self.ask(Stage::Look, Command::ReadLease);
    }

    fn ask(&mut self, stage: Stage, command: Command) {
        self.stage = stage;
        self.command = Some(command);
    }

    fn finish(&mut self, outcome: GuardOutcome) {
        self.stage = Stage::Ended;
        self.outcome = Some(outcome);
    }

    fn next_beat(&mut self) -> Holder {
        self.beat += 1;
        Holder { beat: self.beat }
    }
}

fn until(life: &Liveness) -> Option<Time> {
    match life {
        Liveness::UnknownUntil(until) => Some(*until),
        Liveness::Alive | Liveness::Dead => None,
    }
}

fn problem(reply: Reply) -> String {
    match reply {
        Reply::Failed(why) | Reply::Refused(why) => why,
        Reply::Gone => "the index does not exist any more".to_owned(),
        other => format!("the reply does not fit the command: {other:?}"),
    }
}
