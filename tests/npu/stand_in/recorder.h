/* What the stand-in's libraries tell its profiler: one line of tab-separated text per event. */
#pragma once
#include <stdint.h>

/* Nanoseconds of CLOCK_MONOTONIC_RAW, the clock of torch_npu's own events. */
uint64_t now_ns(void);

/* Whether a profile is being recorded: callers need not measure anything otherwise. */
int is_recording(void);

/* An event that began then and ends now. `format` gives the fields after kind, name, thread, start and end. */
void record(const char *kind, const char *name, uint64_t start_ns, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

/* The number of a stream; null is the default stream. */
int stream_number(const void *stream);

/* Something that was asked of the profiler, as a line of host/asked.tsv. */
void note_asked(const char *key, const char *format, ...);
