import java.util.function.IntPredicate;

/**
 * Prints src/analysis/java_classes.rs: the characters that
 * `java.lang.Character` has in classes. Java 25 has Unicode 16.
 *
 * <p>java JavaClasses.java
 */
public class JavaClasses {
  static void print(String name, String what, IntPredicate is) {
    StringBuilder entries = new StringBuilder(), line = new StringBuilder();
    int count = 0;
    for (int c = 0; c <= Character.MAX_CODE_POINT; c++) {
      if (!is.test(c)) continue;
      int first = c;
      while (c < Character.MAX_CODE_POINT && is.test(c + 1)) c++;
      count++;
      String entry = String.format(" (0x%x, 0x%x),", first, c);
      if (line.length() + entry.length() > 104) {
        entries.append("   ").append(line).append('\n');
        line.setLength(0);
      }
      line.append(entry);
    }
    entries.append("   ").append(line).append('\n');
    System.out.print("\n/// " + what + "\n#[rustfmt::skip]\n");
    System.out.print("pub(super) static " + name + ": [(u32, u32); " + count + "] = [\n" + entries + "];\n");
  }

  public static void main(String[] args) {
    System.out.print("//! Characters of classes, as `java.lang.Character` of Java 25 (Unicode 16) has them; made by\n");
    System.out.print("//! `scripts/JavaClasses.java`. Do not edit.\n");
    print("DIGITS", "Digits of decimal numbers: each range begins with a zero.", Character::isDigit);
    print("PUNCTUATION", "Punctuation.", c -> switch (Character.getType(c)) {
      case Character.START_PUNCTUATION, Character.END_PUNCTUATION, Character.OTHER_PUNCTUATION,
          Character.CONNECTOR_PUNCTUATION, Character.DASH_PUNCTUATION, Character.INITIAL_QUOTE_PUNCTUATION,
          Character.FINAL_QUOTE_PUNCTUATION -> true;
      default -> false;
    });
    print("SYMBOLS", "Symbols.", c -> switch (Character.getType(c)) {
      case Character.CURRENCY_SYMBOL, Character.MATH_SYMBOL, Character.OTHER_SYMBOL, Character.MODIFIER_SYMBOL -> true;
      default -> false;
    });
    print("FORMATS", "Characters that say how others are written.", c -> Character.getType(c) == Character.FORMAT);
  }
}
