#undef LTTNG_UST_TRACEPOINT_PROVIDER
#define LTTNG_UST_TRACEPOINT_PROVIDER shop

#undef LTTNG_UST_TRACEPOINT_INCLUDE
#define LTTNG_UST_TRACEPOINT_INCLUDE "./demo-tp.h"

#if !defined(_DEMO_TP_H) || defined(LTTNG_UST_TRACEPOINT_HEADER_MULTI_READ)
#define _DEMO_TP_H
#include <lttng/tracepoint.h>
#include <stdint.h>

LTTNG_UST_TRACEPOINT_ENUM(shop, payment,
	LTTNG_UST_TP_ENUM_VALUES(
		lttng_ust_field_enum_value("cash", 0)
		lttng_ust_field_enum_value("card", 1)
		lttng_ust_field_enum_range("other", 2, 9)))

LTTNG_UST_TRACEPOINT_EVENT(shop, order,
	LTTNG_UST_TP_ARGS(int, number, const char *, name, double, price, const int *, items, unsigned, count, int, how),
	LTTNG_UST_TP_FIELDS(
		lttng_ust_field_integer(int, number, number)
		lttng_ust_field_integer(uint8_t, small, (uint8_t)number)
		lttng_ust_field_integer_hex(uint64_t, address, 0xffff000000000000ull + number)
		lttng_ust_field_integer_network(uint16_t, port, 8000 + number)
		lttng_ust_field_string(name, name)
		lttng_ust_field_float(double, price, price)
		lttng_ust_field_float(float, rate, (float)(price / 3))
		lttng_ust_field_array(int, first, items, 2)
		lttng_ust_field_sequence(int, items, items, unsigned, count)
		lttng_ust_field_sequence_text(char, text, name, unsigned, 3)
		lttng_ust_field_enum(shop, payment, int, how, how)))

LTTNG_UST_TRACEPOINT_EVENT(shop, idle, LTTNG_UST_TP_ARGS(void), LTTNG_UST_TP_FIELDS())
#endif
#include <lttng/tracepoint-event.h>
