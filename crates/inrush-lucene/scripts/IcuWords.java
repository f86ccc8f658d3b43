import java.io.File;
import java.lang.reflect.Method;
import java.net.URL;
import java.net.URLClassLoader;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.BitSet;
import java.util.List;

/**
 * Prints src/analysis/icu_words.txt: what characters are for Lucene's ICUTokenizer.
 *
 * <p>java IcuWords.java FOLDER, with the jars icu4j-70.1.jar to icu4j-78.1.jar in it. The kinds of word breaks are those
 * of 74.2 and 77.1, from which Lucene 9 and 10 have compiled theirs; scripts and emoji are those of the jar that a server
 * has. What differs, and what a dictionary cuts, is marked.
 */
public class IcuWords {
  /** Kinds and their sets; the last one that has a character is its own. */
  static final String[][] KINDS = {
    {"l", "[[\\p{Word_Break=ALetter}-[:Han:]-[:Hiragana:]-\\p{Word_Break=Katakana}]]"},
    {"k", "[\\uac00-\\ud7a3]"}, {"i", "[\\p{Ideographic}]"}, {"x", "[\\p{Word_Break=Extend}\\p{Word_Break=Format}]"},
    {"z", "[\\p{Word_Break=ZWJ}]"}, {"r", "[\\p{Word_Break=CR}]"}, {"f", "[\\p{Word_Break=LF}]"},
    {"b", "[\\p{Word_Break=Newline}]"}, {"g", "[\\p{Word_Break=Regional_Indicator}]"},
    {"h", "[\\p{Word_Break=Hebrew_Letter}]"}, {"s", "[\\p{Word_Break=Single_Quote}]"},
    {"d", "[\\p{Word_Break=Double_Quote}]"}, {"m", "[\\p{Word_Break=MidNumLet}]"},
    {"o", "[\\p{Word_Break=MidLetter}-[\\: \\uFE55 \\uFF1A]]"}, {"c", "[\\: \\uFE55 \\uFF1A]"},
    {"t", "[\\p{Word_Break=MidNum}]"}, {"n", "[\\p{Word_Break=Numeric}]"}, {"j", "[\\p{Word_Break=ExtendNumLet}]"},
    {"w", "[\\p{Word_Break=WSegSpace}]"},
  };
  static final String BY_DICTIONARY =
      "[[:LineBreak=Complex_Context:][:Han:][:Hiragana:][:Katakana:][\\p{Word_Break=Katakana}]"
          + "[[\\p{Ideographic}]&[\\p{Word_Break=Extend}]]]";
  static final String EMOJI = "[[:Emoji:][:Extended_Pictographic:]]";
  /** Those that are emoji only where the next character says so. */
  static final String MAY_BE_EMOJI = "[\\u002a\\u00230-9©®™〰〽]";

  /** ICU of one version. */
  static class Icu {
    final Method contains, script, extensions, type, name;
    final Object[] kinds = new Object[KINDS.length];
    final Object dictionary, emoji, may, pictures;
    final Class<?> set;

    Icu(File jar) throws Exception {
      ClassLoader loader = new URLClassLoader(new URL[] {jar.toURI().toURL()}, ClassLoader.getPlatformClassLoader());
      set = loader.loadClass("com.ibm.icu.text.UnicodeSet");
      contains = set.getMethod("contains", int.class);
      Class<?> scripts = loader.loadClass("com.ibm.icu.lang.UScript");
      script = scripts.getMethod("getScript", int.class);
      extensions = scripts.getMethod("getScriptExtensions", int.class, BitSet.class);
      name = scripts.getMethod("getShortName", int.class);
      type = loader.loadClass("com.ibm.icu.lang.UCharacter").getMethod("getType", int.class);
      for (int at = 0; at < KINDS.length; at++) kinds[at] = set(KINDS[at][1]);
      dictionary = set(BY_DICTIONARY);
      emoji = set(EMOJI);
      may = set(MAY_BE_EMOJI);
      pictures = set("[:Extended_Pictographic:]");
    }

    Object set(String pattern) throws Exception {
      Object made = set.getConstructor(String.class).newInstance(pattern);
      return set.getMethod("freeze").invoke(made);
    }

    boolean has(Object set, int c) throws Exception {
      return (boolean) contains.invoke(set, c);
    }

    String kind(int c) throws Exception {
      String kind = "-";
      for (int at = 0; at < KINDS.length; at++) if (has(kinds[at], c)) kind = KINDS[at][0];
      return kind + (has(pictures, c) ? "P" : "");
    }

    /** Marks, emoji and scripts, which are looked up while a server runs. */
    String others(int c) throws Exception {
      int type = (int) this.type.invoke(null, c);
      String found = (type == 6 || type == 7 || type == 8 ? "M" : "") + (has(emoji, c) ? has(may, c) ? "R" : "E" : "");
      int script = (int) this.script.invoke(null, c);
      // The tokenizer takes digits of full width for Latin ones.
      if (c >= 0xff10 && c <= 0xff19) return found + ".Latn";
      // Common and inherited ones go with each.
      if (script <= 1) return found;
      found += "." + name.invoke(null, script);
      BitSet all = new BitSet();
      extensions.invoke(null, c, all);
      for (int one = all.nextSetBit(0); one >= 0; one = all.nextSetBit(one + 1))
        if (one != script) found += "." + name.invoke(null, one);
      return found;
    }
  }

  static String of(List<Icu> versions, List<Icu> kinds, int c) throws Exception {
    Icu one = kinds.get(0);
    for (Icu icu : versions) if (icu.has(icu.dictionary, c)) return "!";
    for (Icu icu : kinds) if (!icu.kind(c).equals(one.kind(c))) return "!";
    for (Icu icu : versions) if (!icu.others(c).equals(one.others(c))) return "!";
    return one.kind(c) + one.others(c);
  }

  public static void main(String[] args) throws Exception {
    List<Icu> versions = new ArrayList<>(), kinds = new ArrayList<>();
    File[] jars = new File(args[0]).listFiles();
    Arrays.sort(jars);
    for (File jar : jars) {
      versions.add(new Icu(jar));
      if (jar.getName().contains("74.2") || jar.getName().contains("77.1")) kinds.add(versions.get(versions.size() - 1));
    }
    System.out.println("# What a character is for Lucene's ICUTokenizer; made by scripts/IcuWords.java.");
    System.out.println("# A-B!: only a server knows. A-B=KIND, then P: a picture, M: a mark, E or R: an emoji, .SCRIPTS.");
    StringBuilder line = new StringBuilder();
    String last = "-";
    int first = 0;
    for (int c = 0; c <= 0x110000; c++) {
      String now = c > 0x10ffff ? null : c >= 0xd800 && c < 0xe000 ? "-" : of(versions, kinds, c);
      if (last.equals(now)) continue;
      if (!last.equals("-")) {
        String range = Integer.toHexString(first) + (first + 1 == c ? "" : "-" + Integer.toHexString(c - 1));
        String item = range + (last.equals("!") ? last : "=" + last);
        if (line.length() + item.length() > 98) {
          System.out.println(line);
          line.setLength(0);
        }
        line.append(line.length() == 0 ? "" : " ").append(item);
      }
      last = now;
      first = c;
    }
    System.out.println(line);
  }
}
