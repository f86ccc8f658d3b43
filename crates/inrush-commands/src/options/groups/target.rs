//! Options of the target: the index, the ids, and how the index is created.

use inrush_core::mapping::Mixed;
use inrush_core::{Action, FieldPath, IndexTemplate};

use crate::options::LoaderBuilder;
use crate::options::{Body, Count, MapFrom, OrAuto, Outputs, PatternEntry, Scope, Whole};
use inrush_load::config::{Durability, IdFrom};

options! {
    /// The target: the index, the ids, and how the index is created.
    pub struct TargetOptions in LoaderBuilder.target, "Target" {
        /// Index, alias or data stream; {field} stands for the value of a field, as in
        /// 'logs-{tenant}', and {field:format} for a date in UTC, as in
        /// 'logs-{@timestamp:yyyy.MM.dd}'. Required, except with option `alias`. With option
        /// `from_dead_letters` the default is the index of the first load
        index: Option<IndexTemplate> = "NAME", outputs(Outputs::Own);
        /// Nodes of the cluster, repeated or separated by commas; the default port is 9200, and
        /// that of the scheme (443) for hosts of Elastic Cloud, Amazon and Bonsai. `local` is the
        /// local OpenSearch node, which is started if it does not run
        to: Vec<String> = "URL", outputs(Outputs::All), delimited(),
            default("the variable INRUSH_TO; without it the local node if it runs; else the user is asked whether to start it, and without a terminal the load is refused");
        /// The action for each document
        action: Option<Action> = "ACTION", default("index; create for a data stream");
        /// The field that holds the id, as in id or artist.id
        id: Option<FieldPath> = "FIELD", outputs(Outputs::Own), default("the cluster generates ids"), server("_id");
        /// Generate the ids from the position or the content of documents, so that a repeated or
        /// resumed load makes no duplicates
        id_from: Option<IdFrom> = "WHAT", outputs(Outputs::Own), default("the cluster generates ids");
        /// The field that holds the routing value
        routing: Option<FieldPath> = "FIELD", default("none"), server("routing");
        /// The field that holds the external version, a whole number; a document with an older
        /// version than the one in the index is a conflict
        version: Option<FieldPath> = "FIELD", default("none"), server("version, version_type: external");
        /// The ingest pipeline
        pipeline: Option<String> = "NAME", default("the index's own"), server("pipeline");
        /// JSON file with the mapping of a new index
        mapping: Option<Body> = "FILE", outputs(Outputs::Own), server("mappings");
        /// Infer the mapping of a new index from the first 100,000 documents, as `inrush mapping`
        /// does; later documents that do not fit are dead letters
        map: Option<MapFrom> = "auto", default("the cluster's dynamic mapping"), conflicts(&["mapping"]);
        /// With option `map=auto`: the type of a field that is an object in some documents and a
        /// value in others, or a number in some and text in others
        mixed: Option<Mixed> = "HOW", default("widen");
        /// JSON file with the settings of a new index
        settings: Option<Body> = "FILE", server("settings");
        /// Mapping, settings, shards and replicas of new indices by the pattern of their name; the
        /// first match wins. For an option `index` with placeholders. In a job file, tables written
        /// as [[indices]]
        indices: Vec<PatternEntry> = "TABLES", scope(Scope::Structured);
        /// Take neither mapping nor settings of another index. By default a new index gets those of
        /// the index that it replaces (option `alias`), or those of the source index, unless other
        /// options or an index template give them
        no_copy: bool, conflicts(&["copy_mapping", "copy_settings"]);
        /// Primary shards of a new index. `auto`: a number with which each shard will hold 10 to 30
        /// GB, estimated from the sources (for stdin, whose size is unknown, the default)
        shards: Option<OrAuto<Count>> = "N|auto", default("the cluster's"), server("index.number_of_shards");
        /// Replicas of a new index
        replicas: Option<Whole<0, { u32::MAX }>> = "N", default("the cluster's"), server("index.number_of_replicas");
        /// Delete the index first, with all its documents, its mapping and its settings; asks,
        /// unless option `yes` is given. The new index gets the aliases of the old one. The index
        /// is kept if the sources cannot be read or are empty, if a file of the load cannot be
        /// written, or if the cluster would not accept the new one
        recreate: bool;
        /// Do not change settings of the index. By default a large load (256 MiB of sources or
        /// more) into an empty index runs without replicas, and a very large one (1 GiB) with fewer
        /// refreshes, flushes and merges; all settings are put back. With this option only
        /// documents are written to the cluster, so several loads into one index do not know of
        /// each other
        leave_settings: bool;
        /// When a document counts as indexed
        durability: Option<Durability> = "WHEN", default("request"), server("index.translog.durability");
        /// No replicas during the load, for any size. An index with documents has to be green.
        /// Asks, unless option `yes` is given
        replicas_off: bool;
        /// Load although a policy (ILM, ISM) will make the index read-only, shrink or delete it
        /// within a day. By default that is refused, and later steps of the policy are a warning
        under_policy: bool;
        /// Confirm all questions in advance
        yes: bool;
    }
}
