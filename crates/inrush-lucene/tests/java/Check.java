import java.nio.file.Path;
import org.apache.lucene.index.CheckIndex;
import org.apache.lucene.store.FSDirectory;

/** CheckIndex with the slow checks, of each folder. */
public class Check {
  public static void main(String[] args) throws Exception {
    System.exit(run(args) ? 0 : 1);
  }

  static boolean run(String[] args) throws Exception {
    boolean clean = true;
    for (String folder : args) {
      try (FSDirectory dir = FSDirectory.open(Path.of(folder)); CheckIndex check = new CheckIndex(dir)) {
        // Lucene 9 and 10 name the checks differently.
        try {
          CheckIndex.class.getMethod("setLevel", int.class).invoke(check, 3);
        } catch (NoSuchMethodException older) {
          CheckIndex.class.getMethod("setDoSlowChecks", boolean.class).invoke(check, true);
        }
        check.setInfoStream(System.out, false);
        clean &= check.checkIndex().clean;
      }
    }
    System.out.println("clean: " + clean);
    return clean;
  }
}
