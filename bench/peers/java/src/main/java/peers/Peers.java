package peers;

import java.io.BufferedInputStream;
import java.io.FileInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.concurrent.atomic.AtomicLong;

/** What both programs share: flags, lines of a file, and the line of JSON that says what happened. */
final class Peers {
    /** Flags; numbers that are 0 were not given, and the library's own default holds. */
    static final class Options {
        String url = "http://127.0.0.1:9200";
        String index = "bench";
        int operations;
        long bytes;
        int concurrent;
        int retries;
        boolean ids;
        final List<String> files = new ArrayList<>();
    }

    interface Each {
        void line(byte[] line) throws IOException;
    }

    static final AtomicLong SENT = new AtomicLong();
    static final AtomicLong INDEXED = new AtomicLong();
    static final AtomicLong FAILED = new AtomicLong();

    private Peers() {}

    static Options parse(String[] args) {
        Options options = new Options();
        for (int at = 0; at < args.length; at++) {
            switch (args[at]) {
                case "--to" -> options.url = args[++at];
                case "--index" -> options.index = args[++at];
                case "--operations" -> options.operations = Integer.parseInt(args[++at]);
                case "--bytes" -> options.bytes = Long.parseLong(args[++at]);
                case "--retries" -> options.retries = Integer.parseInt(args[++at]);
                case "--ids" -> options.ids = true;
                case "--concurrent" -> options.concurrent = Integer.parseInt(args[++at]);
                default -> options.files.add(args[at]);
            }
        }
        if (options.files.isEmpty()) {
            throw new IllegalArgumentException("no files given");
        }
        return options;
    }

    /** Calls back with each line that is not empty, without its end. */
    static void lines(List<String> files, Each each) throws IOException {
        for (String name : files) {
            try (InputStream in = new BufferedInputStream(new FileInputStream(name), 1 << 20)) {
                byte[] line = new byte[1 << 12];
                int length = 0;
                byte[] block = new byte[1 << 16];
                for (int read = in.read(block); read >= 0; read = in.read(block)) {
                    int from = 0;
                    for (int at = 0; at < read; at++) {
                        if (block[at] == '\n') {
                            line = append(line, length, block, from, at - from);
                            length += at - from;
                            tell(each, line, length);
                            length = 0;
                            from = at + 1;
                        }
                    }
                    line = append(line, length, block, from, read - from);
                    length += read - from;
                }
                tell(each, line, length);
            }
        }
    }

    private static void tell(Each each, byte[] line, int length) throws IOException {
        if (length > 0) {
            SENT.incrementAndGet();
            each.line(java.util.Arrays.copyOf(line, length));
        }
    }

    private static byte[] append(byte[] line, int length, byte[] block, int from, int more) {
        if (length + more > line.length) {
            line = java.util.Arrays.copyOf(line, Math.max(2 * line.length, length + more));
        }
        System.arraycopy(block, from, line, length, more);
        return line;
    }

    static void print(long began) {
        double seconds = (System.nanoTime() - began) / 1e9;
        System.out.printf(Locale.ROOT, "{\"docs_sent\":%d,\"docs_indexed\":%d,\"docs_failed\":%d,\"seconds\":%.3f}%n",
                SENT.get(), INDEXED.get(), FAILED.get(), seconds);
    }
}
