//! The user's AWS profile, for reading from S3.

use std::sync::Arc;
use std::time::SystemTime;

use async_trait::async_trait;
use inrush_cluster::transport::SetupError;
use inrush_cluster::transport::aws::{AwsCredentials, OfProfile, Surroundings, of_profile};
use object_store::CredentialProvider;
use object_store::aws::AwsCredential;

/// What the profile says.
pub(super) struct Found {
    pub(super) region: Option<String>,
    pub(super) keys: Option<ProfileKeys>,
}

/// Keys of a profile.
#[derive(Debug)]
pub(super) struct ProfileKeys(AwsCredentials);

/// Reads the profile that `AWS_PROFILE` names, else `default`. A profile that is not there says nothing; one that was
/// named and has no keys is an error.
pub(super) fn read() -> Result<Found, SetupError> {
    let OfProfile { region, credentials } = of_profile(&Surroundings::of_process())?;
    Ok(Found { region, keys: credentials.map(ProfileKeys) })
}

#[async_trait]
impl CredentialProvider for ProfileKeys {
    type Credential = AwsCredential;

    async fn get_credential(&self) -> object_store::Result<Arc<AwsCredential>> {
        let keys = self.0.current(SystemTime::now()).await;
        let keys = keys.map_err(|source| object_store::Error::Generic { store: "S3", source })?;
        Ok(Arc::new(AwsCredential {
            key_id: keys.access_key_id().to_owned(),
            secret_key: keys.secret_access_key().to_owned(),
            token: keys.session_token().map(str::to_owned),
        }))
    }
}
