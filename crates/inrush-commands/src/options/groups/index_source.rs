//! An index of another cluster as the source.

use std::path::PathBuf;

use super::LoginOptions;
use crate::options::LoaderBuilder;
use crate::options::{Outputs, SearchQuery};
use inrush_cluster::transport::aws::Service;

options! {
    /// The part of another cluster's index that is read, and the properties of the index that the
    /// target gets.
    pub struct IndexSourceOptions in LoaderBuilder.index_source, "Source: an index of another cluster", outputs(Outputs::All) {
        /// The query that selects the documents of the index, as JSON or @FILE, in the syntax of a
        /// search
        query: Option<SearchQuery> = "JSON|@FILE", default("all");
        /// Write the id of a document as INDEX:ID, so that documents of several indices with one id
        /// stay apart
        index_in_id: bool;
        /// Write documents with their versions as external ones: an older document never replaces a
        /// newer one
        keep_versions: bool;
        /// After all documents are read, also read those that were written in the meantime, until
        /// there are none (at most ten times). Deletions are not seen: deleted documents stay in
        /// the target
        catch_up: bool;
        /// If the target does not exist, create it with the mapping of the source index, also where
        /// an index template gives one; parts that the target does not support are left out and
        /// listed. By default mapping and settings are copied where that is possible (option
        /// `no_copy`)
        copy_mapping: bool;
        /// If the target does not exist, create it with the settings of the source index; settings
        /// of its cluster are left out and listed. Option `shards` and option `replicas` take
        /// precedence
        copy_settings: bool;
    }
}

options! {
    /// Authentication at the source, which is a cluster or Kafka's brokers, as [`LoginOptions`] for
    /// the target.
    pub struct SourceLoginOptions in LoaderBuilder.source_login, "Source: an index of another cluster", outputs(Outputs::All) {
        /// User of basic authentication; the password comes from option `from_password_file`, the
        /// environment or a prompt
        from_user: Option<String> = "NAME";
        /// File that holds the password
        from_password_file: Option<PathBuf> = "FILE";
        /// Environment variable that holds the password
        from_password_env: Option<String> = "VARIABLE", default("INRUSH_FROM_PASSWORD");
        /// File that holds the API key, as id:key or as the cluster encoded it
        from_api_key_file: Option<PathBuf> = "FILE";
        /// Environment variable that holds the API key
        from_api_key_env: Option<String> = "VARIABLE", default("INRUSH_FROM_API_KEY, if set");
        /// File that holds the bearer token
        from_bearer_file: Option<PathBuf> = "FILE";
        /// Environment variable that holds the bearer token
        from_bearer_env: Option<String> = "VARIABLE", default("INRUSH_FROM_BEARER, if set");
        /// PEM file with certificate authorities to trust in addition to the system's
        from_ca: Option<PathBuf> = "FILE";
        /// PEM file with the client certificate; needs option `from_key`
        from_cert: Option<PathBuf> = "FILE";
        /// PEM file with the private key of option `from_cert`
        from_key: Option<PathBuf> = "FILE";
        /// Accept any certificate of the cluster, so that anyone on the network path can read and
        /// change everything
        from_insecure: bool;
        /// Sign requests for an Amazon service
        from_aws_sigv4: Option<Service> = "SERVICE";
        /// AWS region, also for option `kafka_sasl=aws-iam`
        from_aws_region: Option<String> = "REGION", default("AWS_REGION, AWS_DEFAULT_REGION, the profile's, then the host name's");
        /// Profile in the AWS configuration files, also for option `kafka_sasl=aws-iam`; no other
        /// place is asked for credentials
        from_aws_profile: Option<String> = "NAME", default("the AWS_* variables, then AWS_PROFILE, then `default`");
    }
}

impl SourceLoginOptions {
    /// The same options as those of the target.
    pub fn to_login(&self) -> LoginOptions {
        let SourceLoginOptions {
            from_user,
            from_password_file,
            from_password_env,
            from_api_key_file,
            from_api_key_env,
            from_bearer_file,
            from_bearer_env,
            from_ca,
            from_cert,
            from_key,
            from_insecure,
            from_aws_sigv4,
            from_aws_region,
            from_aws_profile,
        } = self.clone();
        LoginOptions {
            user: from_user,
            password_file: from_password_file,
            password_env: from_password_env,
            api_key_file: from_api_key_file,
            api_key_env: from_api_key_env,
            bearer_file: from_bearer_file,
            bearer_env: from_bearer_env,
            ca: from_ca,
            cert: from_cert,
            key: from_key,
            insecure: from_insecure,
            aws_sigv4: from_aws_sigv4,
            aws_region: from_aws_region,
            aws_profile: from_aws_profile,
            password: None,
            api_key: None,
            bearer: None,
        }
    }
}
