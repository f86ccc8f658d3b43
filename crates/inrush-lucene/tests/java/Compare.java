import java.nio.file.Path;
import java.util.*;
import org.apache.lucene.document.Document;
import org.apache.lucene.index.*;
import org.apache.lucene.search.DocIdSetIterator;
import org.apache.lucene.store.FSDirectory;
import org.apache.lucene.util.BytesRef;

/** Whether two indices of one segment each have the same in all fields, document by `_id`. */
public class Compare {
  static String flags(FieldInfo i) throws Exception {
    Object ranges;
    try { ranges = FieldInfo.class.getMethod("docValuesSkipIndexType").invoke(i); } catch (NoSuchMethodException lucene9) { ranges = "NONE"; }
    Object vectors;
    try { vectors = FieldInfo.class.getMethod("hasTermVectors").invoke(i); } catch (NoSuchMethodException lucene9) { vectors = FieldInfo.class.getMethod("hasVectors").invoke(i); }
    return i.getIndexOptions() + " vectors " + vectors + " norms " + i.hasNorms() + " omit " + i.omitsNorms() + " " + i.getDocValuesType() + " ranges " + ranges + " points " + i.getPointDimensionCount() + "/" + i.getPointIndexDimensionCount() + "x" + i.getPointNumBytes() + " payloads " + i.hasPayloads() + " soft " + i.isSoftDeletesField() + " parent " + i.isParentField();
  }

  static LeafReader a, b;
  static int[] map; // document of a -> document of b
  static long differences, compared;

  static void differ(String what) {
    if (++differences <= 40) System.out.println("DIFFERENT " + what);
  }

  public static void main(String[] args) throws Exception {
    System.exit(run(args) ? 0 : 1);
  }

  static boolean run(String[] args) throws Exception {
    differences = compared = 0;
    Set<String> skip = new HashSet<>(List.of(args).subList(2, args.length));
    try (DirectoryReader ra = DirectoryReader.open(FSDirectory.open(Path.of(args[0]))); DirectoryReader rb = DirectoryReader.open(FSDirectory.open(Path.of(args[1])))) {
      if (ra.leaves().size() != 1 || rb.leaves().size() != 1) throw new Error("segments: " + ra.leaves().size() + " " + rb.leaves().size());
      a = ra.leaves().get(0).reader(); b = rb.leaves().get(0).reader();
      // The server keeps what it wrote of documents that Lucene refused.
      if (a.hasDeletions() || !skip.contains("__soft_deletes") && a.getFieldInfos().fieldInfo("__soft_deletes") != null) { System.out.println("the server has deletions"); return true; }
      Object sa = ((SegmentReader) a).getSegmentInfo().info.getIndexSort(), sb = ((SegmentReader) b).getSegmentInfo().info.getIndexSort();
      if (!Objects.equals(sa, sb)) differ("sort: " + sa + " | " + sb);
      if (a.maxDoc() != b.maxDoc() || a.numDocs() != b.numDocs()) throw new Error("documents: " + a.maxDoc() + " " + b.maxDoc());
      ids(); fields(skip); stored(skip);
    }
    System.out.println(compared + " things compared, " + differences + " different");
    return differences == 0;
  }

  /** The text of a document; of a nested object that of the document that has it. */
  static String source(LeafReader reader, int doc) throws Exception {
    IndexableField source = null;
    while (source == null && doc < reader.maxDoc()) source = reader.storedFields().document(doc++).getField("_source");
    return source == null ? "none" : source.binaryValue().utf8ToString();
  }

  static void ids() throws Exception {
    map = new int[a.maxDoc()];
    TermsEnum ta = a.terms("_id").iterator(), tb = b.terms("_id").iterator();
    PostingsEnum pa = null, pb = null;
    for (BytesRef t = ta.next(); t != null; t = ta.next()) {
      BytesRef u = tb.next();
      if (!t.equals(u)) throw new Error("ids " + t + " " + u);
      pa = ta.postings(pa, 0); pb = tb.postings(pb, 0);
      // Nested objects come before their document, and have its id.
      for (int d = pa.nextDoc(); d != DocIdSetIterator.NO_MORE_DOCS; d = pa.nextDoc()) map[d] = pb.nextDoc();
      if (pb.nextDoc() != DocIdSetIterator.NO_MORE_DOCS) throw new Error("more documents of id " + t);
    }
    if (tb.next() != null) throw new Error("more ids");
  }

