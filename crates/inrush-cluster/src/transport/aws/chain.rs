//! The order in which region and credentials are looked for.

use aws_config::Region;
use aws_config::ecs::EcsCredentialsProvider;
use aws_config::environment::EnvironmentVariableCredentialsProvider;
use aws_config::imds::credentials::ImdsCredentialsProvider;
use aws_config::meta::region::ProvideRegion;
use aws_config::profile::{ProfileFileCredentialsProvider, ProfileFileRegionProvider};
use aws_config::provider_config::ProviderConfig;
use aws_config::web_identity_token::WebIdentityTokenCredentialsProvider;

use super::AwsOptions;
use super::client::AwsHttpClient;
use super::credentials::{AwsCredentials, Provider, causes, silently};
use super::sigv4::Service;
use crate::transport::error::SetupError;

/// The region whose STS is asked where no region is known.
#[cfg(feature = "cloud")]
const REGION_OF_STS: &str = "us-east-1";

/// Variables of the credentials of a container that hold no secret.
const CONTAINER: [&str; 2] = ["AWS_CONTAINER_CREDENTIALS_FULL_URI", "AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE"];

/// A region, and the credentials to sign with.
pub(super) struct Found {
    pub(super) region: String,
    pub(super) credentials: AwsCredentials,
}

/// Finds region and credentials for signing requests to `host`, whose name has the region
/// `from_host`. Only files are read; the credentials are asked for when they are used.
///
/// # Errors
/// [`SetupError::Credentials`] where no region is known, or a variable of the environment has no
/// pair.
pub(super) async fn find(options: &AwsOptions, host: &str, from_host: Option<&str>) -> Result<Found, SetupError> {
    let profile = Profile::chosen(options.profile.as_deref());
    let region = match options.region.clone().or_else(region_of_environment) {
        Some(region) => Some(region),
        None => profile.region().await.or_else(|| from_host.map(str::to_owned)),
    };
    let region = region.ok_or_else(|| {
        SetupError::Credentials(format!(
            "no AWS region: the host {host} does not name it; give one, set AWS_REGION, or put it into the profile"
        ))
    })?;
    if let Some(named) = from_host.filter(|named| *named != region) {
        tracing::warn!("requests to {host} are signed for the region {region}, though its name says {named}");
    }
    let credentials = profile.credentials(&region).await?;
    Ok(Found { region, credentials })
}

/// The region of the profile, and the credentials, for reading from S3. The caller knows the region
/// of the environment.
///
/// # Errors
/// [`SetupError::Credentials`] where a variable of the environment has no pair.
#[cfg(feature = "cloud")]
pub async fn of_s3(region: Option<&str>) -> Result<(Option<String>, AwsCredentials), SetupError> {
    let profile = Profile::chosen(None);
    let region = match region {
        Some(region) => Some(region.to_owned()),
        None => profile.region().await,
    };
    let credentials = profile.credentials(region.as_deref().unwrap_or(REGION_OF_STS)).await?;
    Ok((region, credentials))
}

/// Service and region as Amazon's host names have them: `NAME.REGION.es.amazonaws.com`,
/// `NAME.REGION.aoss.amazonaws.com` and the dual-stack `NAME.aos.REGION.on.aws`,
/// `NAME.aoss.REGION.on.aws`.
pub(super) fn service_and_region(host: &str) -> Option<(Service, &str)> {
    if let Some(rest) = host.strip_suffix(".amazonaws.com").or_else(|| host.strip_suffix(".amazonaws.com.cn")) {
        let (rest, service) = rest.rsplit_once('.')?;
        let (_, region) = rest.rsplit_once('.')?;
        return Some((service.parse().ok()?, region));
    }
    let (rest, region) = host.strip_suffix(".on.aws")?.rsplit_once('.')?;
    match rest.rsplit_once('.')?.1 {
        "aos" => Some((Service::Es, region)),
        "aoss" => Some((Service::Aoss, region)),
        _ => None,
    }
}

/// The region in the name of a broker of Amazon MSK: `b-1.NAME.ID.c2.kafka.REGION.amazonaws.com`,
/// `boot-ID.c1.kafka-serverless.REGION.amazonaws.com`.
pub(super) fn region_of_broker(host: &str) -> Option<&str> {
    let rest = host.strip_suffix(".amazonaws.com").or_else(|| host.strip_suffix(".amazonaws.com.cn"))?;
    let (rest, region) = rest.rsplit_once('.')?;
    matches!(rest.rsplit_once('.')?.1, "kafka" | "kafka-serverless").then_some(region)
}

fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|value| !value.is_empty())
}

fn region_of_environment() -> Option<String> {
    variable("AWS_REGION").or_else(|| variable("AWS_DEFAULT_REGION"))
}

/// The profile, and who named it.
struct Profile {
    name: String,
    named_by: NamedBy,
    client: AwsHttpClient,
    config: ProviderConfig,
}

/// Who named the profile.
#[derive(PartialEq)]
enum NamedBy {
    /// The caller: nothing else gives credentials.
    Option,
    /// `AWS_PROFILE`: keys in the environment win over it.
    Environment,
    /// No one: it is `default`.
    Default,
}

