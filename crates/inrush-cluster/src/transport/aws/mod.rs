//! AWS: the signature of requests, its region and its credentials.
//!
//! The providers of credentials are those of Amazon's own crate, `aws-config`, over the HTTP client
//! of `client`: environment variables, the shared profile files (keys, `source_profile`,
//! `credential_process`, IAM Identity Center), a web identity (IRSA), the role of a container (ECS,
//! EKS Pod Identity) and the role of an EC2 instance (IMDSv2). `chain` puts them in order,
//! `credentials` keeps what they give and renews it.

mod chain;
mod client;
mod credentials;
mod kafka;
mod sigv4;

#[cfg(feature = "cloud")]
pub use chain::of_s3;
pub use credentials::{AwsCredentials, CredentialsError};
pub use kafka::{KafkaToken, KafkaTokens};
pub use sigv4::{Service, Signer, WallClock};

/// Options of signing. An option without a value has a default.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AwsOptions {
    /// The service to sign for. Default: by the host name (`….es.amazonaws.com`,
    /// `….aoss.amazonaws.com`), else `es`.
    pub service: Option<Service>,
    /// The region. Default: `AWS_REGION`, `AWS_DEFAULT_REGION`, the profile's `region`, the host
    /// name, in this order.
    pub region: Option<String>,
    /// The profile that gives the credentials, and nothing else does. Default: keys in the
    /// environment, then the profile that `AWS_PROFILE` names; without `AWS_PROFILE` the profile
    /// `default`, a web identity, the role of the container, the role of the EC2 instance, in this
    /// order.
    pub profile: Option<String>,
}
