import java.lang.reflect.Field;
import java.lang.reflect.Method;
import java.util.Map;
import java.util.TreeMap;
import org.apache.lucene.analysis.charfilter.HTMLStripCharFilter;

/**
 * Prints src/analysis/html_names.rs: the characters of names of tags, and the named characters, as
 * Lucene's filter of web pages has them.
 *
 * <p>java -cp 'LIB/*' HtmlNames.java, with LIB a folder with Lucene's jars.
 */
public class HtmlNames {
  private static Method classOf;

  private static int classOf(int c) throws Exception {
    return (Integer) classOf.invoke(null, c);
  }

  /** Characters of other scripts than ASCII that have the class of one of these characters. */
  private static void ranges(String says, String name, int... like) throws Exception {
    StringBuilder lines = new StringBuilder();
    StringBuilder line = new StringBuilder();
    int count = 0;
    for (int c = 0x80; c <= Character.MAX_CODE_POINT; c++) {
      int first = c;
      while (c <= Character.MAX_CODE_POINT && is(c, like)) c++;
      if (c == first) continue;
      count++;
      line = put(lines, line, String.format("(0x%x, 0x%x),", first, c - 1));
    }
    System.out.print("\n/// " + says + "\n#[rustfmt::skip]\npub(super) static " + name + ": [(u32, u32); " + count + "] = [\n");
    System.out.print(lines.append("   ").append(line) + "\n];\n");
  }

  private static boolean is(int c, int[] like) throws Exception {
    for (int one : like) if (classOf(c) == classOf(one)) return true;
    return false;
  }

  private static StringBuilder put(StringBuilder lines, StringBuilder line, String entry) {
    if (line.length() + entry.length() > 110) {
      lines.append("   ").append(line).append('\n');
      line = new StringBuilder();
    }
    return line.append(' ').append(entry);
  }

  public static void main(String[] args) throws Exception {
    classOf = HTMLStripCharFilter.class.getDeclaredMethod("zzCMap", int.class);
    classOf.setAccessible(true);
    System.out.print("//! Names in web pages, as Lucene's `HTMLStripCharFilter` has them; made by\n");
    System.out.print("//! `scripts/HtmlNames.java`. Do not edit.\n");
    // A letter, a sign of its own class, and a digit of another script.
    ranges("What a name can begin with, besides ASCII: first and last, ascending.", "FIRST", 0xe9);
    ranges("What a name can go on with besides.", "FURTHER", 0x300, 0x660);
    Field field = HTMLStripCharFilter.class.getDeclaredField("entityValues");
    field.setAccessible(true);
    TreeMap<String, Character> all = new TreeMap<>();
    for (Map.Entry<?, ?> one : ((Map<?, ?>) field.get(null)).entrySet()) {
      all.put(new String((char[]) one.getKey()), (Character) one.getValue());
    }
    StringBuilder lines = new StringBuilder();
    StringBuilder line = new StringBuilder();
    for (Map.Entry<String, Character> one : all.entrySet()) {
      line = put(lines, line, String.format("(\"%s\", '\\u{%x}'),", one.getKey(), (int) one.getValue()));
    }
    System.out.print("\n/// Names of characters, ascending.\n#[rustfmt::skip]\n");
    System.out.print("pub(super) static CHARACTERS: [(&str, char); " + all.size() + "] = [\n");
    System.out.print(lines.append("   ").append(line) + "\n];\n");
  }
}
