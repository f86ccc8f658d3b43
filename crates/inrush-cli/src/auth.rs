//! Who we are to the cluster, and whom we trust. Secrets come from files, the environment or a prompt.

use std::io::IsTerminal;
use std::path::Path;
use std::sync::Arc;

use anyhow::{Context, Result};
use inrush::transport::aws::AwsOptions;
use inrush::transport::sigv4::{Service, Signer};
use inrush::transport::{Credentials, NodeUrl, Secret, SetupError, TlsOptions};

use crate::args::{AuthArgs, AwsService, FromAuthArgs};
use crate::failure::UsageError;

const PASSWORD_ENV: &str = "INRUSH_PASSWORD";
const API_KEY_ENV: &str = "INRUSH_API_KEY";
const BEARER_ENV: &str = "INRUSH_BEARER";

/// What flags and environment variables are called.
struct Names {
    /// What flags begin with.
    flag: &'static str,
    password_env: &'static str,
    api_key_env: &'static str,
    bearer_env: &'static str,
}

/// For the cluster that is loaded into.
const TARGET: Names =
    Names { flag: "--", password_env: PASSWORD_ENV, api_key_env: API_KEY_ENV, bearer_env: BEARER_ENV };

/// For the cluster that is read.
const SOURCE: Names = Names {
    flag: "--from-",
    password_env: "INRUSH_FROM_PASSWORD",
    api_key_env: "INRUSH_FROM_API_KEY",
    bearer_env: "INRUSH_FROM_BEARER",
};

/// Environment variables, and a prompt where there is somebody to ask.
pub(crate) struct Surroundings<'a> {
    pub(crate) is_set: &'a dyn Fn(&str) -> bool,
    pub(crate) terminal: bool,
}

impl Surroundings<'_> {
    /// Those of this process.
    pub(crate) fn of_process() -> Self {
        Surroundings {
            is_set: &|name| std::env::var_os(name).is_some_and(|value| !value.is_empty()),
            terminal: std::io::stdin().is_terminal() && std::io::stderr().is_terminal(),
        }
    }
}

