import com.ibm.icu.text.Normalizer2;
import java.io.File;
import java.lang.reflect.Method;
import java.net.URL;
import java.net.URLClassLoader;
import java.util.ArrayList;
import java.util.List;
import org.apache.lucene.analysis.icu.ICUFoldingFilter;

/**
 * Prints src/analysis/token_filters/icu_folding.txt and icu_normalizer.txt: what Lucene's normalizer utr30 makes of each
 * character, and ICU's nfkc_cf.
 *
 * <p>java -cp 'LIB/*' Folding.java OTHER utr30|nfkc_cf, with LIB and OTHER the folders with the jars of lucene-core,
 * lucene-analysis-common, lucene-analysis-icu and icu4j of two versions of Lucene. The characters that the two have in
 * different ways are marked.
 */
public class Folding {
  static final StringBuilder line = new StringBuilder();

  static void item(String item) {
    if (line.length() + item.length() > 98) {
      System.out.println(line);
      line.setLength(0);
    }
    line.append(line.length() == 0 ? "" : " ").append(item);
  }

  static String of(Object n, int c) throws Exception {
    Method decomposition = n.getClass().getMethod("getDecomposition", int.class);
    Method order = n.getClass().getMethod("getCombiningClass", int.class);
    decomposition.setAccessible(true);
    order.setAccessible(true);
    String to = (String) decomposition.invoke(n, c);
    if (to == null) return (int) order.invoke(n, c) == 0 ? null : ":" + order.invoke(n, c);
    StringBuilder all = new StringBuilder("=");
    to.codePoints().forEach(one -> all.append(all.length() == 1 ? "" : ",").append(Integer.toHexString(one)));
    return all.toString();
  }

  static boolean isOne(String to) {
    return to != null && to.startsWith("=") && to.length() > 1 && !to.contains(",");
  }

  static int next(String to, int by) {
    return Integer.parseInt(to.substring(1), 16) + by;
  }

  public static void main(String[] args) throws Exception {
    boolean folds = args[1].equals("utr30");
    Normalizer2 n = folds ? ICUFoldingFilter.NORMALIZER : Normalizer2.getNFKCCasefoldInstance();
    List<URL> jars = new ArrayList<>();
    for (File file : new File(args[0]).listFiles()) if (file.getName().endsWith(".jar")) jars.add(file.toURI().toURL());
    ClassLoader loader = new URLClassLoader(jars.toArray(new URL[0]), ClassLoader.getPlatformClassLoader());
    Object other =
        folds
            ? loader.loadClass("org.apache.lucene.analysis.icu.ICUFoldingFilter").getField("NORMALIZER").get(null)
            : loader.loadClass("com.ibm.icu.text.Normalizer2").getMethod("getNFKCCasefoldInstance").invoke(null);
    System.out.println("# What the normalizer " + args[1] + " makes of a character; made by scripts/Folding.java.");
    System.out.println("# A-B: nothing. A-B>C: C and those behind it. A-B=C,D: these. A-B:C: itself, of the class C.");
    System.out.println("# A-B!: versions differ. A+B=C: two become one.");
    String[] to = new String[0x110000];
    for (int c = 0; c < to.length; c++) {
      if (c >= 0xd800 && c < 0xe000 || c >= 0xac00 && c <= 0xd7a3) continue;
      String a = of(n, c), b = of(other, c);
      to[c] = a == null ? b == null ? null : "!" : a.equals(b) ? a : "!";
    }
    Method pair = other.getClass().getMethod("composePair", int.class, int.class);
    pair.setAccessible(true);
    List<String> pairs = new ArrayList<>();
    List<Integer> seconds = new ArrayList<>();
    for (int c = 0; c < to.length; c++) if ((c < 0xd800 || c >= 0xe000) && !n.hasBoundaryBefore(c)) seconds.add(c);
    for (int a = 0; a < 0x20000; a++) {
      if (a >= 0xd800 && a < 0xe000 || a >= 0xac00 && a <= 0xd7a3 || a >= 0x1100 && a <= 0x1112) continue;
      for (int b : seconds) {
        int one = n.composePair(a, b);
        if (one != (int) pair.invoke(other, a, b)) to[a] = "!";
        else if (one >= 0) pairs.add(Integer.toHexString(a) + "+" + Integer.toHexString(b) + "=" + Integer.toHexString(one));
      }
    }
    for (int c = 0; c < to.length; ) {
      int last = c;
      if (to[c] == null) {
        c++;
        continue;
      }
      if (isOne(to[c])) while (last + 1 < to.length && isOne(to[last + 1]) && next(to[last + 1], 0) == next(to[last], 1)) last++;
      boolean shifts = last > c;
      if (!shifts) while (last + 1 < to.length && to[c].equals(to[last + 1])) last++;
      String range = Integer.toHexString(c) + (last > c ? "-" + Integer.toHexString(last) : "");
      item(range + (to[c].equals("=") ? "" : shifts ? to[c].replace('=', '>') : to[c]));
      c = last + 1;
    }
    pairs.forEach(Folding::item);
    System.out.println(line);
  }
}
