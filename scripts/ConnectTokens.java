import java.net.URI;
import java.net.URLDecoder;
import java.nio.charset.StandardCharsets;
import java.time.Instant;
import java.time.ZoneOffset;
import java.time.format.DateTimeFormatter;
import java.util.Base64;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import javax.security.auth.callback.Callback;
import javax.security.auth.callback.UnsupportedCallbackException;
import javax.security.auth.login.AppConfigurationEntry;
import org.apache.kafka.common.security.auth.AuthenticateCallbackHandler;
import org.apache.kafka.common.security.oauthbearer.OAuthBearerToken;
import org.apache.kafka.common.security.oauthbearer.OAuthBearerValidatorCallback;

/**
 * Logs clients in at a broker of the tests that have a token for Amazon MSK, of the region
 * eu-west-1 and the key AKIDEXAMPLE. The signature is not checked: only Amazon can.
 */
public final class ConnectTokens implements AuthenticateCallbackHandler {
    private static final DateTimeFormatter TIME =
            DateTimeFormatter.ofPattern("yyyyMMdd'T'HHmmss'Z'").withZone(ZoneOffset.UTC);

    private record Token(String value, String principalName, long lifetimeMs) implements OAuthBearerToken {
        @Override
        public Set<String> scope() {
            return Set.of();
        }

        @Override
        public Long startTimeMs() {
            return null;
        }
    }

    @Override
    public void configure(Map<String, ?> options, String mechanism, List<AppConfigurationEntry> entries) {}

    @Override
    public void close() {}

    @Override
    public void handle(Callback[] callbacks) throws UnsupportedCallbackException {
        for (Callback callback : callbacks) {
            if (!(callback instanceof OAuthBearerValidatorCallback asked)) {
                throw new UnsupportedCallbackException(callback);
            }
            Token token = accepted(asked.tokenValue());
            if (token == null) {
                asked.error("invalid_token", null, null);
            } else {
                asked.token(token);
            }
        }
    }

    /** The token, or null. */
    private static Token accepted(String value) {
        URI address = URI.create(new String(Base64.getUrlDecoder().decode(value), StandardCharsets.UTF_8));
        Map<String, String> query = new TreeMap<>();
        for (String pair : address.getRawQuery().split("&")) {
            String[] parts = pair.split("=", 2);
            query.put(parts[0], URLDecoder.decode(parts[1], StandardCharsets.UTF_8));
        }
        String date = query.get("X-Amz-Date");
        Instant end = TIME.parse(date, Instant::from).plusSeconds(Long.parseLong(query.get("X-Amz-Expires")));
        String scope = "AKIDEXAMPLE/" + date.substring(0, 8) + "/eu-west-1/kafka-cluster/aws4_request";
        boolean isRight = address.getScheme().equals("https")
                && address.getHost().equals("kafka.eu-west-1.amazonaws.com")
                && "kafka-cluster:Connect".equals(query.get("Action"))
                && scope.equals(query.get("X-Amz-Credential"))
                && "host".equals(query.get("X-Amz-SignedHeaders"))
                && query.getOrDefault("X-Amz-Signature", "").matches("[0-9a-f]{64}")
                && Instant.now().isBefore(end);
        return isRight ? new Token(value, "AKIDEXAMPLE", end.toEpochMilli()) : null;
    }
}
