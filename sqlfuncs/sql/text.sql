-- str_split(input, delimiter, field): the field (0 is the first) of a text split at each delimiter; NULL if there are
-- fewer fields. With two arguments it is DuckDB's function, which returns the list of all fields. Source: Trace
-- Processor's str_split.
CREATE OR REPLACE MACRO str_split(input, delimiter) AS string_split(input, delimiter),
(input, delimiter, field) AS string_split(input, delimiter)[field + 1];

-- glob(pattern, input): input GLOB pattern, as a function. Source: SQLite's glob.
CREATE OR REPLACE MACRO "glob"(pattern, input) AS (input GLOB pattern);

-- base64_encode(bytes): a BLOB as base64 text, padded.
CREATE OR REPLACE MACRO base64_encode(bytes) AS to_base64(bytes);

-- base64_decode(input): base64 text as a BLOB.
CREATE OR REPLACE MACRO base64_decode(input) AS from_base64(input);

-- _hash_bytes returns the input of hash, each byte as hexadecimal text: the bytes of a text, or the 8 bytes of an
-- integer in little-endian order.
CREATE OR REPLACE MACRO _hash_bytes(value) AS
    CASE WHEN typeof(value) = 'VARCHAR' THEN regexp_extract_all(hex(value::VARCHAR), '..')
         ELSE list_reverse(regexp_extract_all(lpad(hex(TRY_CAST(value AS BIGINT)), 16, '0'), '..')) END;

-- _fnv returns the 64-bit FNV-1a hash of such bytes as a signed integer; NULL for NULL.
CREATE OR REPLACE MACRO _fnv(bytes) AS CASE WHEN bytes IS NOT NULL THEN
    ((list_reduce(list_prepend(14695981039346656037::HUGEINT,
                               list_transform(bytes, lambda byte: ('0x' || byte)::UTINYINT::HUGEINT)),
                  lambda h, byte: xor(h, byte) * 1099511628211 % 18446744073709551616)
      + 9223372036854775808) % 18446744073709551616 - 9223372036854775808)::BIGINT END;

-- hash(value, ...): the 64-bit FNV-1a hash of up to three texts or integers. It replaces DuckDB's hash. Source: Trace
-- Processor's hash.
CREATE OR REPLACE MACRO hash(a) AS _fnv(_hash_bytes(a)),
(a, b) AS _fnv(_hash_bytes(a) || _hash_bytes(b)),
(a, b, c) AS _fnv(_hash_bytes(a) || _hash_bytes(b) || _hash_bytes(c));

-- _demangled has the demangled names of the dataset's frames and symbols. It is filled when a DuckDB file is written.
CREATE OR REPLACE TABLE _demangled (symbol VARCHAR, name VARCHAR);

-- demangle(symbol): the C++ or Rust name of a compiler's symbol, in LLVM's style; NULL if the text is not such a
-- symbol. It knows the names in stack_profile_frame and stack_profile_symbol; in tpconvert query, it knows all.
-- Source: Trace Processor's demangle.
CREATE OR REPLACE MACRO demangle(symbol) AS (
    SELECT any_value(_d.name) FROM (SELECT symbol AS _symbol) AS _of JOIN _demangled AS _d ON _d.symbol = _of._symbol);
