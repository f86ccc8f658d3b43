//! The flags for an index of another cluster as a source.

use std::path::PathBuf;

use clap::{Args, ValueHint};

use super::{AuthArgs, AwsService};
use crate::embed::Secrets;

/// What is read of another cluster's index, and what is taken over.
#[derive(Clone, Debug, Default, Args)]
#[command(next_help_heading = "Source: an index of another cluster")]
pub(crate) struct FromArgs {
    /// Which documents of the index are read, as JSON or @FILE: a query as a search has it. Default: all
    #[arg(long, value_name = "JSON|@FILE")]
    pub(crate) query: Option<String>,
    /// Write documents with the versions that they have, as external ones: an older document never replaces a newer one
    #[arg(long)]
    pub(crate) keep_versions: bool,
    /// When all is read, read what was written meanwhile as well, until nothing more comes (at most ten times). What was deleted
    /// meanwhile is not seen, and stays in the target
    #[arg(long)]
    pub(crate) catch_up: bool,
    /// Make the target, if it does not exist yet, with the mapping of the index that is read; what the target does not know is
    /// left out and named
    #[arg(long)]
    pub(crate) copy_mapping: bool,
    /// Make the target, if it does not exist yet, with the settings of the index that is read; those of its cluster are left out and named.
    /// --shards and --replicas win
    #[arg(long)]
    pub(crate) copy_settings: bool,
    #[command(flatten)]
    pub(crate) auth: FromAuthArgs,
}

/// Who we are to the cluster that is read, as [`AuthArgs`] has it for the one that is loaded into.
#[derive(Clone, Debug, Default, Args)]
#[command(next_help_heading = "Source: an index of another cluster")]
pub(crate) struct FromAuthArgs {
    /// User of basic authentication; the password comes from --from-password-file, the environment or a prompt
    #[arg(long, value_name = "NAME")]
    pub(crate) from_user: Option<String>,
    /// File that holds the password
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) from_password_file: Option<PathBuf>,
    /// Environment variable that holds the password. Default: INRUSH_FROM_PASSWORD
    #[arg(long, value_name = "VARIABLE")]
    pub(crate) from_password_env: Option<String>,
    /// File that holds the API key, as id:key or as the cluster encoded it
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) from_api_key_file: Option<PathBuf>,
    /// Environment variable that holds the API key. Default: INRUSH_FROM_API_KEY, where it is set
    #[arg(long, value_name = "VARIABLE")]
    pub(crate) from_api_key_env: Option<String>,
    /// File that holds the bearer token
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) from_bearer_file: Option<PathBuf>,
    /// Environment variable that holds the bearer token. Default: INRUSH_FROM_BEARER, where it is set
    #[arg(long, value_name = "VARIABLE")]
    pub(crate) from_bearer_env: Option<String>,
    /// PEM file with the certificate authorities to trust besides the system's
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) from_ca: Option<PathBuf>,
    /// PEM file with our client certificate; needs --from-key
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) from_cert: Option<PathBuf>,
    /// PEM file with the private key of --from-cert
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) from_key: Option<PathBuf>,
    /// Take any certificate of the cluster: whoever is between can read and change everything
    #[arg(long)]
    pub(crate) from_insecure: bool,
    /// Sign requests for Amazon OpenSearch Service (es) or OpenSearch Serverless (aoss)
    #[arg(long, value_name = "SERVICE", value_enum)]
    pub(crate) from_aws_sigv4: Option<AwsService>,
    /// AWS region. Default: AWS_REGION, AWS_DEFAULT_REGION, then the profile's
    #[arg(long, value_name = "REGION")]
    pub(crate) from_aws_region: Option<String>,
    /// Profile in the AWS configuration files. Default: the AWS_* variables, then AWS_PROFILE, then `default`
    #[arg(long, value_name = "NAME")]
    pub(crate) from_aws_profile: Option<String>,
}

impl FromAuthArgs {
    /// The same, as it would be for the target.
    pub(crate) fn to_auth(&self) -> AuthArgs {
        let from = self.clone();
        AuthArgs {
            user: from.from_user,
            password_file: from.from_password_file,
            password_env: from.from_password_env,
            api_key_file: from.from_api_key_file,
            api_key_env: from.from_api_key_env,
            bearer_file: from.from_bearer_file,
            bearer_env: from.from_bearer_env,
            ca: from.from_ca,
            cert: from.from_cert,
            key: from.from_key,
            insecure: from.from_insecure,
            aws_sigv4: from.from_aws_sigv4,
            aws_region: from.from_aws_region,
            aws_profile: from.from_aws_profile,
            held: Secrets::default(),
        }
    }

    /// The first flag that was given.
    pub(crate) fn given(&self) -> Option<&'static str> {
        let FromAuthArgs {
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
        } = self;
        [
            ("--from-user", from_user.is_some()),
            ("--from-password-file", from_password_file.is_some()),
            ("--from-password-env", from_password_env.is_some()),
            ("--from-api-key-file", from_api_key_file.is_some()),
            ("--from-api-key-env", from_api_key_env.is_some()),
            ("--from-bearer-file", from_bearer_file.is_some()),
            ("--from-bearer-env", from_bearer_env.is_some()),
            ("--from-ca", from_ca.is_some()),
            ("--from-cert", from_cert.is_some()),
            ("--from-key", from_key.is_some()),
            ("--from-insecure", *from_insecure),
            ("--from-aws-sigv4", from_aws_sigv4.is_some()),
            ("--from-aws-region", from_aws_region.is_some()),
            ("--from-aws-profile", from_aws_profile.is_some()),
        ]
        .into_iter()
        .find(|(_, given)| *given)
        .map(|(flag, _)| flag)
    }
}

impl FromArgs {
    /// The first flag that was given.
    pub(crate) fn given(&self) -> Option<&'static str> {
        let FromArgs { query, keep_versions, catch_up, copy_mapping, copy_settings, auth } = self;
        let own = [
            ("--query", query.is_some()),
            ("--keep-versions", *keep_versions),
            ("--catch-up", *catch_up),
            ("--copy-mapping", *copy_mapping),
            ("--copy-settings", *copy_settings),
        ];
        own.into_iter().find(|(_, given)| *given).map(|(flag, _)| flag).or_else(|| auth.given())
    }
}
