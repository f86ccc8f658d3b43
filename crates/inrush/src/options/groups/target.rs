//! Where documents go, and as what.

use inrush_core::mapping::Mixed;
use inrush_core::{Action, FieldPath, IndexTemplate};

use crate::config::{Durability, IdFrom};
use crate::options::LoaderBuilder;
use crate::options::{Body, Count, MapFrom, OrAuto, PatternEntry, Scope, Whole};

options! {
    /// Where documents go, and as what.
    pub struct TargetOptions in LoaderBuilder.target, "Target" {
        /// Index, alias or data stream; {field} stands for the value of a field, as in 'logs-{tenant}'. It has
        /// to be given, but with option `alias`; with option `from_dead_letters` it is the one of the first
        /// load
        index: Option<IndexTemplate> = "NAME";
        /// Nodes of the cluster, repeated or separated by commas; a URL without a port means 9200. `local` is
        /// the local OpenSearch node, which is started if it does not run
        to: Vec<String> = "URL", delimited(),
            default("the local node where it runs; else a terminal is asked whether to start it, and without one the load is refused");
        /// The action for each document
        action: Option<Action> = "ACTION", default("index; create for a data stream");
        /// The field that holds the id, as in id or artist.id
        id: Option<FieldPath> = "FIELD", default("the cluster makes ids up"), server("_id");
        /// Make ids where documents have none, so that a load that is repeated or resumed has no document
        /// twice
        id_from: Option<IdFrom> = "WHAT", default("the cluster makes ids up");
        /// The field that holds the routing value
        routing: Option<FieldPath> = "FIELD", default("none"), server("routing");
        /// The field that holds the external version, a whole number; a document older than the one in the
        /// index is a conflict
        version: Option<FieldPath> = "FIELD", default("none"), server("version, version_type: external");
        /// The ingest pipeline
        pipeline: Option<String> = "NAME", default("the index's own"), server("pipeline");
        /// Fields to leave out of the documents, repeated or separated by commas
        drop: Vec<FieldPath> = "FIELD", delimited();
        /// JSON file with the mapping of an index that does not exist yet
        mapping: Option<Body> = "FILE", server("mappings");
        /// Make the mapping of an index that does not exist yet from the first 100,000 documents, as
        /// `inrush mapping` does; later ones that do not fit are dead letters
        map: Option<MapFrom> = "auto", default("the cluster's dynamic mapping"), conflicts(&["mapping"]);
        /// With option `map=auto`, what happens to a field that is an object here and a value there, or a
        /// number here and a text there
        mixed: Option<Mixed> = "HOW", default("widen");
        /// JSON file with the settings of an index that does not exist yet
        settings: Option<Body> = "FILE", server("settings");
        /// Mapping, settings, shards and replicas of new indices by the pattern of their name, the first
        /// match wins; for an option `index` with placeholders. In a job file, tables written as [[indices]]
        indices: Vec<PatternEntry> = "TABLES", scope(Scope::Structured);
        /// Primary shards of an index that does not exist yet; `auto`: a number at which each will hold 10 to
        /// 30 GB, as far as the sources tell how large the index will be (of stdin nothing is known, and it
        /// gets the default)
        shards: Option<OrAuto<Count>> = "N|auto", default("the cluster's"), server("index.number_of_shards");
        /// Replicas of an index that does not exist yet
        replicas: Option<Whole<0, { u32::MAX }>> = "N", default("the cluster's"), server("index.number_of_replicas");
        /// Delete the index first, with all its documents; asks, unless option `yes` is given. The index is
        /// kept where the sources cannot be read or are empty, or where the cluster would not make it anew
        recreate: bool;
        /// Leave the settings of the index as they are. Otherwise a large load (256 MiB of sources or more)
        /// into an empty index has no replicas, and a very large one (1 GiB) refreshes, flushes and merges
        /// less; all of it is put back. With this option nothing but documents is written to the cluster, so
        /// loads into one index at the same time do not know each other
        leave_settings: bool;
        /// When a document counts as in
        durability: Option<Durability> = "WHEN", default("request"), server("index.translog.durability");
        /// No replicas during the load, whatever its size; an index with documents has to be green, and
        /// asks, unless option `yes` is given
        replicas_off: bool;
        /// Load although a policy (ILM, ISM) is about to make the index read-only, shrink or delete it, within
        /// a day. Otherwise that is refused, and later steps of the policy are a warning
        under_policy: bool;
        /// Do not ask
        yes: bool;
    }
}