  static void fields(Set<String> skip) throws Exception {
    TreeSet<String> names = new TreeSet<>();
    for (FieldInfo i : a.getFieldInfos()) names.add(i.name);
    for (FieldInfo i : b.getFieldInfos()) names.add(i.name);
    if (skip.contains("__soft_deletes")) names.remove("__soft_deletes");
    // The whole document, of which merges drop it.
    if (skip.contains("_recovery_source")) names.remove("_recovery_source");
    for (String name : names) {
      FieldInfo x = a.getFieldInfos().fieldInfo(name), y = b.getFieldInfos().fieldInfo(name);
      // A segment in which all documents are deleted is dropped with its fields.
      if (skip.contains("__soft_deletes") && (x == null ? isEmpty(b, y) : y == null && isEmpty(a, x))) continue;
      if (x == null || y == null) { differ("field " + name + " only " + (x == null ? "here: " + flags(y) : "in the index of the server: " + flags(x))); continue; }
      String sx = flags(x), sy = flags(y);
      if (!sx.equals(sy)) differ("field " + name + ": " + sx + " | " + sy);
      System.out.println(name + ": " + sx);
      if (skip.contains(name)) continue;
      if (x.getIndexOptions() != IndexOptions.NONE) { terms(name, x); vectors(name); }
      if (x.hasNorms()) numeric(name + " norms", a.getNormValues(name), b.getNormValues(name));
      switch (x.getDocValuesType()) {
        case NUMERIC -> numeric(name, a.getNumericDocValues(name), b.getNumericDocValues(name));
        case SORTED_NUMERIC -> sortedNumeric(name);
        case SORTED, SORTED_SET -> sortedSet(name);
        case BINARY -> binary(name);
        default -> {}
      }
      if (x.getPointDimensionCount() > 0) points(name);
    }
  }

  /** Whether no document has anything of a field. */
  static boolean isEmpty(LeafReader reader, FieldInfo info) throws Exception {
    Terms terms = reader.terms(info.name);
    if (terms != null && terms.iterator().next() != null || reader.getPointValues(info.name) != null) return false;
    DocIdSetIterator values = switch (info.getDocValuesType()) {
      case NUMERIC -> reader.getNumericDocValues(info.name);
      case SORTED_NUMERIC -> reader.getSortedNumericDocValues(info.name);
      case SORTED -> reader.getSortedDocValues(info.name);
      case SORTED_SET -> reader.getSortedSetDocValues(info.name);
      case BINARY -> reader.getBinaryDocValues(info.name);
      default -> DocIdSetIterator.empty();
    };
    return values.nextDoc() == DocIdSetIterator.NO_MORE_DOCS;
  }

  static void terms(String name, FieldInfo info) throws Exception {
    Terms ta = a.terms(name), tb = b.terms(name);
    if (ta == null || tb == null) { if (ta != tb) differ(name + " terms in one only"); return; }
    if (ta.size() != tb.size() || ta.getDocCount() != tb.getDocCount() || ta.getSumDocFreq() != tb.getSumDocFreq() || ta.getSumTotalTermFreq() != tb.getSumTotalTermFreq() || !ta.getMin().equals(tb.getMin()) || !ta.getMax().equals(tb.getMax()))
      differ(name + " sums: " + ta.size() + " " + ta.getDocCount() + " " + ta.getSumDocFreq() + " " + ta.getSumTotalTermFreq() + " | " + tb.size() + " " + tb.getDocCount() + " " + tb.getSumDocFreq() + " " + tb.getSumTotalTermFreq());
    TermsEnum ea = ta.iterator(), eb = tb.iterator();
    boolean positions = info.getIndexOptions().compareTo(IndexOptions.DOCS_AND_FREQS_AND_POSITIONS) >= 0;
    PostingsEnum pa = null, pb = null;
    for (BytesRef t = ea.next(); t != null; t = ea.next()) {
      compared++;
      BytesRef u = eb.next();
      if (!t.equals(u)) { differ(name + " term " + t.utf8ToString() + " " + u); return; }
      if (ea.docFreq() != eb.docFreq() || ea.totalTermFreq() != eb.totalTermFreq()) { differ(name + " freqs of " + t); continue; }
      pa = ea.postings(pa, PostingsEnum.ALL); pb = eb.postings(pb, PostingsEnum.ALL);
      int n = ea.docFreq();
      long[] la = new long[n], lb = new long[n];
      for (int i = 0; i < n; i++) { la[i] = occurrence(pa, positions, true); lb[i] = occurrence(pb, positions, false); }
      if (pa.nextDoc() != DocIdSetIterator.NO_MORE_DOCS) differ(name + " more documents of " + t);
      Arrays.sort(la); Arrays.sort(lb);
      if (!Arrays.equals(la, lb)) differ(name + " postings of " + t.utf8ToString());
      compared += n;
    }
    if (eb.next() != null) differ(name + " more terms");
  }

