package inrush.hadoop;

import java.util.HashMap;
import java.util.Map;
import org.apache.hadoop.hbase.Cell;
import org.apache.hadoop.hbase.CellUtil;
import org.apache.hadoop.hbase.client.Result;
import org.apache.hadoop.hbase.io.ImmutableBytesWritable;
import org.apache.hadoop.hbase.util.Bytes;
import org.apache.spark.api.python.Converter;

/**
 * What a row of HBase is in Python: its key as bytes, and its cells as a dict of bytes by "family:qualifier", each in its newest version. HBase
 * keeps no types, so whoever wrote the bytes knows what they mean.
 */
public final class RowConverter implements Converter<Object, Object> {
    private static final long serialVersionUID = 1;

    @Override
    public Object convert(Object value) {
        if (value instanceof ImmutableBytesWritable key) {
            return key.copyBytes();
        }
        Map<String, byte[]> cells = new HashMap<>();
        for (Cell cell : ((Result) value).rawCells()) {
            String name = Bytes.toString(CellUtil.cloneFamily(cell)) + ":" + Bytes.toString(CellUtil.cloneQualifier(cell));
            // The newest version comes first.
            cells.putIfAbsent(name, CellUtil.cloneValue(cell));
        }
        return cells;
    }
}
