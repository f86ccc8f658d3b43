//! Which flags of a load mean something for a bake.

use crate::args::{ErrorArgs, FinishArgs, IndexArgs, LoadArgs, ResumeArgs, SizeArgs, SourceArgs};
use crate::failure::UsageError;

/// Refuses the flags that a bake has no use for. Every flag of a load is named here, so that a new
/// one does not compile before somebody has decided which it is.
pub(super) fn refuse_unused(args: &LoadArgs) -> Result<(), UsageError> {
    let LoadArgs { source, index, auth: _, sizes, errors, finish, resume, output: _ } = args;
    let SourceArgs { sources: _, job: _, from_dead_letters: _, reading: _, database, sql, explain, from } = source;
    used(index, sizes, errors, finish, resume);
    let refused = [
        (database.given(), "a bake reads files, and no database; load it with `inrush load`"),
        (explain.then_some("--explain"), "a bake has no query; leave it out"),
        (sql.given(), "a bake reads files as they are; load the result of a query with `inrush load`"),
        (from.given(), "a bake reads files, and no index of a cluster; copy that with `inrush load`"),
        (
            index.under_policy.then_some("--under-policy"),
            "a bake makes a new index, which no policy keeps documents out of; leave it out",
        ),
    ];
    match refused.into_iter().find_map(|(flag, why)| flag.map(|flag| (flag, why))) {
        None => Ok(()),
        Some((flag, why)) => {
            let (why, hint) = why.split_once("; ").unwrap_or((why, "leave it out"));
            Err(UsageError::new(format!("{flag} is given, and {why}")).hint(hint))
        }
    }
}

/// Names all other flags. They go into the configuration of the load into the builder or of the end
/// on the target, or are refused there by [`inrush::bake::BakeConfig::check`]. `--leave-settings`
/// holds without doing anything: a bake changes no setting of an index that is in use.
fn used(index: &IndexArgs, sizes: &SizeArgs, errors: &ErrorArgs, finish: &FinishArgs, resume: &ResumeArgs) {
    let IndexArgs {
        index: _,
        to: _,
        action: _,
        id: _,
        id_from: _,
        routing: _,
        version_field: _,
        pipeline: _,
        drop: _,
        mapping: _,
        map: _,
        mixed: _,
        settings: _,
        shards: _,
        replicas: _,
        recreate: _,
        leave_settings: _,
        durability: _,
        replicas_off: _,
        under_policy: _,
        yes: _,
    } = index;
    let SizeArgs {
        batch_bytes: _,
        batch_docs: _,
        in_flight: _,
        gentle: _,
        max_rate: _,
        trace: _,
        linger: _,
        memory: _,
        workers: _,
        max_document_bytes: _,
        request_timeout: _,
        retry_for: _,
        retries: _,
        pause_for: _,
        encoding: _,
        compression: _,
        bulk_routing: _,
        replies: _,
    } = sizes;
    let ErrorArgs {
        on_conflict: _,
        dead_letters: _,
        strict: _,
        max_errors: _,
        tolerate: _,
        allow_empty: _,
        dry_run: _,
        no_verify: _,
    } = errors;
    let FinishArgs {
        alias: _,
        delete_old: _,
        allow_shrink: _,
        old_writes: _,
        warm: _,
        force_merge: _,
        wait_for: _,
        wait_timeout: _,
    } = finish;
    let ResumeArgs { resume: _, once: _, state: _ } = resume;
}
