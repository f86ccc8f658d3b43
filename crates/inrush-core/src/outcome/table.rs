//! What each error of a server is about: the one table of both products' exceptions.
//!
//! `scripts/exceptions.sh` lists the exceptions of the servers' own archives in `exceptions.csv`. A
//! test fails for one that has no row here, so a new version shows what is new.

use std::ops::RangeInclusive;

use super::Condition;
use crate::codes::Code;

/// What an error is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum About {
    /// The document: the server will never take it.
    Document,
    /// The mapping of a new field, which another request made of its document at the same time,
    /// with another type. A later attempt is parsed by that mapping.
    Mapping,
    /// The document in the index, which has the same id.
    Existing,
    /// The index: it takes nothing at the moment.
    Index(Condition),
    /// The target as it is set up: it takes no document like these, or no further one.
    Target,
    /// The user's credentials or rights.
    User,
    /// A shard: it moves, was closed, or failed. A later attempt finds another copy.
    Shard,
    /// Files: a disk that is full or fails, and the shard that was closed for it.
    Disk,
    /// A node, or the way to it.
    Node,
    /// The state of the cluster, such as its elected node, a template or an alias.
    Cluster,
    /// An ingest pipeline or its scripts.
    Pipeline,
    /// The server failed in a way that says nothing about the cause.
    Server,
    /// Searches, snapshots, the start of a node: no bulk reply is known to contain it.
    Elsewhere,
    /// It is in no row.
    Unknown,
}

/// Errors with the same meaning.
struct Row {
    about: About,
    statuses: RangeInclusive<u16>,
    /// Parts of the reason that make the difference.
    saying: &'static [&'static str],
    /// The types.
    kinds: &'static [&'static str],
}

const fn row(about: About, statuses: RangeInclusive<u16>, kinds: &'static [&'static str]) -> Row {
    Row { about, statuses, saying: &[], kinds }
}

impl Row {
    const fn saying(self, saying: &'static [&'static str]) -> Row {
        Row { saying, ..self }
    }

    fn fits(&self, status: u16, kind: &str, reason: &str) -> bool {
        self.statuses.contains(&status)
            && self.kinds.contains(&kind)
            && self.saying.iter().all(|part| reason.contains(part))
    }
}

/// What an error is about. The first row that fits decides.
pub(crate) fn about(status: u16, kind: &str, reason: &str) -> About {
    TABLE.iter().find(|row| row.fits(status, kind, reason)).map_or(About::Unknown, |row| row.about)
}

const ANY: RangeInclusive<u16> = 0..=u16::MAX;
const REFUSED: RangeInclusive<u16> = 400..=499;

