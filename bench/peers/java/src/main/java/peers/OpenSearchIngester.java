package peers;

import java.net.URI;
import java.util.List;
import org.apache.hc.core5.http.HttpHost;
import org.opensearch.client.opensearch.OpenSearchClient;
import org.opensearch.client.opensearch._helpers.bulk.BulkIngester;
import org.opensearch.client.opensearch._helpers.bulk.BulkListener;
import org.opensearch.client.opensearch.core.BulkRequest;
import org.opensearch.client.opensearch.core.BulkResponse;
import org.opensearch.client.transport.BackoffPolicy;
import org.opensearch.client.transport.OpenSearchTransport;
import org.opensearch.client.transport.httpclient5.ApacheHttpClient5TransportBuilder;
import org.opensearch.client.util.BinaryData;
import org.opensearch.client.util.ContentType;

/** opensearch-java's BulkIngester, as its documentation shows it. */
public final class OpenSearchIngester {
    private OpenSearchIngester() {}

    public static void main(String[] args) throws Exception {
        Peers.Options options = Peers.parse(args);
        BulkListener<Void> listener = new BulkListener<>() {
            @Override
            public void beforeBulk(long id, BulkRequest request, List<Void> contexts) {}

            @Override
            public void afterBulk(long id, BulkRequest request, List<Void> contexts, BulkResponse response) {
                long failed = response.items().stream().filter(item -> item.error() != null).count();
                Peers.FAILED.addAndGet(failed);
                Peers.INDEXED.addAndGet(response.items().size() - failed);
            }

            @Override
            public void afterBulk(long id, BulkRequest request, List<Void> contexts, Throwable failure) {
                Peers.FAILED.addAndGet(request.operations().size());
                System.err.println(failure);
            }
        };
        URI url = URI.create(options.url);
        long began = System.nanoTime();
        HttpHost host = new HttpHost(url.getScheme(), url.getHost(), url.getPort());
        try (OpenSearchTransport transport = ApacheHttpClient5TransportBuilder.builder(host).build()) {
            OpenSearchClient client = new OpenSearchClient(transport);
            BulkIngester<Void> ingester = BulkIngester.of(b -> {
                b.client(client).listener(listener);
                if (options.operations > 0) {
                    b.maxOperations(options.operations);
                }
                if (options.bytes > 0) {
                    b.maxSize(options.bytes);
                }
                if (options.concurrent > 0) {
                    b.maxConcurrentRequests(options.concurrent);
                }
                if (options.retries > 0) {
                    b.backoffPolicy(BackoffPolicy.exponentialBackoff(50L, options.retries));
                }
                return b;
            });
            Peers.lines(options.files, line -> {
                BinaryData document = BinaryData.of(line, ContentType.APPLICATION_JSON);
                String id = options.ids ? Long.toString(Peers.SENT.get()) : null;
                ingester.add(op -> op.index(index -> index.index(options.index).id(id).document(document)));
            });
            ingester.close();
        }
        Peers.print(began);
        System.exit(0);
    }
}
