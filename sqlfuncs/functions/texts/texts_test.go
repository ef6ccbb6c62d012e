package texts

import (
	"testing"

	"github.com/tpconvert/tpconvert/sqlfuncs/functions/functionstest"
)

func TestTexts(t *testing.T) {
	functionstest.Check(t, functionstest.NewTables().Open(t, Define), []functionstest.Test{
		{`SELECT unhex(' 0x1F '), __intrinsic_unhex('7fffffffffffffff'), unhex('-1f'), unhex('+1f'), unhex(NULL)`,
			`31 9223372036854775807 -31 31 NULL`},
		{`SELECT unhex('0x0x1f')`, `error: unhex: "0x0x1f" is no hexadecimal integer`},
		{`SELECT unhex('8000000000000000')`, `error: unhex`},
		{`SELECT unhex('  ')`, `error: unhex`},
		{`SELECT unhex(5)`, `error: unhex: the argument is no text`},
		{`SELECT hash('a'), hash(1), hash('a', 1), hash(), hash(-1, 'xyz')`,
			`-5808556873153909620 -8517097267634966620 -2387013801523068883 -3750763034362895579 3202249400462540312`},
		{`SELECT hash('a', NULL)`, `error: hash: argument 2`},
		{`SELECT hash(1.5)`, `error: hash: argument 1`},
		{`SELECT base64_encode(x'616263ff'), base64_encode(x''), base64_encode(NULL)`, `'YWJj/w==' '' NULL`},
		{`SELECT base64_encode('a')`, `error: base64_encode: the argument is no BLOB`},
		{`SELECT base64_decode('YWJj_w=='), base64_decode('YQ'), base64_decode(x'59513d'), base64_decode(''), base64_decode(NULL)`,
			`x'616263FF' x'61' x'61' x'' NULL`},
		{`SELECT base64_decode('Y')`, `error: base64_decode`},
		{`SELECT base64_decode('Y Q=')`, `error: base64_decode`},
		{`SELECT base64_decode(1)`, `error: base64_decode`},
		{`SELECT reverse('abc'), hex(reverse('é')), reverse(NULL)`, `'cba' 'A9C3' NULL`},
		{`SELECT reverse(1)`, `error: reverse`},
		{`SELECT demangle('_ZN3foo3barEv'), demangle('foo'), demangle('_RNvC6_123foo3bar'), demangle(NULL)`,
			`'foo::bar()' NULL '123foo::bar' NULL`},
		{`SELECT demangle(1)`, `error: demangle`},
		{`SELECT null_if_empty(x''), null_if_empty(x'01'), null_if_empty(NULL)`, `NULL x'01' NULL`},
		{`SELECT null_if_empty('')`, `error: null_if_empty`},
		{`SELECT str_split('a,b,c', ',', 1), str_split('a,b,c', ',', 3), str_split('abc', 'b', 0), str_split(12, ',', 0),
			str_split(NULL, ',', 0), str_split('a||b', '||', 1), str_split('a,b', ',', 4294967296)`, `'b' NULL 'a' NULL NULL 'b' 'a'`},
		{`SELECT str_split('a', '', 0)`, `error: str_split`},
		{`SELECT str_split('a', ',', -1)`, `error: str_split`},
		{`SELECT __intrinsic_strip_hex('foo 0xabc bar1234 12ab xyz_99', 1), __intrinsic_strip_hex('abc0xff x1', 3),
			__intrinsic_strip_hex('deadbeef', 0), __intrinsic_strip_hex('éa1', 1), __intrinsic_strip_hex('', 1),
			__intrinsic_strip_hex(NULL, 1), __intrinsic_strip_hex('a', NULL), __intrinsic_strip_hex('0xzz 0x', 0)`,
			`'foo <num>x<num> bar<num> <num> xyz_<num>' '<num>xff x1' 'deadbeef' 'é<num>' '' NULL NULL '<num>x<num>zz <num>x<num>'`},
		{`SELECT __intrinsic_strip_hex('a', -1)`, `error: __intrinsic_strip_hex`},
		{`SELECT substr(__intrinsic_zstd_compress('aaaa'), 1, 4), __intrinsic_zstd_compress(NULL)`, `x'28B52FFD' NULL`},
		{`SELECT __intrinsic_zstd_compress(1)`, `error: __intrinsic_zstd_compress`},
	})
}

func TestRegexp(t *testing.T) {
	functionstest.Check(t, functionstest.NewTables().Open(t, Define), []functionstest.Test{
		{`SELECT regexp('A', 'a'), regexp('A', 'a', 'i'), regexp('A', 'a', 'ic'), 'abc' REGEXP 'b', regexp(1, 213), regexp(NULL, 'a'),
			regexp('a', NULL), regexp('a', 'b', NULL)`, `0 1 0 1 1 NULL NULL NULL`},
		{`SELECT regexp('a', 'a', 'x')`, `error: regexp: there is no flag 'x'`},
		{`SELECT regexp('a(?=b)', 'ab')`, `error: regexp: error parsing regexp`},
		{`SELECT regexp_extract('abc', '(x)?b'), regexp_extract('abc', 'z'), regexp_extract('abc', '()b'), regexp_extract(123, '2.'),
			regexp_extract(NULL, 'a'), regexp_extract('abc', 'a(.)'), regexp_extract('z', '(a)(b)')`, `'b' NULL 'b' '23' NULL 'b' NULL`},
		{`SELECT regexp_extract('abc', '(b)(c)')`, `error: regexp_extract: the pattern has more than one group`},
		{`SELECT regexp_replace_simple('banana', 'a', '<\0>'), regexp_replace_simple('banana', '(a)(n)?', '\2\1'),
			regexp_replace_simple('banana', 'a', 'x\q!'), regexp_replace_simple('banana', 'a', '\3'),
			regexp_replace_simple('abc', 'x*', '-'), regexp_replace_simple('abc', '', '-'), regexp_replace_simple('banana', 'a', 'x\\y\')`,
			`'b<a>n<a>n<a>' 'bnanaa' 'bxnxnx' 'banana' '-a-b-c-' '-a-b-c-' 'bx\ynx\ynx\y'`},
		{`SELECT regexp_replace_simple(NULL, 'a', 'b'), regexp_replace_simple('a', NULL, 'b'), regexp_replace_simple('a', 'b', NULL)`,
			`NULL NULL NULL`},
		{`SELECT length(regexp_replace_simple(printf('%.*c', 40000, 'a'), 'a', printf('%.*c', 40000, 'b')))`,
			`error: regexp_replace_simple: the result is too long`},
	})
}

func TestMath(t *testing.T) {
	functionstest.Check(t, functionstest.NewTables().Open(t, Define), []functionstest.Test{
		{`SELECT ln(1), ln(0), ln('2.5'), ln('x'), exp(1), exp('1x'), sqrt(4), sqrt(-1), exp(1000), ln(NULL), __intrinsic_ln(1)`,
			`0.0 NULL 0.916290732 NULL 2.71828183 NULL 2.0 NULL +Inf NULL 0.0`},
	})
}