const TABLE: &[Row] = &[
    // Blocks. The flood stage sets `read_only_allow_delete`: older servers answer 403, newer ones
    // 429. 503 is a cluster without an elected node.
    row(About::Index(Condition::FloodStage), 403..=403, &["cluster_block_exception"])
        .saying(&["read-only / allow delete"]),
    row(About::Index(Condition::FloodStage), 429..=429, &["cluster_block_exception"]),
    row(About::Index(Condition::IndexClosed), 403..=403, &["cluster_block_exception"]).saying(&["index closed"]),
    row(About::Index(Condition::IndexClosed), 403..=403, &["cluster_block_exception"])
        .saying(&["index preparing to close"]),
    row(About::Index(Condition::CreateBlock), ANY, &["index_create_block_exception"]),
    row(About::Index(Condition::CreateBlock), 403..=403, &["cluster_block_exception"])
        .saying(&["cluster create-index blocked"]),
    row(About::Index(Condition::WriteBlock), 403..=403, &["cluster_block_exception"]),
    row(About::Cluster, ANY, &["cluster_block_exception"]),
    row(About::Index(Condition::IndexClosed), REFUSED, &["index_closed_exception"]),
    // The alias was removed. Without `require_alias` the server would create an index of its name.
    row(About::Target, 404..=404, &["index_not_found_exception"]).saying(&["[require_alias]"]),
    row(About::Index(Condition::IndexMissing), 404..=404, &["index_not_found_exception"]),
    // The cluster may not open another shard or index, so it cannot create the index.
    // `validation_exception`; Elasticsearch 7: `illegal_argument_exception`.
    row(About::Target, REFUSED, &["validation_exception", "illegal_argument_exception"])
        .saying(&["maximum", "shards open"]),
    row(About::Target, REFUSED, &["index_limit_exceeded_exception"]),
    // The shard is full (2^31 - 519 documents), so all later documents fail as well.
    row(About::Target, REFUSED, &["illegal_argument_exception"])
        .saying(&["number of documents in the index cannot exceed"]),
    // Every document fails if the pipeline does not exist.
    row(About::Target, REFUSED, &["illegal_argument_exception"]).saying(&["pipeline with id [", "] does not exist"]),
    // The target takes another action, or none from outside: a data stream, an index without
    // sequence numbers, an index that reads its documents from a stream.
    row(About::Target, REFUSED, &["illegal_argument_exception"])
        .saying(&["only write ops with an op_type of create are allowed in data streams"]),
    row(
        About::Target,
        REFUSED,
        &["update_not_supported_exception", "o_c_c_not_supported_exception", "ingestion_engine_exception"],
    ),
    // The server, or a gateway in its name, does not know a parameter of the request.
    row(About::Target, REFUSED, &["illegal_argument_exception"]).saying(&["contains unrecognized parameter"]),
    // An alias that changes hands: for a moment it has no index to write to, or two.
    row(About::Cluster, REFUSED, &["illegal_argument_exception"]).saying(&["no write index is defined for alias"]),
    row(About::Cluster, REFUSED, &["illegal_argument_exception"]).saying(&["got resolved to multiple"]),
    // The elected node refuses what the primary made of a document: it knows a mapping of the field
    // that the primary did not know yet. A document whose own array has values of two types gets
    // the same error each time.
    row(About::Mapping, 400..=400, &["illegal_argument_exception"])
        .saying(&["mapper [", "] cannot be changed from type ["]),
    // Versions before 7.9.
    row(About::Mapping, 400..=400, &["illegal_argument_exception"])
        .saying(&["mapper [", "] of different type, current_type ["]),
    // The other one has an object, or no object.
    row(About::Mapping, 400..=400, &["illegal_argument_exception"]).saying(&["can't merge a", "object mapping"]),
    row(About::Existing, 409..=409, &["version_conflict_engine_exception"]),
    // The privilege is missing for every document of the index. With 500 it is Java's exception.
    row(
        About::User,
        401..=403,
        &["security_exception", "role_restriction_exception", "authentication_processing_error"],
    ),
    // The JSON, a value, an id, a routing, the name of the index, or what a script or pipeline
    // made of this document.
    row(
        About::Document,
        REFUSED,
        &[
            "mapper_parsing_exception",
            "document_parsing_exception",
            "strict_dynamic_mapping_exception",
            "illegal_argument_exception",
            "number_format_exception",
            "x_content_parse_exception",
            "x_content_e_o_f_exception",
            "json_parse_exception",
            "json_e_o_f_exception",
            "unexpected_end_of_input_exception",
            "input_coercion_exception",
            "parsing_exception",
            "parse_exception",
            "named_object_not_found_exception",
            "not_x_content_exception",
            "action_request_validation_exception",
            "document_missing_exception",
            "document_source_missing_exception",
            "routing_missing_exception",
            "script_exception",
            "query_shard_exception",
            "invalid_index_name_exception",
            "invalid_type_name_exception",
            "invalid_selector_exception",
            "unsupported_selector_exception",
            "timestamp_error",
            "failure_index_not_supported_exception",
        ],
    ),
    // As above, with status 500: JSON that is deeper or longer than the server reads.
    row(About::Document, ANY, &["stream_constraints_exception"]),
    // What this side says of a document whose look-up failed.
    row(
        About::Document,
        404..=404,
        &[
            Code::NoRecord.name(),
            Code::BadKey.name(),
            Code::RefusedKey.name(),
            Code::SeveralRecords.name(),
            Code::UnclearRecord.name(),
            Code::TooLarge.name(),
        ],
    ),
    // A shard that is moving, closed, recovering or failed.
    row(
        About::Shard,
        ANY,
        &[
            "shard_not_found_exception",
            "illegal_index_shard_state_exception",
            "index_shard_closed_exception",
            "index_shard_not_recovering_exception",
            "index_shard_not_started_exception",
            "index_shard_recovering_exception",
            "index_shard_relocated_exception",
            "index_shard_started_exception",
            "index_shard_recovery_exception",
            "index_shard_restore_exception",
            "index_shard_restore_failed_exception",
            "primary_shard_closed_exception",
            "shard_not_in_primary_mode_exception",
            "unavailable_shards_exception",
            "primary_missing_action_exception",
            "no_longer_primary_shard_exception",
            "retry_on_primary_exception",
            "retry_on_replica_exception",
            "index_primary_shard_not_allocated_exception",
            "illegal_shard_routing_state_exception",
            "routing_exception",
            "shard_lock_obtain_failed_exception",
            "engine_exception",
            "engine_creation_failure_exception",
            "flush_failed_engine_exception",
            "refresh_failed_engine_exception",
            "recovery_engine_exception",
            "merge_failed_engine_exception",
            "snapshot_failed_engine_exception",
            "recovery_failed_exception",
            "recover_files_recovery_exception",
            "recovery_cancelled_exception",
            "recovery_commit_too_new_exception",
            "delay_recovery_exception",
            "peer_recovery_not_found",
            "shard_recovery_not_cancellable_exception",
            "replication_failed_exception",
            "broadcast_shard_operation_failed_exception",
            "default_shard_operation_failed_exception",
            "append_only_index_operation_retry_exception",
            "missing_history_operations_exception",
            "stale_request_exception",
            "slice_missing_exception",
            "retention_lease_already_exists_exception",
            "retention_lease_not_found_exception",
            "retention_lease_invalid_retaining_seq_no_exception",
            "autoscaling_missed_indices_update_exception",
            "merge_exception",
            "merge_aborted_exception",
            "merge_drain_timeout_exception",
            "tiering_rejection_exception",
            "immutable_directory_exception",
        ],
    ),
    // Files of a shard: a full or failing disk, and the engine that was closed for it. Lucene has
    // an `IndexNotFoundException` of its own, with status 500.
    row(
        About::Disk,
        ANY,
        &[
            "i_o_exception",
            "unchecked_i_o_exception",
            "e_o_f_exception",
            "file_not_found_exception",
            "no_such_file_exception",
            "file_system_exception",
            "file_already_exists_exception",
            "access_denied_exception",
            "already_closed_exception",
            "closed_channel_exception",
            "closed_by_interrupt_exception",
            "corrupt_index_exception",
            "corrupt_file_exception",
            "corruption_exception",
            "corrupt_state_exception",
            "write_state_exception",
            "translog_exception",
            "translog_corrupted_exception",
            "truncated_translog_exception",
            "translog_upload_failed_exception",
            "segment_upload_failed_exception",
            "remote_state_transfer_exception",
            "file_transfer_exception",
            "checksum_combination_exception",
            "index_format_too_new_exception",
            "index_format_too_old_exception",
            "lock_obtain_failed_exception",
            "lock_release_failed_exception",
            "index_not_found_exception",
            "prepare_commit_fail_exception",
            "commit_fail_exception",
            "gateway_exception",
            "blob_store_exception",
        ],
    ),
    // A node without room, or one that leaves; a connection between nodes.
    row(
        About::Node,
        ANY,
        &[
            "es_rejected_execution_exception",
            "rejected_execution_exception",
            "circuit_breaking_exception",
            "response_limit_breached_exception",
            "out_of_memory_error",
            "thread_interrupted_exception",
            "interrupted_exception",
            "execution_cancelled_exception",
            "cancellation_exception",
            "execution_exception",
            "uncategorized_execution_exception",
            "node_closed_exception",
            "node_disconnected_exception",
            "node_not_connected_exception",
            "node_should_not_connect_exception",
            "node_decommissioned_exception",
            "node_weighed_away_exception",
            "node_health_check_failure_exception",
            "no_shard_available_action_exception",
            "no_such_node_exception",
            "no_node_available_exception",
            "no_seed_node_left_exception",
            "failed_node_exception",
            "connect_transport_exception",
            "connect_exception",
            "socket_timeout_exception",
            "unknown_host_exception",
            "send_request_transport_exception",
            "receive_timeout_transport_exception",
            "remote_transport_exception",
            "response_handler_failure_transport_exception",
            "action_not_found_transport_exception",
            "action_transport_exception",
            "transport_exception",
            "transport_not_ready_exception",
            "transport_serialization_exception",
            "not_serializable_transport_exception",
            "bind_transport_exception",
            "stream_exception",
            "http_exception",
            "http_read_timeout_exception",
            "remote_exception",
            "no_such_remote_cluster_exception",
            "persistent_task_node_not_assigned_exception",
            "not_persistent_task_node_exception",
            "health_node_not_discovered_exception",
            "decommissioning_failed_exception",
        ],
    ),
    // No elected node, a change of the cluster's state that takes too long, a task that a user
    // cancelled, an index that another request made at the same time, or that a template makes
    // wrong.
    row(
        About::Cluster,
        ANY,
        &[
            "master_not_discovered_exception",
            "cluster_manager_not_discovered_exception",
            "not_master_exception",
            "not_cluster_manager_exception",
            "failed_to_commit_cluster_state_exception",
            "process_cluster_event_timeout_exception",
            "cluster_manager_throttling_exception",
            "coordination_state_rejected_exception",
            "incompatible_cluster_state_version_exception",
            "timeout_exception",
            "task_cancelled_exception",
            "resource_already_exists_exception",
            "resource_not_found_exception",
            "resource_already_uploaded_exception",
            "index_creation_exception",
            "index_template_missing_exception",
            "invalid_index_template_exception",
            "invalid_index_context_exception",
            "invalid_alias_name_exception",
            "aliases_not_found_exception",
            "type_missing_exception",
            "settings_exception",
            "no_class_settings_exception",
            "validation_exception",
            "alias_filter_parsing_exception",
            "multi_project_pending_exception",
        ],
    ),
    // Scripts that cannot be compiled now, models and data that a processor waits for, and what an
    // `on_failure` hides behind `fail`.
    row(
        About::Pipeline,
        ANY,
        &[
            "general_script_exception",
            "fail_processor_exception",
            "painless_error",
            "painless_explain_error",
            "wrapped_checked_exception",
            "ingest_pipeline_exception",
            "ingest_processor_exception",
            "graph_structure_exception",
            "address_not_found_runtime_exception",
            "unsupported_database_type_exception",
            "model_deployment_timeout_exception",
            "stream_size_exceeded_exception",
            "exception_with_failure_store_status",
            "find_match",
            "key_parse",
            "pattern_parse",
        ],
    ),
    // Java's own exceptions, and types that only carry a status.
    row(
        About::Server,
        ANY,
        &[
            "exception",
            "status_exception",
            "runtime_exception",
            "not_serializable_exception_wrapper",
            "illegal_state_exception",
            "null_pointer_exception",
            "unsupported_operation_exception",
            "unsupported_version_exception",
            "class_cast_exception",
            "arithmetic_exception",
            "assertion_error",
            "array_index_out_of_bounds_exception",
            "index_out_of_bounds_exception",
            "string_index_out_of_bounds_exception",
            "concurrent_modification_exception",
            "no_such_element_exception",
            "date_time_exception",
            "date_time_parse_exception",
            "no_class_def_found_error",
            "stack_overflow_error",
            "mapper_exception",
            "routing_extraction_exception",
            "timestamp_parsing_exception",
            "generation_exception",
            "x_content_generation_exception",
            "json_generation_exception",
            "stream_write_exception",
            "stream_read_exception",
            "json_processing_exception",
            "input_coercion_exception",
            "json_e_o_f_exception",
            "json_parse_exception",
            "not_x_content_exception",
            "parse_exception",
            "parsing_exception",
            "unexpected_end_of_input_exception",
            "not_compressed_exception",
            "max_bytes_length_exceeded_exception",
            "duplicate_term_exception",
            "size_limit_exceeded_exception",
            "already_set_exception",
            "buffer_allocation_exception",
            "not_enough_r_a_m_exception",
            "not_entitled_exception",
            "security_exception",
            "role_restriction_exception",
            "authentication_processing_error",
        ],
    ),
    // Searches, snapshots and repositories, the start of a node, tools.
    row(
        About::Elsewhere,
        ANY,
        &[
            "abort_filter_rewrite_optimization_exception",
            "aborted_snapshot_exception",
            "aggregation_execution_exception",
            "aggregation_initialization_exception",
            "api_not_available_exception",
            "authentication_terminated_successfully_exception",
            "bad_parameter_exception",
            "bind_http_exception",
            "bootstrap_exception",
            "bulk_delete_roles_response_exception",
            "bulk_index_roles_response_exception",
            "check_index_exception",
            "collection_terminated_exception",
            "concurrent_snapshot_execution_exception",
            "configuration_exception",
            "content_type_header_exception",
            "creation_exception",
            "crypto_registry_exception",
            "dfs_phase_execution_exception",
            "doc_terms_index_exception",
            "early_termination_exception",
            "errors_exception",
            "exiting_reader_exception",
            "expand_exception",
            "f_l_s_query_not_cacheable",
            "failed_to_mark_built_in_roles_as_synced_exception",
            "failure",
            "feature_not_enabled_exception",
            "fetch_phase_execution_exception",
            "fuzzy_terms_exception",
            "header_validation_exception",
            "http_headers_validation_exception",
            "http_request_on_transport_exception",
            "index_shard_snapshot_exception",
            "index_shard_snapshot_failed_exception",
            "initialize_policy_exception",
            "invalid_aggregation_path_exception",
            "invalid_path",
            "invalid_project_routing_exception",
            "invalid_snapshot_name_exception",
            "invalid_token_offsets_exception",
            "jackson_exception",
            "jackson_i_o_exception",
            "jvm_options_file_parser_exception",
            "lookahead_success",
            "media_type_header_exception",
            "memory_limit_exceeded_exception",
            "missing_command_exception",
            "no_matching_project_exception",
            "no_more_terms_exception",
            "node_validation_exception",
            "out_of_scope_exception",
            "parser_exception",
            "paused_snapshot_exception",
            "policy_initialization_exception",
            "policy_parser_exception",
            "policy_validation_exception",
            "preference_based_search_not_allowed_exception",
            "provision_exception",
            "query_node_error",
            "query_node_exception",
            "query_node_parse_exception",
            "query_phase_execution_exception",
            "query_validation_exception",
            "record",
            "reduce_search_phase_exception",
            "remote_dataset_not_supported_exception",
            "remote_resource_not_supported_exception",
            "remote_view_not_supported_exception",
            "repository_conflict_exception",
            "repository_exception",
            "repository_missing_exception",
            "repository_verification_exception",
            "requested_range_not_satisfied_exception",
            "response_exception",
            "retriever_nesting_depth_exceeded_exception",
            "rollup_action_request_validation_exception",
            "search_context_missing_exception",
            "search_context_missing_nodes_exception",
            "search_exception",
            "search_parse_exception",
            "search_phase_execution_exception",
            "search_pipeline_processing_exception",
            "search_request_map_processing_exception",
            "search_source_builder_exception",
            "search_timeout_exception",
            "shard_search_failure",
            "snapshot_creation_exception",
            "snapshot_exception",
            "snapshot_in_progress_exception",
            "snapshot_in_use_deletion_exception",
            "snapshot_missing_exception",
            "snapshot_name_already_in_use_exception",
            "snapshot_restore_exception",
            "snapshot_shard_failure",
            "ssl_config_exception",
            "startup_exception",
            "suggestion_timeout_exception",
            "task_relocated_exception",
            "tile_exception",
            "time_exceeded_exception",
            "token_mgr_error",
            "too_complex_to_determinize_exception",
            "too_many_basic_queries",
            "too_many_buckets_exception",
            "too_many_clauses",
            "too_many_nested_clauses",
            "too_many_scroll_contexts_exception",
            "unified_chat_completion_exception",
            "unsupported_aggregation_on_downsampled_index",
            "unsupported_spatial_operation",
            "unsupported_weighted_routing_state_exception",
            "upgrade_action_deprecated_exception",
            "user_exception",
            "version_conflict_exception",
            "version_mismatch_exception",
            "view_already_exists_exception",
            "view_not_found_exception",
            "warning_failure_exception",
            "x_content_formatted_exception",
        ],
    ),
];

