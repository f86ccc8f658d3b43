import java.io.*;
import java.nio.charset.StandardCharsets;
import org.apache.lucene.analysis.Analyzer;
import org.apache.lucene.analysis.TokenStream;
import org.apache.lucene.analysis.core.SimpleAnalyzer;
import org.apache.lucene.analysis.core.WhitespaceAnalyzer;
import org.apache.lucene.analysis.standard.StandardAnalyzer;
import org.apache.lucene.analysis.tokenattributes.*;

/** The tokens that an analyser makes of each line of hexadecimal code points, with their places, and where the text ends. */
public class Words {
  public static void main(String[] args) throws Exception {
    BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
    PrintWriter out = new PrintWriter(new OutputStreamWriter(new BufferedOutputStream(System.out, 1 << 20), StandardCharsets.UTF_8));
    Analyzer analyzer = switch (args[0]) {
      case "standard" -> new StandardAnalyzer();
      case "simple" -> new SimpleAnalyzer();
      case "whitespace" -> new WhitespaceAnalyzer();
      default -> throw new IllegalArgumentException(args[0]);
    };
    for (String line = in.readLine(); line != null; line = in.readLine()) {
      StringBuilder text = new StringBuilder();
      for (String hex : line.split(" ")) if (!hex.isEmpty()) text.appendCodePoint(Integer.parseInt(hex, 16));
      try (TokenStream tokens = analyzer.tokenStream("f", text.toString())) {
        CharTermAttribute term = tokens.addAttribute(CharTermAttribute.class);
        OffsetAttribute place = tokens.addAttribute(OffsetAttribute.class);
        PositionIncrementAttribute step = tokens.addAttribute(PositionIncrementAttribute.class);
        tokens.reset();
        while (tokens.incrementToken()) {
          if (step.getPositionIncrement() != 1) out.print("+" + step.getPositionIncrement());
          out.print(term + "\u001e" + place.startOffset() + "-" + place.endOffset() + "\u001f");
        }
        tokens.end();
        // Where a further value of the field goes on.
        out.print(place.endOffset());
      }
      out.print('\n');
    }
    out.flush();
  }
}
