import java.util.Iterator;
import java.util.TreeMap;
import java.util.TreeSet;
import org.apache.lucene.analysis.CharArraySet;

/**
 * Prints src/analysis/stop_words.rs: the lists of Lucene's analysers of languages.
 *
 * <p>java -cp 'LIB/*' StopWords.java, with LIB the folder lib of a server. Those of
 * Galician, Latvian and Sorani have remarks among their words, those of Romanian and Swedish differ between
 * versions: they are left out.
 */
public class StopWords {
  public static void main(String[] args) throws Exception {
    String[][] all = {
      {"arabic", "ar.Arabic"}, {"armenian", "hy.Armenian"}, {"basque", "eu.Basque"}, {"bengali", "bn.Bengali"},
      {"brazilian", "br.Brazilian"}, {"bulgarian", "bg.Bulgarian"}, {"catalan", "ca.Catalan"}, {"czech", "cz.Czech"},
      {"danish", "da.Danish"}, {"dutch", "nl.Dutch"}, {"english", "en.English"}, {"estonian", "et.Estonian"},
      {"finnish", "fi.Finnish"}, {"french", "fr.French"}, {"german", "de.German"},
      {"greek", "el.Greek"}, {"hindi", "hi.Hindi"}, {"hungarian", "hu.Hungarian"}, {"indonesian", "id.Indonesian"},
      {"irish", "ga.Irish"}, {"italian", "it.Italian"}, {"lithuanian", "lt.Lithuanian"},
      {"norwegian", "no.Norwegian"}, {"persian", "fa.Persian"}, {"portuguese", "pt.Portuguese"},
      {"russian", "ru.Russian"}, {"spanish", "es.Spanish"},
      {"thai", "th.Thai"}, {"turkish", "tr.Turkish"},
    };
    System.out.print("//! Words that are left out of texts of a language, as Lucene's analysers have them; made by\n");
    System.out.print("//! `scripts/StopWords.java`. Do not edit.\n\n");
    System.out.print("/// Languages with their words, with commas between them.\n#[rustfmt::skip]\n");
    System.out.print("pub(super) static STOP_WORDS: [(&str, &str); " + all.length + "] = [\n");
    for (String[] one : all) {
      Class<?> analyzer = Class.forName("org.apache.lucene.analysis." + one[1] + "Analyzer");
      CharArraySet set = (CharArraySet) analyzer.getMethod("getDefaultStopSet").invoke(null);
      TreeSet<String> words = new TreeSet<>();
      for (Iterator<Object> i = set.iterator(); i.hasNext();) words.add(new String((char[]) i.next()));
      StringBuilder text = new StringBuilder(), line = new StringBuilder();
      for (String word : words) {
        if (word.contains(",") || word.contains("\"")) throw new Exception(one[0] + word);
        if (line.length() + word.length() > 96) {
          text.append(line).append(",\\\n        ");
          line.setLength(0);
        }
        line.append(line.length() == 0 ? "" : ",").append(word);
      }
      System.out.print("    (\"" + one[0] + "\", \"" + text + line + "\"),\n");
    }
    System.out.print("];\n");
  }
}