#[cfg(test)]
mod tests {
    use super::*;

    /// Each exception of the newest servers: its type and the statuses that it may have.
    fn listed() -> impl Iterator<Item = (&'static str, Vec<u16>)> {
        include_str!("exceptions.csv").lines().skip(1).map(|line| {
            let mut cells = line.split(',');
            let (kind, statuses) = (cells.next().unwrap(), cells.next().unwrap());
            // `any`: that of its cause, or an argument.
            let some = [400, 401, 403, 404, 409, 410, 429, 500, 503];
            let of = |status: &str| status.parse().map_or(some.to_vec(), |status| vec![status]);
            (kind, statuses.split(' ').flat_map(of).collect())
        })
    }

    #[test]
    fn every_exception_of_the_servers_has_a_row() {
        let unknown: Vec<_> = listed()
            .flat_map(|(kind, statuses)| statuses.into_iter().map(move |status| (kind, status)))
            .filter(|(kind, status)| about(*status, kind, "") == About::Unknown)
            .collect();
        assert!(unknown.is_empty(), "no row says what these are about: {unknown:?}");
        assert!(listed().count() > 350);
    }

    #[test]
    fn no_type_is_in_two_rows_without_a_difference() {
        for (at, row) in TABLE.iter().enumerate() {
            for kind in row.kinds {
                let later = TABLE[at + 1..].iter().filter(|later| later.kinds.contains(kind));
                let same = later.filter(|later| later.statuses == row.statuses && later.saying == row.saying);
                assert_eq!(same.count(), 0, "{kind}");
            }
        }
    }

    #[test]
    fn only_what_a_document_says_ends_it() {
        let ends: Vec<_> = listed()
            .filter(|(kind, statuses)| statuses.iter().any(|status| about(*status, kind, "") == About::Document))
            .map(|(kind, _)| kind)
            .collect();
        for state in [
            "index_shard",
            "shard_not",
            "node",
            "index_closed",
            "block",
            "task",
            "timeout",
            "transport",
            "translog",
            "engine",
        ] {
            assert_eq!(ends.iter().find(|kind| kind.contains(state)), None, "{state}");
        }
        assert_eq!(ends.len(), 28, "{ends:?}");
    }
}
