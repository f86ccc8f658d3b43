import java.lang.reflect.Field;
import java.util.*;
import org.apache.lucene.analysis.CharArrayMap;

/**
 * Prints the words of Lucene's {@code KStemmer}, with their stems, and exceptions with {@code !}:
 * java -cp 'LUCENE/*' scripts/KStemWords.java > src/analysis/token_filters/kstem/words.txt
 */
public class KStemWords {
  public static void main(String[] args) throws Exception {
    Class<?> stemmer = Class.forName("org.apache.lucene.analysis.en.KStemmer");
    CharArrayMap<?> all = (CharArrayMap<?>) read(stemmer.getDeclaredField("dict_ht"), null);
    TreeMap<String, String> lines = new TreeMap<>();
    for (Map.Entry<?, ?> one : all.entrySet()) {
      String word = new String((char[]) one.getKey());
      Object entry = one.getValue();
      String root = (String) read(entry.getClass().getDeclaredField("root"), entry);
      boolean exception = (boolean) read(entry.getClass().getDeclaredField("exception"), entry);
      if (exception && !word.equals(root)) throw new Error(word);
      lines.put(word, exception ? word + " !" : root == null ? word : word + " " + root);
    }
    lines.values().forEach(System.out::println);
  }

  static Object read(Field field, Object of) throws Exception {
    field.setAccessible(true);
    return field.get(of);
  }
}
