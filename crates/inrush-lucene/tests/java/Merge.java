import java.nio.file.Path;
import org.apache.lucene.index.*;
import org.apache.lucene.search.Sort;
import org.apache.lucene.store.FSDirectory;

/** Merges an index into a folder: one segment without deleted documents. */
public class Merge {
  /** Lucene 9 and 10 name it differently. */
  static Sort sort(LeafMetaData data) throws Exception {
    try {
      return (Sort) LeafMetaData.class.getMethod("sort").invoke(data);
    } catch (NoSuchMethodException older) {
      return (Sort) LeafMetaData.class.getMethod("getSort").invoke(data);
    }
  }

  static boolean run(String[] args) throws Exception {
    IndexWriterConfig config = new IndexWriterConfig(null).setSoftDeletesField("__soft_deletes");
    try (FSDirectory from = FSDirectory.open(Path.of(args[0])); FSDirectory to = FSDirectory.open(Path.of(args[1]));
        DirectoryReader reader = new SoftDeletesDirectoryReaderWrapper(DirectoryReader.open(from), "__soft_deletes")) {
      for (LeafReaderContext leaf : reader.leaves()) {
        Sort sort = sort(leaf.reader().getMetaData());
        if (sort != null) config.setIndexSort(sort);
        for (FieldInfo info : leaf.reader().getFieldInfos()) if (info.isParentField()) config.setParentField(info.name);
      }
      System.out.println(args[0] + ": " + reader.leaves().size() + " segments, " + reader.numDeletedDocs() + " deleted");
      try (IndexWriter writer = new IndexWriter(to, config)) {
        writer.addIndexes(reader.leaves().stream().map(leaf -> (CodecReader) leaf.reader()).toArray(CodecReader[]::new));
        writer.commit();
      }
    }
    return true;
  }
}