  /** The vectors of each document: terms, how often each comes, and what is kept of its places. */
  static void vectors(String name) throws Exception {
    TermVectors va = a.termVectors(), vb = b.termVectors();
    for (int d = 0; d < map.length; d++) {
      String x = vector(va.get(d, name)), y = vector(vb.get(map[d], name));
      if (!x.equals(y)) differ(name + " vector of document " + d + ": " + x + " | " + y);
    }
  }

  static String vector(Terms terms) throws Exception {
    if (terms == null) return "none";
    StringBuilder all = new StringBuilder();
    all.append(terms.size()).append(terms.hasPositions()).append(terms.hasOffsets()).append(terms.hasPayloads());
    TermsEnum e = terms.iterator();
    for (BytesRef t = e.next(); t != null; t = e.next()) {
      PostingsEnum p = e.postings(null, PostingsEnum.ALL);
      p.nextDoc();
      all.append(' ').append(t).append(p.freq());
      for (int i = 0; i < p.freq() && (terms.hasPositions() || terms.hasOffsets()); i++) all.append(',').append(p.nextPosition()).append(':').append(p.startOffset()).append('-').append(p.endOffset());
      compared++;
    }
    return all.toString();
  }

  static long occurrence(PostingsEnum p, boolean positions, boolean mapped) throws Exception {
    int doc = p.nextDoc(), freq = p.freq(), hash = freq;
    // Offsets are -1 where the field has none.
    for (int i = 0; positions && i < freq; i++) {
      hash = 31 * (31 * (31 * hash + p.nextPosition()) + p.startOffset()) + p.endOffset();
      if (p.getPayload() != null) hash = 31 * hash + p.getPayload().hashCode();
    }
    return (long) (mapped ? map[doc] : doc) << 32 | (hash & 0xffffffffL);
  }

  static void numeric(String name, NumericDocValues x, NumericDocValues y) throws Exception {
    for (int d = 0; d < map.length; d++) {
      boolean has = x.advanceExact(d);
      if (y.docID() > map[d]) y = name.endsWith(" norms") ? b.getNormValues(name.substring(0, name.length() - 6)) : b.getNumericDocValues(name);
      if (has != y.advanceExact(map[d]) || (has && x.longValue() != y.longValue())) differ(name + " of document " + d + (has ? " " + x.longValue() + " " + y.longValue() : ""));
      compared++;
    }
  }

  static void sortedNumeric(String name) throws Exception {
    SortedNumericDocValues x = a.getSortedNumericDocValues(name), y = b.getSortedNumericDocValues(name);
    for (int d = 0; d < map.length; d++) {
      if (y.docID() > map[d]) y = b.getSortedNumericDocValues(name);
      boolean has = x.advanceExact(d);
      if (has != y.advanceExact(map[d])) { differ(name + " of document " + d + " of " + source(a, d)); continue; }
      if (!has) continue;
      if (x.docValueCount() != y.docValueCount()) { differ(name + " count of document " + d + " of " + source(a, d)); continue; }
      for (int i = x.docValueCount(); i > 0; i--) { long v = x.nextValue(), w = y.nextValue(); if (v != w) differ(name + " value of document " + d + ": " + v + " " + w + " of " + source(a, d)); }
      compared++;
    }
  }

  static void sortedSet(String name) throws Exception {
    // Also of a field with one value at most.
    SortedSetDocValues x = DocValues.getSortedSet(a, name), y = DocValues.getSortedSet(b, name);
    if (x.getValueCount() != y.getValueCount()) { differ(name + " values " + x.getValueCount() + " " + y.getValueCount()); return; }
    TermsEnum ta = x.termsEnum(), tb = y.termsEnum();
    for (BytesRef t = ta.next(); t != null; t = ta.next()) if (!t.equals(tb.next())) { differ(name + " dictionary " + t); return; }
    Random dice = new Random(1);
    for (int i = 0; i < 10_000 && x.getValueCount() > 0; i++) {
      long ord = dice.nextLong(x.getValueCount());
      BytesRef t = BytesRef.deepCopyOf(x.lookupOrd(ord));
      if (!t.equals(y.lookupOrd(ord)) || x.lookupTerm(t) != ord) { differ(name + " look-up of " + t); break; }
    }
    for (int d = 0; d < map.length; d++) {
      if (y.docID() > map[d]) y = DocValues.getSortedSet(b, name);
      boolean has = x.advanceExact(d);
      if (has != y.advanceExact(map[d])) { differ(name + " of document " + d); continue; }
      if (!has) continue;
      if (x.docValueCount() != y.docValueCount()) { differ(name + " count of document " + d + " of " + source(a, d)); continue; }
      for (int i = x.docValueCount(); i > 0; i--) if (x.nextOrd() != y.nextOrd()) differ(name + " value of document " + d);
      compared++;
    }
  }

