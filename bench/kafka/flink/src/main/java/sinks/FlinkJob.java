package sinks;

import java.net.URI;
import java.nio.charset.StandardCharsets;
import org.apache.flink.api.common.eventtime.WatermarkStrategy;
import org.apache.flink.api.common.typeinfo.TypeHint;
import org.apache.flink.api.common.typeinfo.TypeInformation;
import org.apache.flink.api.java.tuple.Tuple2;
import org.apache.flink.configuration.Configuration;
import org.apache.flink.configuration.RestartStrategyOptions;
import org.apache.flink.connector.base.DeliveryGuarantee;
import org.apache.flink.connector.kafka.source.KafkaSource;
import org.apache.flink.connector.kafka.source.enumerator.initializer.OffsetsInitializer;
import org.apache.flink.connector.kafka.source.reader.deserializer.KafkaRecordDeserializationSchema;
import org.apache.flink.connector.opensearch.sink.FlushBackoffType;
import org.apache.flink.connector.opensearch.sink.Opensearch2SinkBuilder;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;
import org.apache.flink.util.Collector;
import org.apache.http.HttpHost;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.opensearch.action.index.IndexRequest;
import org.opensearch.common.xcontent.XContentType;

/**
 * Flink's Kafka source and its OpenSearch sink, in one process, with a checkpoint every five
 * seconds. Arguments: brokers, topic, group, URL, index, operations of a request, parallel tasks.
 */
public final class FlinkJob {
    private FlinkJob() {}

    public static void main(String[] args) throws Exception {
        String index = args[4];
        URI url = URI.create(args[3]);
        // A failure ends the run: by default the job starts again without an end.
        Configuration settings = new Configuration();
        settings.set(RestartStrategyOptions.RESTART_STRATEGY, "none");
        StreamExecutionEnvironment flink =
                StreamExecutionEnvironment.createLocalEnvironment(Integer.parseInt(args[6]), settings);
        flink.enableCheckpointing(5000);
        flink.getConfig().enableObjectReuse();
        KafkaSource<Tuple2<String, byte[]>> source = KafkaSource.<Tuple2<String, byte[]>>builder()
                .setBootstrapServers(args[0])
                .setTopics(args[1])
                .setGroupId(args[2])
                .setStartingOffsets(OffsetsInitializer.earliest())
                .setDeserializer(new Records())
                .build();
        flink.fromSource(source, WatermarkStrategy.noWatermarks(), "topic")
                .sinkTo(new Opensearch2SinkBuilder<Tuple2<String, byte[]>>()
                        .setHosts(new HttpHost(url.getHost(), url.getPort(), url.getScheme()))
                        .setDeliveryGuarantee(DeliveryGuarantee.AT_LEAST_ONCE)
                        .setBulkFlushMaxActions(Integer.parseInt(args[5]))
                        .setBulkFlushInterval(1000)
                        .setBulkFlushBackoffStrategy(FlushBackoffType.EXPONENTIAL, 8, 50)
                        .setEmitter((record, context, indexer) -> indexer.add(
                                new IndexRequest(index).id(record.f0).source(record.f1, XContentType.JSON)))
                        .build());
        flink.execute();
    }

    private static final class Records implements KafkaRecordDeserializationSchema<Tuple2<String, byte[]>> {
        @Override
        public void deserialize(ConsumerRecord<byte[], byte[]> record, Collector<Tuple2<String, byte[]>> out) {
            String id = record.key() != null
                    ? new String(record.key(), StandardCharsets.UTF_8)
                    : record.topic() + "-" + record.partition() + "-" + record.offset();
            out.collect(Tuple2.of(id, record.value()));
        }

        @Override
        public TypeInformation<Tuple2<String, byte[]>> getProducedType() {
            return TypeInformation.of(new TypeHint<>() {});
        }
    }
}