/// Where the credentials are; nothing is read yet.
#[derive(Debug, PartialEq, Eq)]
enum Way<'a> {
    None,
    Basic(&'a str, Place<'a>),
    ApiKey(Place<'a>),
    Bearer(Place<'a>),
    Aws(AwsService),
}

/// Where a secret is.
#[derive(Debug, PartialEq, Eq)]
enum Place<'a> {
    File(&'a Path),
    Environment(&'a str),
    Held(&'a Secret),
    Prompt,
}

/// The credentials for the cluster whose nodes are `urls`; none for the local node, which asks for none.
pub(crate) fn credentials(auth: &AuthArgs, urls: &[NodeUrl], surroundings: &Surroundings<'_>) -> Result<Credentials> {
    find(auth, urls, &TARGET, surroundings)
}

/// The credentials for the cluster that is read.
pub(crate) fn credentials_of_source(
    auth: &FromAuthArgs,
    url: &NodeUrl,
    surroundings: &Surroundings<'_>,
) -> Result<Credentials> {
    find(&auth.to_auth(), std::slice::from_ref(url), &SOURCE, surroundings)
}

fn find(auth: &AuthArgs, urls: &[NodeUrl], names: &Names, surroundings: &Surroundings<'_>) -> Result<Credentials> {
    match way(auth, urls.is_empty(), names, surroundings)? {
        Way::None => Ok(Credentials::None),
        Way::Basic(user, place) => {
            let password = secret(&place, &format!("password of {user}"))?;
            Ok(Credentials::basic(user, password).map_err(usage)?)
        }
        Way::ApiKey(place) => Ok(Credentials::ApiKey(secret(&place, "API key")?)),
        Way::Bearer(place) => Ok(Credentials::Bearer(secret(&place, "bearer token")?)),
        Way::Aws(service) => {
            let service = match service {
                AwsService::Es => Service::Es,
                AwsService::Aoss => Service::Aoss,
            };
            let options = AwsOptions {
                service: Some(service),
                region: auth.aws_region.clone(),
                profile: auth.aws_profile.clone(),
            };
            let host = urls.first().map_or("", NodeUrl::host);
            Ok(Credentials::SigV4(Arc::new(Signer::find(&options, host).map_err(usage)?)))
        }
    }
}

/// Decides between the ways to log in, without reading a secret.
fn way<'a>(
    auth: &'a AuthArgs,
    local: bool,
    names: &Names,
    surroundings: &Surroundings<'_>,
) -> Result<Way<'a>, UsageError> {
    let flag = names.flag;
    let held = &auth.held;
    let key = place("API key", auth.api_key_file.as_deref(), auth.api_key_env.as_deref(), held.api_key.as_ref())?;
    let bearer = place("bearer token", auth.bearer_file.as_deref(), auth.bearer_env.as_deref(), held.bearer.as_ref())?;
    let password =
        place("password", auth.password_file.as_deref(), auth.password_env.as_deref(), held.password.as_ref())?;
    let given = [auth.user.is_some(), key.is_some(), bearer.is_some(), auth.aws_sigv4.is_some()];
    let given = given.into_iter().filter(|given| *given).count();
    if given > 1 {
        return Err(UsageError::new("more than one way to log in is given")
            .hint(format!("choose one of {flag}user, an API key, a bearer token and {flag}aws-sigv4")));
    }
    if password.is_some() && auth.user.is_none() {
        return Err(UsageError::new("a password is given, and no user").hint(format!("name the user with {flag}user")));
    }
    if auth.aws_sigv4.is_none() && (auth.aws_region.is_some() || auth.aws_profile.is_some()) {
        let message = format!("{flag}aws-region and {flag}aws-profile mean nothing without {flag}aws-sigv4");
        return Err(
            UsageError::new(message).hint(format!("add {flag}aws-sigv4 es, or {flag}aws-sigv4 aoss for Serverless"))
        );
    }
    if local {
        // What the environment holds is for another cluster.
        return match given {
            0 => Ok(Way::None),
            _ => Err(UsageError::new("credentials are given, and the local node asks for none")
                .hint("name the cluster they are for with --to URL")),
        };
    }
    if let Some(user) = &auth.user {
        let password = match password {
            Some(password) => password,
            None if (surroundings.is_set)(names.password_env) => Place::Environment(names.password_env),
            None if surroundings.terminal => Place::Prompt,
            None => {
                let hint =
                    format!("give it with {flag}password-file FILE, or in the environment as {}", names.password_env);
                let message = format!("{flag}user {user} has no password, and there is nobody to ask");
                return Err(UsageError::new(message).hint(hint));
            }
        };
        return Ok(Way::Basic(user, password));
    }
    if let Some(service) = auth.aws_sigv4 {
        return Ok(Way::Aws(service));
    }
    match (key, bearer) {
        (Some(key), _) => return Ok(Way::ApiKey(key)),
        (None, Some(bearer)) => return Ok(Way::Bearer(bearer)),
        (None, None) => {}
    }
    let (key, bearer) = (names.api_key_env, names.bearer_env);
    match ((surroundings.is_set)(key), (surroundings.is_set)(bearer)) {
        (true, true) => Err(UsageError::new(format!("both {key} and {bearer} are set"))
            .hint(format!("unset one of them, or choose with {flag}api-key-env {key}"))),
        (true, false) => Ok(Way::ApiKey(Place::Environment(key))),
        (false, true) => Ok(Way::Bearer(Place::Environment(bearer))),
        (false, false) => Ok(Way::None),
    }
}

fn place<'a>(
    what: &str,
    file: Option<&'a Path>,
    env: Option<&'a str>,
    held: Option<&'a Secret>,
) -> Result<Option<Place<'a>>, UsageError> {
    match (file, env, held) {
        (None, None, None) => Ok(None),
        (Some(file), None, None) => Ok(Some(Place::File(file))),
        (None, Some(name), None) => Ok(Some(Place::Environment(name))),
        (None, None, Some(secret)) => Ok(Some(Place::Held(secret))),
        (_, _, Some(_)) => Err(UsageError::new(format!("the {what} is given itself, and by file or environment"))
            .hint("leave all but one of them out")),
        (Some(_), Some(_), None) => Err(UsageError::new(format!("the {what} is given by file and by environment"))
            .hint("leave one of the two flags out")),
    }
}

