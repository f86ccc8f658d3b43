//! An index of another cluster as the source.

use std::path::PathBuf;

use super::LoginOptions;
use crate::options::LoaderBuilder;
use crate::options::SearchQuery;
use crate::transport::aws::Service;

options! {
    /// What is read of another cluster's index, and what the target takes over of it.
    pub struct IndexSourceOptions in LoaderBuilder.index_source, "Source: an index of another cluster" {
        /// The documents of the index to read, as JSON or @FILE: a query as a search has it
        query: Option<SearchQuery> = "JSON|@FILE", default("all");
        /// Write documents with the versions that they have, as external ones: an older document never
        /// replaces a newer one
        keep_versions: bool;
        /// When all documents are read, read those that were written meanwhile as well, until there are no
        /// more (at most ten times). Deletions are not seen: such documents stay in the target
        catch_up: bool;
        /// Make the target, if it does not exist yet, with the mapping of the index that is read; parts that
        /// the target does not know are left out and named
        copy_mapping: bool;
        /// Make the target, if it does not exist yet, with the settings of the index that is read; those of
        /// its cluster are left out and named. An option `shards` or option `replicas` wins
        copy_settings: bool;
    }
}

options! {
    /// How to log in to the cluster that is read, as [`LoginOptions`] says it for the target.
    pub struct SourceLoginOptions in LoaderBuilder.source_login, "Source: an index of another cluster" {
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
        from_api_key_env: Option<String> = "VARIABLE", default("INRUSH_FROM_API_KEY, where it is set");
        /// File that holds the bearer token
        from_bearer_file: Option<PathBuf> = "FILE";
        /// Environment variable that holds the bearer token
        from_bearer_env: Option<String> = "VARIABLE", default("INRUSH_FROM_BEARER, where it is set");
        /// PEM file with the certificate authorities to trust besides the system's
        from_ca: Option<PathBuf> = "FILE";
        /// PEM file with the client certificate; needs option `from_key`
        from_cert: Option<PathBuf> = "FILE";
        /// PEM file with the private key of option `from_cert`
        from_key: Option<PathBuf> = "FILE";
        /// Take any certificate of the cluster: anyone on the way can read and change everything
        from_insecure: bool;
        /// Sign requests for an Amazon service
        from_aws_sigv4: Option<Service> = "SERVICE";
        /// AWS region
        from_aws_region: Option<String> = "REGION", default("AWS_REGION, AWS_DEFAULT_REGION, the profile's, then the host name's");
        /// Profile in the AWS configuration files; no other place is asked for credentials
        from_aws_profile: Option<String> = "NAME", default("the AWS_* variables, then AWS_PROFILE, then `default`");
    }
}

impl SourceLoginOptions {
    /// The same as options of the target.
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
