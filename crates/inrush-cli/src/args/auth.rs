//! The flags that say who we are to the cluster.

use std::path::PathBuf;

use clap::{Args, ValueEnum, ValueHint};

use crate::embed::Secrets;

/// Who we are to the cluster, and whom we trust. No secret is ever an argument: arguments can be read by every
/// user of the machine and stay in the shell's history.
#[derive(Clone, Debug, Default, Args)]
#[command(next_help_heading = "Authentication")]
pub(crate) struct AuthArgs {
    /// User of basic authentication; the password comes from --password-file, the environment or a prompt
    #[arg(long, value_name = "NAME")]
    pub(crate) user: Option<String>,
    /// File that holds the password
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) password_file: Option<PathBuf>,
    /// Environment variable that holds the password. Default: INRUSH_PASSWORD
    #[arg(long, value_name = "VARIABLE")]
    pub(crate) password_env: Option<String>,
    /// File that holds the API key, as id:key or as the cluster encoded it
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) api_key_file: Option<PathBuf>,
    /// Environment variable that holds the API key. Default: INRUSH_API_KEY, where it is set
    #[arg(long, value_name = "VARIABLE")]
    pub(crate) api_key_env: Option<String>,
    /// File that holds the bearer token
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) bearer_file: Option<PathBuf>,
    /// Environment variable that holds the bearer token. Default: INRUSH_BEARER, where it is set
    #[arg(long, value_name = "VARIABLE")]
    pub(crate) bearer_env: Option<String>,
    /// PEM file with the certificate authorities to trust besides the system's
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) ca: Option<PathBuf>,
    /// PEM file with our client certificate; needs --key
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) cert: Option<PathBuf>,
    /// PEM file with the private key of --cert
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) key: Option<PathBuf>,
    /// Take any certificate of the cluster: whoever is between can read and change everything
    #[arg(long)]
    pub(crate) insecure: bool,
    /// Sign requests for Amazon OpenSearch Service (es) or OpenSearch Serverless (aoss); credentials come from the
    /// environment or the profile
    #[arg(long, value_name = "SERVICE", value_enum)]
    pub(crate) aws_sigv4: Option<AwsService>,
    /// AWS region. Default: AWS_REGION, AWS_DEFAULT_REGION, then the profile's
    #[arg(long, value_name = "REGION")]
    pub(crate) aws_region: Option<String>,
    /// Profile in the AWS configuration files. Default: the AWS_* variables, then AWS_PROFILE, then `default`
    #[arg(long, value_name = "NAME")]
    pub(crate) aws_profile: Option<String>,
    /// Secrets that a program holds already; no flags.
    #[arg(skip)]
    pub(crate) held: Secrets,
}

/// The signing name of Amazon's services.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum AwsService {
    /// Amazon OpenSearch Service
    Es,
    /// Amazon OpenSearch Serverless
    Aoss,
}