fn secret(place: &Place<'_>, what: &str) -> Result<Secret> {
    match place {
        Place::File(path) => Ok(Secret::from_file(path).map_err(usage)?),
        Place::Held(secret) => Ok((*secret).clone()),
        // The name is not repeated if it is none: somebody may have given the secret itself.
        Place::Environment(name)
            if !name.bytes().all(|b| b.is_ascii_uppercase() || b.is_ascii_digit() || b == b'_') =>
        {
            Secret::from_env(name).map_err(|_| {
                UsageError::new(format!("the environment variable for the {what} is not set or empty"))
                    .hint("give the variable's name, not the secret itself")
                    .into()
            })
        }
        Place::Environment(name) => Ok(Secret::from_env(name).map_err(usage)?),
        Place::Prompt => {
            let text =
                rpassword::prompt_password(format!("{what}: ")).with_context(|| format!("cannot read the {what}"))?;
            Ok(Secret::new(text))
        }
    }
}

/// Certificates.
pub(crate) fn tls(auth: &AuthArgs) -> Result<TlsOptions, UsageError> {
    if auth.cert.is_some() != auth.key.is_some() {
        return Err(UsageError::new("--cert and --key go together, and only one of them is given"));
    }
    if auth.insecure && auth.ca.is_some() {
        return Err(UsageError::new("--insecure takes any certificate, so --ca means nothing beside it")
            .hint("leave --insecure out"));
    }
    Ok(TlsOptions {
        ca_file: auth.ca.clone(),
        client_cert_file: auth.cert.clone(),
        client_key_file: auth.key.clone(),
        insecure: auth.insecure,
    })
}

