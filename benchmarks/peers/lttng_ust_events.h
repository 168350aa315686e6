// The two events of lttng_ust.cpp. The guard admits repeated inclusion, which <lttng/tracepoint-event.h> relies on.
#undef LTTNG_UST_TRACEPOINT_PROVIDER
#define LTTNG_UST_TRACEPOINT_PROVIDER whywait_benchmark
#undef LTTNG_UST_TRACEPOINT_INCLUDE
#define LTTNG_UST_TRACEPOINT_INCLUDE "./lttng_ust_events.h"

#if !defined(WHYWAIT_BENCHMARKS_LTTNG_UST_EVENTS_H) || defined(LTTNG_UST_TRACEPOINT_HEADER_MULTI_READ)
#define WHYWAIT_BENCHMARKS_LTTNG_UST_EVENTS_H
#include <lttng/tracepoint.h>

LTTNG_UST_TRACEPOINT_EVENT(whywait_benchmark, enter, LTTNG_UST_TP_ARGS(int, place),
                           LTTNG_UST_TP_FIELDS(lttng_ust_field_integer(int, place, place)))
LTTNG_UST_TRACEPOINT_EVENT(whywait_benchmark, leave, LTTNG_UST_TP_ARGS(int, place),
                           LTTNG_UST_TP_FIELDS(lttng_ust_field_integer(int, place, place)))
#endif

#include <lttng/tracepoint-event.h>
