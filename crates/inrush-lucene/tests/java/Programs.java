import java.io.*;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;

/**
 * The programs that look at indices, one after the other in one process. A line has a program and its arguments with
 * tabs between them. The reply is `ok` or `failed`, the number of bytes of the output, a line feed, and the output.
 */
public class Programs {
  public static void main(String[] args) throws Exception {
    BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
    PrintStream reply = System.out;
    for (String line = in.readLine(); line != null; line = in.readLine()) {
      String[] words = line.split("\t");
      ByteArrayOutputStream output = new ByteArrayOutputStream();
      System.setOut(new PrintStream(output, true, StandardCharsets.UTF_8));
      boolean ok = false;
      try {
        String[] arguments = Arrays.copyOfRange(words, 1, words.length);
        ok = switch (words[0]) {
          case "Check" -> Check.run(arguments);
          case "Merge" -> Merge.run(arguments);
          case "Compare" -> Compare.run(arguments);
          default -> throw new IllegalArgumentException(words[0]);
        };
      } catch (Throwable error) {
        error.printStackTrace(System.out);
      }
      System.out.flush();
      reply.print((ok ? "ok " : "failed ") + output.size() + "\n");
      output.writeTo(reply);
      reply.flush();
    }
  }
}