/// Addresses, certificates and secrets are the user's to mend; what the HTTP client refuses is not.
pub(crate) fn usage(error: SetupError) -> anyhow::Error {
    match error {
        SetupError::Client(_) => error.into(),
        SetupError::NoNodes
        | SetupError::Url { .. }
        | SetupError::TwoCredentials(_)
        | SetupError::File { .. }
        | SetupError::Credentials(_)
        | SetupError::Tls(_) => UsageError::new(error.to_string()).into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(auth: AuthArgs, set: &[&str], terminal: bool, expected: Result<Way<'_>, &str>) {
        let is_set = |name: &str| set.contains(&name);
        match (way(&auth, false, &TARGET, &Surroundings { is_set: &is_set, terminal }), expected) {
            (Ok(way), Ok(expected)) => assert_eq!(way, expected),
            (Err(error), Err(part)) => assert!(error.to_string().contains(part), "{error}"),
            (found, expected) => panic!("{found:?} is not {expected:?}"),
        }
    }

    fn user() -> AuthArgs {
        AuthArgs { user: Some("u".into()), ..AuthArgs::default() }
    }

    #[test]
    fn a_password_comes_from_the_first_place_that_has_it() {
        let file = AuthArgs { password_file: Some("f".into()), ..user() };
        check(file, &[PASSWORD_ENV], true, Ok(Way::Basic("u", Place::File(Path::new("f")))));
        let env = AuthArgs { password_env: Some("MINE".into()), ..user() };
        check(env, &[PASSWORD_ENV], true, Ok(Way::Basic("u", Place::Environment("MINE"))));
        check(user(), &[PASSWORD_ENV, API_KEY_ENV], true, Ok(Way::Basic("u", Place::Environment(PASSWORD_ENV))));
        check(user(), &[], true, Ok(Way::Basic("u", Place::Prompt)));
        check(user(), &[], false, Err("nobody to ask"));
    }

    #[test]
    fn the_environment_is_used_where_it_is_clear() {
        let none = AuthArgs::default;
        check(none(), &[], true, Ok(Way::None));
        check(none(), &[PASSWORD_ENV], true, Ok(Way::None));
        check(none(), &[API_KEY_ENV], true, Ok(Way::ApiKey(Place::Environment(API_KEY_ENV))));
        check(none(), &[BEARER_ENV], true, Ok(Way::Bearer(Place::Environment(BEARER_ENV))));
        check(none(), &[API_KEY_ENV, BEARER_ENV], true, Err("both INRUSH_API_KEY and INRUSH_BEARER"));
        let bearer = AuthArgs { bearer_file: Some("f".into()), ..none() };
        check(bearer, &[API_KEY_ENV], true, Ok(Way::Bearer(Place::File(Path::new("f")))));
    }

    #[test]
    fn the_source_has_flags_and_variables_of_its_own() {
        let set = |name: &str| name == "INRUSH_PASSWORD" || name == "INRUSH_API_KEY";
        let surroundings = Surroundings { is_set: &set, terminal: false };
        assert_eq!(way(&AuthArgs::default(), false, &SOURCE, &surroundings), Ok(Way::None));
        let error = way(&user(), false, &SOURCE, &surroundings).unwrap_err();
        assert!(error.to_string().contains("--from-user u has no password"), "{error}");
        let set = |name: &str| name == "INRUSH_FROM_API_KEY";
        let surroundings = Surroundings { is_set: &set, terminal: false };
        let none = AuthArgs::default();
        let found = way(&none, false, &SOURCE, &surroundings);
        assert_eq!(found, Ok(Way::ApiKey(Place::Environment("INRUSH_FROM_API_KEY"))));
    }

    #[test]
    fn flags_that_do_not_fit_together() {
        let none = AuthArgs::default;
        check(AuthArgs { api_key_file: Some("f".into()), ..user() }, &[], true, Err("more than one way"));
        check(AuthArgs { password_file: Some("f".into()), ..none() }, &[], true, Err("no user"));
        check(AuthArgs { aws_region: Some("r".into()), ..none() }, &[], true, Err("without --aws-sigv4"));
        let twice = AuthArgs { bearer_file: Some("f".into()), bearer_env: Some("B".into()), ..none() };
        check(twice, &[], true, Err("by file and by environment"));
        assert!(tls(&AuthArgs { cert: Some("c".into()), ..none() }).is_err());
        assert!(tls(&AuthArgs { ca: Some("c".into()), insecure: true, ..none() }).is_err());
        assert!(tls(&AuthArgs { ca: Some("c".into()), ..none() }).is_ok());
    }

    #[test]
    fn the_local_node_gets_no_credentials_of_others() {
        let surroundings = Surroundings { is_set: &|_| true, terminal: true };
        assert_eq!(way(&AuthArgs::default(), true, &TARGET, &surroundings), Ok(Way::None));
        assert!(way(&user(), true, &TARGET, &surroundings).unwrap_err().to_string().contains("asks for none"));
    }

    #[test]
    fn a_secret_in_place_of_a_name_is_not_printed() {
        let error = secret(&Place::Environment("hunter2-secret"), "password of u").unwrap_err().to_string();
        assert!(!error.contains("hunter2"), "{error}");
        let error = secret(&Place::Environment("INRUSH_TEST_UNSET"), "password of u").unwrap_err().to_string();
        assert!(error.contains("INRUSH_TEST_UNSET"), "{error}");
    }
}