impl Profile {
    fn chosen(option: Option<&str>) -> Self {
        let (name, named_by) = match (option, variable("AWS_PROFILE")) {
            (Some(name), _) => (name.to_owned(), NamedBy::Option),
            (None, Some(name)) => (name, NamedBy::Environment),
            (None, None) => ("default".to_owned(), NamedBy::Default),
        };
        let client = AwsHttpClient::default();
        let config = ProviderConfig::without_region().with_http_client(client.clone());
        Profile { name, named_by, client, config }
    }

    async fn region(&self) -> Option<String> {
        let provider = ProfileFileRegionProvider::builder().configure(&self.config).profile_name(&self.name).build();
        silently(provider.region()).await.map(|region| region.to_string())
    }

    /// The providers in their order. A profile with a name is the last one, because the user did
    /// not ask for the credentials of a role.
    async fn credentials(self, region: &str) -> Result<AwsCredentials, SetupError> {
        if self.named_by == NamedBy::Option || variable("AWS_ACCESS_KEY_ID").is_none() {
            check_files().await?;
        }
        let config = self.config.with_region(Some(Region::new(region.to_owned())));
        let profile = ProfileFileCredentialsProvider::builder().configure(&config).profile_name(&self.name).build();
        let profile = Provider::new(format!("the AWS profile {}", self.name), profile);
        if self.named_by == NamedBy::Option {
            return Ok(AwsCredentials::new(vec![profile], self.client));
        }
        if variable("AWS_ACCESS_KEY_ID").is_some() != variable("AWS_SECRET_ACCESS_KEY").is_some() {
            return Err(SetupError::Credentials(
                "only one of AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY is set; set both or none".into(),
            ));
        }
        let environment =
            Provider::new("the environment (AWS_ACCESS_KEY_ID)", EnvironmentVariableCredentialsProvider::new());
        if self.named_by == NamedBy::Environment {
            return Ok(AwsCredentials::new(vec![environment, profile], self.client));
        }
        let token = WebIdentityTokenCredentialsProvider::builder().configure(&config).build();
        let container = EcsCredentialsProvider::builder().configure(&config).build();
        let instance = ImdsCredentialsProvider::builder().configure(&config).build();
        let providers = vec![
            environment,
            profile,
            Provider::new(configured("a web identity", &["AWS_WEB_IDENTITY_TOKEN_FILE"]), token),
            Provider::new(configured("the role of the container", &CONTAINER), container),
            Provider::new("the role of the EC2 instance", instance).unasked(),
        ];
        Ok(AwsCredentials::new(providers, self.client))
    }
}

/// Reads the profile files, of whose errors the provider keeps neither file nor line.
async fn check_files() -> Result<(), SetupError> {
    // The file system, the environment and the paths are those of this process.
    let (fs, env, files) = Default::default();
    match silently(aws_config::profile::load(&fs, &env, &files, None)).await {
        Ok(_) => Ok(()),
        Err(error) => Err(SetupError::Credentials(format!("the AWS profiles cannot be read: {}", causes(&error)))),
    }
}

/// The name of a place in errors, with the variables that are set. If none is set, it has the first
/// variable.
fn configured(place: &str, variables: &[&str]) -> String {
    let set = variables.iter().filter_map(|name| Some(format!("{name}={}", variable(name)?)));
    let set: Vec<String> = set.collect();
    let first = variables.first().copied().unwrap_or_default();
    format!("{place} ({})", if set.is_empty() { first.to_owned() } else { set.join(", ") })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn host_names_tell_service_and_region() {
        let host = "search-x.eu-west-1.es.amazonaws.com";
        assert_eq!(service_and_region(host), Some((Service::Es, "eu-west-1")));
        assert_eq!(service_and_region("x.us-east-1.aoss.amazonaws.com"), Some((Service::Aoss, "us-east-1")));
        assert_eq!(service_and_region("x.cn-north-1.es.amazonaws.com.cn"), Some((Service::Es, "cn-north-1")));
        assert_eq!(service_and_region("search-x.aos.us-east-1.on.aws"), Some((Service::Es, "us-east-1")));
        assert_eq!(service_and_region("s3.eu-west-1.amazonaws.com"), None);
        assert_eq!(service_and_region("localhost"), None);
    }

    #[test]
    fn names_of_brokers_tell_the_region() {
        for (host, region) in [
            ("b-1.demo.ab12cd.c2.kafka.eu-west-1.amazonaws.com", Some("eu-west-1")),
            ("boot-ab12cd.c1.kafka-serverless.us-east-1.amazonaws.com", Some("us-east-1")),
            ("b-2.demo.ab12cd.c3.kafka.cn-north-1.amazonaws.com.cn", Some("cn-north-1")),
            ("search-x.eu-west-1.es.amazonaws.com", None),
            ("broker", None),
        ] {
            assert_eq!(region_of_broker(host), region, "{host}");
        }
    }
}
