package peers;

import co.elastic.clients.elasticsearch.ElasticsearchClient;
import co.elastic.clients.elasticsearch._helpers.bulk.BulkIngester;
import co.elastic.clients.elasticsearch._helpers.bulk.BulkListener;
import co.elastic.clients.elasticsearch.core.BulkRequest;
import co.elastic.clients.elasticsearch.core.BulkResponse;
import co.elastic.clients.json.jackson.JacksonJsonpMapper;
import co.elastic.clients.transport.BackoffPolicy;
import co.elastic.clients.transport.rest_client.RestClientTransport;
import co.elastic.clients.util.BinaryData;
import co.elastic.clients.util.ContentType;
import java.util.List;
import org.apache.http.HttpHost;
import org.elasticsearch.client.RestClient;

/** elasticsearch-java's BulkIngester, as its documentation shows it. */
public final class ElasticsearchIngester {
    private ElasticsearchIngester() {}

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
        long began = System.nanoTime();
        RestClient rest = RestClient.builder(HttpHost.create(options.url)).build();
        try (RestClientTransport transport = new RestClientTransport(rest, new JacksonJsonpMapper())) {
            ElasticsearchClient client = new ElasticsearchClient(transport);
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
