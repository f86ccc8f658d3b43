import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.JsonGenerator;
import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.TokenStreamFactory;
import com.fasterxml.jackson.dataformat.smile.SmileFactory;
import com.fasterxml.jackson.dataformat.smile.SmileGenerator;
import java.io.BufferedOutputStream;
import java.io.ByteArrayOutputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.math.BigDecimal;
import java.math.BigInteger;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;

/**
 * Jackson's side of the comparison. Each part on standard input and output is a length of four bytes,
 * high bytes first, and that many bytes. A length of -1 is a part that Jackson could not transcode.
 *
 * Modes: encode (JSON to SMILE), encode-shared (with shared string values), encode-exact (decimals as
 * BigDecimal), decode (SMILE to JSON), forms (no input; SMILE documents that no JSON becomes).
 */
public class Transcode {
    public static void main(String[] arguments) throws IOException {
        String mode = arguments[0];
        SmileFactory smile = new SmileFactory();
        smile.configure(SmileGenerator.Feature.CHECK_SHARED_STRING_VALUES, mode.equals("encode-shared"));
        JsonFactory json = new JsonFactory();
        // Characters beyond the basic plane as UTF-8, not as two escapes.
        json.configure(JsonGenerator.Feature.COMBINE_UNICODE_SURROGATES_IN_UTF8, true);
        List<byte[]> results = new ArrayList<>();
        if (mode.equals("forms")) {
            results = forms();
        } else {
            ByteBuffer input = ByteBuffer.wrap(System.in.readAllBytes());
            boolean decode = mode.equals("decode");
            while (input.hasRemaining()) {
                byte[] part = new byte[input.getInt()];
                input.get(part);
                results.add(transcode(decode ? smile : json, decode ? json : smile, part, mode.equals("encode-exact")));
            }
        }
        try (DataOutputStream output = new DataOutputStream(new BufferedOutputStream(System.out, 1 << 16))) {
            for (byte[] result : results) {
                output.writeInt(result == null ? -1 : result.length);
                output.write(result == null ? new byte[0] : result);
            }
        }
    }

    private static byte[] transcode(TokenStreamFactory from, TokenStreamFactory to, byte[] part, boolean exact) {
        ByteArrayOutputStream result = new ByteArrayOutputStream();
        try (JsonParser parser = from.createParser(part); JsonGenerator generator = to.createGenerator(result)) {
            parser.nextToken();
            if (exact) {
                generator.copyCurrentStructureExact(parser);
            } else {
                generator.copyCurrentStructure(parser);
            }
            if (parser.nextToken() != null) {
                return null;
            }
        } catch (IOException | RuntimeException e) {
            return null;
        }
        return result.toByteArray();
    }

    private static List<byte[]> forms() throws IOException {
        List<byte[]> results = new ArrayList<>();
        for (boolean sevenBit : new boolean[] {true, false}) {
            SmileFactory smile = new SmileFactory();
            smile.configure(SmileGenerator.Feature.ENCODE_BINARY_AS_7BIT, sevenBit);
            smile.configure(SmileGenerator.Feature.WRITE_END_MARKER, sevenBit);
            for (int length = 0; length < 40; length++) {
                byte[] data = new byte[length];
                for (int i = 0; i < length; i++) {
                    data[i] = (byte) (255 - i * length);
                }
                ByteArrayOutputStream result = new ByteArrayOutputStream();
                try (JsonGenerator generator = smile.createGenerator(result)) {
                    generator.writeStartArray();
                    generator.writeBinary(data);
                    generator.writeNumber(new BigInteger(1, data));
                    generator.writeNumber(new BigInteger(1, data).negate());
                    for (int scale : new int[] {0, 1, 2, 7, 20, 100, -1, -20, length, length + 5}) {
                        generator.writeNumber(new BigDecimal(new BigInteger(1, data), scale));
                        generator.writeNumber(new BigDecimal(new BigInteger(1, data).negate(), scale));
                        generator.writeNumber(BigDecimal.valueOf(length, scale));
                    }
                    for (float number : new float[] {length, 1f / length, length * 1e30f, Float.intBitsToFloat(length * 1234567), -length}) {
                        generator.writeNumber(number);
                    }
                    for (double number : new double[] {1.0 / length, Double.longBitsToDouble(length), length * 1e300, 1e-3 / length, 1e7 - length}) {
                        generator.writeNumber(number);
                    }
                    generator.writeEndArray();
                }
                results.add(result.toByteArray());
            }
        }
        return results;
    }
}
