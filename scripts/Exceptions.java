import java.lang.reflect.Modifier;
import java.net.URL;
import java.net.URLClassLoader;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.jar.JarFile;

/**
 * Lists the exceptions of servers as CSV: the type in replies, the HTTP status, the servers that
 * have it. Arguments: folders of distributions, named as the archive, such as opensearch-3.8.0.
 */
public class Exceptions {
    /** Exceptions of Java that servers pass on. */
    private static final List<Class<?>> OF_JAVA = List.of(
        ArithmeticException.class, ArrayIndexOutOfBoundsException.class, AssertionError.class,
        ClassCastException.class, Exception.class, IllegalArgumentException.class, IllegalStateException.class,
        IndexOutOfBoundsException.class, InterruptedException.class, NoClassDefFoundError.class,
        NullPointerException.class, NumberFormatException.class, OutOfMemoryError.class, RuntimeException.class,
        SecurityException.class, StackOverflowError.class, StringIndexOutOfBoundsException.class,
        UnsupportedOperationException.class, java.io.EOFException.class, java.io.FileNotFoundException.class,
        java.io.IOException.class, java.io.UncheckedIOException.class, java.net.ConnectException.class,
        java.net.SocketTimeoutException.class, java.net.UnknownHostException.class,
        java.nio.channels.ClosedByInterruptException.class, java.nio.channels.ClosedChannelException.class,
        java.nio.file.AccessDeniedException.class, java.nio.file.FileAlreadyExistsException.class,
        java.nio.file.FileSystemException.class, java.nio.file.NoSuchFileException.class,
        java.time.DateTimeException.class, java.time.format.DateTimeParseException.class,
        java.util.ConcurrentModificationException.class, java.util.NoSuchElementException.class,
        java.util.concurrent.CancellationException.class, java.util.concurrent.ExecutionException.class,
        java.util.concurrent.RejectedExecutionException.class, java.util.concurrent.TimeoutException.class);
    /** Packages of servers and of what they are made of. */
    private static final List<String> PACKAGES = List.of("org/elasticsearch/", "org/opensearch/",
        "org/apache/lucene/", "com/fasterxml/jackson/core/", "tools/jackson/core/");

    private final TreeMap<String, TreeSet<String>> statuses = new TreeMap<>();
    private final TreeMap<String, TreeSet<String>> servers = new TreeMap<>();

    public static void main(String[] folders) throws Exception {
        var all = new Exceptions();
        for (String folder : folders) all.add(Path.of(folder));
        System.out.println("type,status,servers");
        all.statuses.forEach((type, status) -> System.out.println(
            type + "," + String.join(" ", status) + "," + String.join(" ", all.servers.get(type))));
    }

    private void add(Path folder) throws Exception {
        String server = folder.getFileName().toString(), product = server.substring(0, server.indexOf('-'));
        List<Path> jars;
        try (var files = Files.walk(folder)) {
            jars = files.filter(f -> f.toString().endsWith(".jar") && !f.toString().contains("/tools/")).toList();
        }
        var urls = new ArrayList<URL>();
        for (Path jar : jars) urls.add(jar.toUri().toURL());
        var loader = new URLClassLoader(urls.toArray(new URL[0]), ClassLoader.getPlatformClassLoader());
        if (product.equals("elasticsearch")) {
            // Its exceptions make loggers.
            loader.loadClass("org.elasticsearch.common.logging.LogConfigurator").getMethod("configureESLogging").invoke(null);
        }
        var helper = loader.loadClass("org." + product + ".ExceptionsHelper").getMethod("status", Throwable.class);
        for (Class<?> type : OF_JAVA) note(type, server, product, helper);
        for (Path jar : jars) {
            try (var file = new JarFile(jar.toFile())) {
                for (var entry : file.stream().map(e -> e.getName()).filter(e -> e.endsWith(".class")).toList()) {
                    if (PACKAGES.stream().noneMatch(entry::startsWith)) continue;
                    try {
                        String name = entry.substring(0, entry.length() - 6).replace('/', '.');
                        var type = Class.forName(name, false, loader);
                        boolean made = !Modifier.isAbstract(type.getModifiers()) && !type.isAnonymousClass();
                        if (made && Throwable.class.isAssignableFrom(type)) note(type, server, product, helper);
                    } catch (LinkageError e) {
                        // A class whose optional library is not in the distribution.
                    }
                }
            }
        }
    }

    private void note(Class<?> type, String server, String product, java.lang.reflect.Method helper) throws Exception {
        String status;
        try {
            Object reply = helper.invoke(null, unsafe().allocateInstance(type));
            status = reply.getClass().getMethod("getStatus").invoke(reply).toString();
        } catch (ReflectiveOperationException | NullPointerException e) {
            // The status is that of the cause, or an argument.
            status = "any";
        }
        String snake = snake(type.getSimpleName(), product);
        statuses.computeIfAbsent(snake, k -> new TreeSet<>()).add(status);
        servers.computeIfAbsent(snake, k -> new TreeSet<>()).add(server);
    }

    /** As getExceptionName of both servers. */
    private static String snake(String name, String product) {
        String prefix = product.equals("opensearch") ? "OpenSearch" : "Elasticsearch";
        if (name.startsWith(prefix)) name = name.substring(prefix.length());
        return name.replaceAll("(?<!^)([A-Z])", "_$1").toLowerCase(Locale.ROOT);
    }

    private static sun.misc.Unsafe unsafe() throws ReflectiveOperationException {
        var field = sun.misc.Unsafe.class.getDeclaredField("theUnsafe");
        field.setAccessible(true);
        return (sun.misc.Unsafe) field.get(null);
    }
}
