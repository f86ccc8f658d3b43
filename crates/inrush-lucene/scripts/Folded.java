import org.apache.lucene.analysis.miscellaneous.ASCIIFoldingFilter;

/**
 * Prints src/analysis/folded.rs: what Lucene's filter for ASCII makes of each character.
 *
 * <p>java -cp 'LIB/*' Folded.java, with LIB the folder lib of a server.
 */
public class Folded {
  public static void main(String[] args) {
    StringBuilder entries = new StringBuilder();
    StringBuilder line = new StringBuilder();
    int count = 0;
    for (char c = 0x80; c < 0xffff; c++) {
      char[] out = new char[8];
      int length = ASCIIFoldingFilter.foldToASCII(new char[] {c}, 0, out, 0, 1);
      String folded = new String(out, 0, length);
      if (folded.equals(String.valueOf(c))) continue;
      count++;
      String entry = String.format("(0x%x, \"%s\"),", (int) c, folded.replace("\\", "\\\\").replace("\"", "\\\""));
      if (line.length() + entry.length() > 110) {
        entries.append("   ").append(line).append('\n');
        line.setLength(0);
      }
      line.append(' ').append(entry);
    }
    entries.append("   ").append(line).append('\n');
    System.out.print("//! What ASCII has for other characters, as Lucene's `ASCIIFoldingFilter` says; made by\n");
    System.out.print("//! `scripts/Folded.java`. Do not edit.\n\n");
    System.out.print("/// Characters with what stands for them, ascending.\n#[rustfmt::skip]\n");
    System.out.print("pub(super) static FOLDED: [(u32, &str); " + count + "] = [\n" + entries + "];\n");
  }
}
