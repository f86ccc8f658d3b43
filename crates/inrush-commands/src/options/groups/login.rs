//! Options for authentication at the target cluster, and for certificates.

use std::path::PathBuf;

use crate::options::LoaderBuilder;
use crate::options::{Outputs, Scope};
use inrush_cluster::transport::Secret;
use inrush_cluster::transport::aws::Service;

options! {
    /// Authentication at the cluster, and trusted certificates. A secret is never an argument of a
    /// command or a key of a job file: every user of the machine can read arguments, and they stay
    /// in the shell's history.
    pub struct LoginOptions in LoaderBuilder.login, "Authentication", outputs(Outputs::All) {
        /// User of basic authentication; the password comes from option `password_file`, the
        /// environment or a prompt
        user: Option<String> = "NAME";
        /// File that holds the password
        password_file: Option<PathBuf> = "FILE";
        /// Environment variable that holds the password
        password_env: Option<String> = "VARIABLE", default("INRUSH_PASSWORD");
        /// File that holds the API key, as id:key or as the cluster encoded it
        api_key_file: Option<PathBuf> = "FILE";
        /// Environment variable that holds the API key
        api_key_env: Option<String> = "VARIABLE", default("INRUSH_API_KEY, if set");
        /// File that holds the bearer token
        bearer_file: Option<PathBuf> = "FILE";
        /// Environment variable that holds the bearer token
        bearer_env: Option<String> = "VARIABLE", default("INRUSH_BEARER, if set");
        /// PEM file with the certificates to trust in place of the system's: those of authorities,
        /// or the node's own
        ca: Option<PathBuf> = "FILE";
        /// PEM file with the client certificate; needs option `key`
        cert: Option<PathBuf> = "FILE";
        /// PEM file with the private key of option `cert`
        key: Option<PathBuf> = "FILE";
        /// Accept any certificate of the cluster, so that anyone on the network path can read and
        /// change everything
        insecure: bool;
        /// Sign requests for an Amazon service. Credentials come from the environment, the profile,
        /// a web identity, or the role of the container or the EC2 instance
        aws_sigv4: Option<Service> = "SERVICE";
        /// AWS region
        aws_region: Option<String> = "REGION", default("AWS_REGION, AWS_DEFAULT_REGION, the profile's, then the host name's");
        /// Profile in the AWS configuration files; no other place is asked for credentials
        aws_profile: Option<String> = "NAME", default("the AWS_* variables, then AWS_PROFILE, then `default`");
        /// The password of option `user`
        password: Option<Secret> = "SECRET", scope(Scope::Program);
        /// The API key, as id:key or as the cluster encoded it
        api_key: Option<Secret> = "SECRET", scope(Scope::Program);
        /// The bearer token
        bearer: Option<Secret> = "SECRET", scope(Scope::Program);
    }
}