  static void binary(String name) throws Exception {
    BinaryDocValues x = a.getBinaryDocValues(name), y = b.getBinaryDocValues(name);
    for (int d = 0; d < map.length; d++) {
      if (y.docID() > map[d]) y = b.getBinaryDocValues(name);
      boolean has = x.advanceExact(d);
      if (has != y.advanceExact(map[d]) || (has && !x.binaryValue().equals(y.binaryValue()) && !addresses(x.binaryValue()).equals(addresses(y.binaryValue())))) differ(name + " of document " + d + " of " + source(a, d));
      compared++;
    }
  }

  /** Values of 32 bytes behind their number: the servers have ranges of addresses in the order of a Java hash set. */
  static List<String> addresses(BytesRef value) {
    List<String> all = new ArrayList<>();
    int count = value.bytes[value.offset];
    if (value.length != 1 + 32 * count) return List.of(value.toString());
    for (int i = 0; i < count; i++) all.add(new BytesRef(value.bytes, value.offset + 1 + 32 * i, 32).toString());
    Collections.sort(all);
    return all;
  }

  static void points(String name) throws Exception {
    PointValues x = a.getPointValues(name), y = b.getPointValues(name);
    // Only documents that are deleted had some.
    if (x == null && y == null) return;
    if (x == null || y == null) { differ(name + " points in one only"); return; }
    if (x.size() != y.size() || x.getDocCount() != y.getDocCount() || !Arrays.equals(x.getMinPackedValue(), y.getMinPackedValue()) || !Arrays.equals(x.getMaxPackedValue(), y.getMaxPackedValue())) differ(name + " points");
    long[] la = all(x, true), lb = all(y, false);
    Arrays.sort(la); Arrays.sort(lb);
    if (!Arrays.equals(la, lb)) {
      differ(name + " values of points");
      Map<Integer, String> ma = show(x, true), mb = show(y, false);
      int n = 0;
      for (int d : ma.keySet()) if (!ma.get(d).equals(mb.get(d)) && n++ < 4) differ("  document " + d + ": " + ma.get(d) + " | " + mb.get(d) + " of " + source(b, d));
    }
    compared += la.length;
  }

  static Map<Integer, String> show(PointValues p, boolean mapped) throws Exception {
    Map<Integer, String> all = new TreeMap<>();
    p.intersect(new PointValues.IntersectVisitor() {
      public void visit(int doc) { throw new Error(); }
      public void visit(int doc, byte[] value) { all.merge(mapped ? map[doc] : doc, HexFormat.of().formatHex(value), (l, r) -> l + " " + r); }
      public PointValues.Relation compare(byte[] min, byte[] max) { return PointValues.Relation.CELL_CROSSES_QUERY; }
    });
    return all;
  }

  static long[] all(PointValues p, boolean mapped) throws Exception {
    long[] all = new long[(int) p.size()];
    int[] n = {0};
    p.intersect(new PointValues.IntersectVisitor() {
      public void visit(int doc) { throw new Error(); }
      public void visit(int doc, byte[] value) { all[n[0]++] = (long) (mapped ? map[doc] : doc) << 32 | (Arrays.hashCode(value) & 0xffffffffL); }
      public PointValues.Relation compare(byte[] min, byte[] max) { return PointValues.Relation.CELL_CROSSES_QUERY; }
    });
    return all;
  }

  static void stored(Set<String> skip) throws Exception {
    StoredFields x = a.storedFields(), y = b.storedFields();
    for (int d = 0; d < map.length; d++) {
      Document p = x.document(d), q = y.document(map[d]);
      TreeMap<String, List<String>> m = values(p), n = values(q);
      if (skip.contains("_recovery_source")) m.remove("_recovery_source");
      if (!m.equals(n)) differ("stored " + m + " " + n);
      compared++;
    }
  }

  static TreeMap<String, List<String>> values(Document document) {
    TreeMap<String, List<String>> all = new TreeMap<>();
    for (IndexableField f : document) all.computeIfAbsent(f.name(), k -> new ArrayList<>()).add(f.binaryValue() != null ? new String(f.binaryValue().bytes, f.binaryValue().offset, f.binaryValue().length, java.nio.charset.StandardCharsets.ISO_8859_1) : f.stringValue());
    if (all.containsKey("_ignored")) Collections.sort(all.get("_ignored"));
    return all;
  }
}
