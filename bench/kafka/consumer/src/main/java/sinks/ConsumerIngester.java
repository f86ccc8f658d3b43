package sinks;

import java.net.URI;
import java.time.Duration;
import java.util.List;
import java.util.Properties;
import java.util.concurrent.atomic.AtomicLong;
import org.apache.hc.core5.http.HttpHost;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;
import org.apache.kafka.common.serialization.StringDeserializer;
import org.opensearch.client.opensearch.OpenSearchClient;
import org.opensearch.client.opensearch._helpers.bulk.BulkIngester;
import org.opensearch.client.opensearch._helpers.bulk.BulkListener;
import org.opensearch.client.opensearch.core.BulkRequest;
import org.opensearch.client.opensearch.core.BulkResponse;
import org.opensearch.client.transport.OpenSearchTransport;
import org.opensearch.client.transport.httpclient5.ApacheHttpClient5TransportBuilder;
import org.opensearch.client.util.BinaryData;
import org.opensearch.client.util.ContentType;

/**
 * Kafka's consumer and opensearch-java's BulkIngester, as an own service has them. Offsets are
 * committed every five seconds when all requests are answered. Arguments: brokers, topic, group,
 * URL, index, operations of a request, requests at once.
 */
public final class ConsumerIngester {
    private static final AtomicLong ANSWERED = new AtomicLong();

    private ConsumerIngester() {}

    public static void main(String[] args) throws Exception {
        String index = args[4];
        Properties properties = new Properties();
        properties.put("bootstrap.servers", args[0]);
        properties.put("group.id", args[2]);
        properties.put("auto.offset.reset", "earliest");
        properties.put("enable.auto.commit", "false");
        properties.put("max.poll.records", "5000");
        URI url = URI.create(args[3]);
        HttpHost host = new HttpHost(url.getScheme(), url.getHost(), url.getPort());
        try (OpenSearchTransport transport = ApacheHttpClient5TransportBuilder.builder(host).build();
                KafkaConsumer<String, byte[]> consumer =
                        new KafkaConsumer<>(properties, new StringDeserializer(), new ByteArrayDeserializer())) {
            BulkIngester<Void> ingester = BulkIngester.of(b -> b.client(new OpenSearchClient(transport))
                    .maxOperations(Integer.parseInt(args[5]))
                    .maxSize(16 << 20)
                    .maxConcurrentRequests(Integer.parseInt(args[6]))
                    .flushInterval(1, java.util.concurrent.TimeUnit.SECONDS)
                    .listener(listener()));
            consumer.subscribe(List.of(args[1]));
            long sent = 0;
            long committed = System.nanoTime();
            while (true) {
                for (ConsumerRecord<String, byte[]> record : consumer.poll(Duration.ofMillis(100))) {
                    String id = record.key() != null
                            ? record.key()
                            : record.topic() + "-" + record.partition() + "-" + record.offset();
                    BinaryData document = BinaryData.of(record.value(), ContentType.APPLICATION_JSON);
                    ingester.add(op -> op.index(i -> i.index(index).id(id).document(document)));
                    sent++;
                }
                if (System.nanoTime() - committed > 5_000_000_000L) {
                    ingester.flush();
                    while (ANSWERED.get() < sent) {
                        Thread.sleep(1);
                    }
                    consumer.commitSync();
                    committed = System.nanoTime();
                }
            }
        }
    }

    private static BulkListener<Void> listener() {
        return new BulkListener<>() {
            @Override
            public void beforeBulk(long id, BulkRequest request, List<Void> contexts) {}

            @Override
            public void afterBulk(long id, BulkRequest request, List<Void> contexts, BulkResponse response) {
                ANSWERED.addAndGet(response.items().size());
            }

            @Override
            public void afterBulk(long id, BulkRequest request, List<Void> contexts, Throwable failure) {
                ANSWERED.addAndGet(request.operations().size());
                System.err.println(failure);
            }
        };
    }
}
