import java.io.*;
import java.nio.charset.StandardCharsets;
import java.util.*;
import org.apache.lucene.analysis.Analyzer;
import org.apache.lucene.analysis.TokenStream;
import org.apache.lucene.analysis.custom.CustomAnalyzer;
import org.apache.lucene.analysis.tokenattributes.*;

/**
 * The tokens of texts by Lucene's own parts. A line is filters of characters with a
 * tokenizer, filters and texts, with tabs between them: parts
 * with their parameters as {@code name,key=value}, with semicolons between filters; texts of hexadecimal code points,
 * with semicolons, too. The answer has for each text the terms with their steps and places, and the end of the text.
 */
public class Tokens {
  static String[] parameters(String[] part) {
    List<String> all = new ArrayList<>();
    for (int i = 1; i < part.length; i++) all.addAll(Arrays.asList(part[i].split("=", 2)));
    return all.toArray(new String[0]);
  }

  public static void main(String[] args) throws Exception {
    BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
    PrintStream out = new PrintStream(new BufferedOutputStream(System.out, 1 << 20), false, StandardCharsets.UTF_8);
    for (String line = in.readLine(); line != null; line = in.readLine()) {
      String[] asked = line.split("\t", -1);
      String[] before = asked[0].split(";");
      String[] tokenizer = before[before.length - 1].split(",");
      CustomAnalyzer.Builder builder = CustomAnalyzer.builder().withTokenizer(tokenizer[0], parameters(tokenizer));
      for (int i = 0; i < before.length - 1; i++) {
        String[] part = before[i].replace('|', ',').split(",", 2);
        builder.addCharFilter(part[0], part.length < 2 ? new String[0] : part[1].split("=", 2));
      }
      for (String filter : asked[1].isEmpty() ? new String[0] : asked[1].split(";")) {
        String[] part = filter.split(",");
        builder.addTokenFilter(part[0], parameters(part));
      }
      StringBuilder answer = new StringBuilder();
      try (Analyzer analyzer = builder.build()) {
        for (String hex : asked[2].split(";", -1)) {
          StringBuilder text = new StringBuilder();
          for (String c : hex.split(" ")) if (!c.isEmpty()) text.appendCodePoint(Integer.parseInt(c, 16));
          try (TokenStream tokens = analyzer.tokenStream("f", text.toString())) {
            CharTermAttribute term = tokens.addAttribute(CharTermAttribute.class);
            OffsetAttribute place = tokens.addAttribute(OffsetAttribute.class);
            PositionIncrementAttribute step = tokens.addAttribute(PositionIncrementAttribute.class);
            tokens.reset();
            while (tokens.incrementToken()) {
              for (int i = 0; i < term.length(); i++) answer.append(i == 0 ? "" : " ").append(Integer.toHexString(term.charAt(i)));
              answer.append(',').append(step.getPositionIncrement()).append(',').append(place.startOffset()).append(',').append(place.endOffset()).append(';');
            }
            tokens.end();
            answer.append(step.getPositionIncrement()).append(',').append(place.endOffset()).append('\t');
          }
        }
      }
      out.println(answer);
      out.flush();
    }
  }
}
