/* libascendcl: a runtime whose device memory is host memory and whose streams are always done, and the profiler.
 *
 * $STAND_IN_DEVICES devices (0: the library loads, and there is none). A profile is the folder that CANN would make,
 * with what was asked of the profiler (host/asked.tsv) and every launch (host/launches.tsv), which `msprof` reads.
 */
#define _GNU_SOURCE
#include "recorder.h"
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define NO_DEVICE 507033
#define NO_CONTEXT 107002
#define NO_MEMORY 207001
#define MEMORY (64ull << 30)

typedef struct { int number; } stream_t;
typedef struct { uint64_t recorded_ns; } event_t;

static __thread int device = -1;

static int devices(void) {
    const char *given = getenv("STAND_IN_DEVICES");
    return given ? atoi(given) : 1;
}

/* Recorder and profiler */

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static FILE *launches;
static char folder[4200];
static volatile int recording;

uint64_t now_ns(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC_RAW, &time);
    return time.tv_sec * 1000000000ull + time.tv_nsec;
}

int is_recording(void) { return recording; }

void record(const char *kind, const char *name, uint64_t start_ns, const char *format, ...) {
    if (!recording) return;
    uint64_t end_ns = now_ns();
    pthread_mutex_lock(&lock);
    if (launches) {
        fprintf(launches, "%s\t%s\t%ld\t%lu\t%lu\t", kind, name, syscall(SYS_gettid), start_ns, end_ns);
        va_list fields;
        va_start(fields, format);
        vfprintf(launches, format, fields);
        va_end(fields);
        fputc('\n', launches);
    }
    pthread_mutex_unlock(&lock);
}

int stream_number(const void *stream) { return stream ? ((const stream_t *)stream)->number : 0; }

static FILE *in_host(const char *name, const char *mode) {
    char path[4400];
    snprintf(path, sizeof path, "%s/host/%s", folder, name);
    return fopen(path, mode);
}

void note_asked(const char *key, const char *format, ...) {
    FILE *asked = folder[0] ? in_host("asked.tsv", "a") : NULL;
    if (!asked) return;
    fprintf(asked, "%s\t", key);
    va_list fields;
    va_start(fields, format);
    vfprintf(asked, format, fields);
    va_end(fields);
    fputc('\n', asked);
    fclose(asked);
}

/* The two clocks at one moment, where torch_npu looks for them. */
static void note_clocks(void) {
    struct timespec real;
    clock_gettime(CLOCK_REALTIME, &real);
    FILE *info = in_host("start_info", "w");
    if (!info) return;
    fprintf(info, "{\"collectionTimeBegin\": \"%ld%06ld.%03ld\", \"clockMonotonicRaw\": \"%lu\"}\n", real.tv_sec,
            real.tv_nsec / 1000, real.tv_nsec % 1000, now_ns());
    fclose(info);
}

int aclprofInit(const char *path, size_t length) {
    char when[32], made[4300];
    time_t seconds = time(NULL);
    struct tm local;
    strftime(when, sizeof when, "%Y%m%d%H%M%S000", localtime_r(&seconds, &local));
    int number = device < 0 ? 0 : device;
    snprintf(folder, sizeof folder, "%.*s/PROF_%06d_%s_STANDIN%06d", (int)length, path, number + 1, when,
             getpid() % 1000000);
    mkdir(folder, 0750);
    snprintf(made, sizeof made, "%s/host", folder);
    mkdir(made, 0750);
    snprintf(made, sizeof made, "%s/device_%d", folder, number);
    mkdir(made, 0750);
    return 0;
}

void *aclprofCreateConfig(uint32_t *numbers, uint32_t count, int metrics, const void *events, uint64_t types) {
    note_asked("aicore_metrics", "%d", metrics);
    note_asked("data_types", "0x%lx", types);
    note_asked("process", "%d", getpid());
    return calloc(1, 64);
}

int aclprofStart(const void *config) {
    pthread_mutex_lock(&lock);
    if (folder[0] && !launches) launches = in_host("launches.tsv", "a");
    note_clocks();
    recording = launches != NULL;
    pthread_mutex_unlock(&lock);
    return 0;
}

int aclprofStop(const void *config) {
    pthread_mutex_lock(&lock);
    recording = 0;
    if (launches) fclose(launches);
    launches = NULL;
    pthread_mutex_unlock(&lock);
    return 0;
}

int aclprofFinalize(void) {
    folder[0] = 0;
    return 0;
}

uint64_t MsprofSysCycleTime(void) { return 0; }
uint64_t MsprofGetHashId(const char *text, size_t length) { return 0; }

/* Devices */

int aclInit(const char *config) { return devices() ? 0 : NO_DEVICE; }
int aclrtGetDeviceCount(uint32_t *count) { *count = devices(); return 0; }
int aclrtSetDevice(int number) { device = number; return 0; }
int aclrtGetDevice(int *number) { *number = device; return device < 0 ? NO_CONTEXT : 0; }
int aclrtGetCurrentContext(void **context) { *context = (void *)(intptr_t)(0x1000 + (device < 0 ? 0 : device)); return 0; }
int aclGetDeviceCapability(uint32_t number, int what, int64_t *value) { *value = 20; return 0; }
int aclrtGetDeviceInfo(uint32_t number, int what, int64_t *value) { *value = MEMORY; return 0; }
int aclrtDeviceCanAccessPeer(int *can, int one, int other) { *can = 1; return 0; }
int aclrtDeviceGetBareTgid(int *process) { *process = getpid(); return 0; }
const char *aclrtGetSocName(void) { return "Ascend910B3"; }
const char *aclGetRecentErrMsg(void) { return ""; }
int aclsysGetVersionStr(char *package, char *version) { strcpy(version, "8.3.RC1"); return 0; }
int aclsysGetCANNVersion(int package, char *version) { strcpy(version, "8.3.RC1"); return 0; }

/* Streams and events: what is launched is done when the launch returns */

int aclrtCreateStreamWithConfig(void **stream, uint32_t priority, uint32_t flag) {
    static int created;
    stream_t *made = calloc(1, 64);
    made->number = __sync_add_and_fetch(&created, 1);
    *stream = made;
    return 0;
}
int aclrtCreateStream(void **stream) { return aclrtCreateStreamWithConfig(stream, 0, 0); }
int aclrtStreamGetId(const void *stream, int *number) { *number = stream_number(stream); return 0; }
int aclrtStreamQuery(void *stream, int *status) { *status = 0; return 0; }
int aclrtCreateEventExWithFlag(void **event, uint32_t flag) { *event = calloc(1, 64); return 0; }
int aclrtCreateEventWithFlag(void **event, uint32_t flag) { *event = calloc(1, 64); return 0; }
int aclrtRecordEvent(event_t *event, void *stream) { event->recorded_ns = now_ns(); return 0; }
int aclrtEventElapsedTime(float *ms, const event_t *start, const event_t *end) {
    *ms = (end->recorded_ns - start->recorded_ns) / 1e6;
    return 0;
}
int aclrtQueryEventStatus(void *event, int *status) { *status = 1; return 0; }
int aclrtQueryEventWaitStatus(void *event, int *status) { *status = 0; return 0; }

/* Memory */

int aclrtMalloc(void **memory, size_t size, int policy) {
    *memory = aligned_alloc(512, (size + 511) / 512 * 512);
    if (*memory) memset(*memory, 0, size);
    return *memory ? 0 : NO_MEMORY;
}
int aclrtMallocAlign32(void **memory, size_t size, int policy) { return aclrtMalloc(memory, size, policy); }
int aclrtMallocHost(void **memory, size_t size) { return aclrtMalloc(memory, size, 0); }
int aclrtFree(void *memory) { free(memory); return 0; }
int aclrtFreeHost(void *memory) { free(memory); return 0; }
int aclrtGetMemInfo(int kind, size_t *available, size_t *total) { *available = *total = MEMORY; return 0; }
int aclrtMemcpy(void *to, size_t room, const void *from, size_t size, int kind) { memmove(to, from, size); return 0; }
int aclrtMemcpyAsync(void *to, size_t room, const void *from, size_t size, int kind, void *stream) {
    uint64_t start = now_ns();
    memmove(to, from, size);
    record("copy", "aclrtMemcpyAsync", start, "%d\t%lu\t%d", stream_number(stream), size, kind);
    return 0;
}
int aclrtMemset(void *memory, size_t room, int value, size_t size) { memset(memory, value, size); return 0; }
int aclrtMemsetAsync(void *memory, size_t room, int value, size_t size, void *stream) {
    memset(memory, value, size);
    return 0;
}

/* Descriptions of old-style operators, which are never looked into */

void *aclCreateTensorDesc(void) { return calloc(1, 64); }
void *aclCreateDataBuffer(void *data, size_t size) { return calloc(1, 64); }
void *aclopCreateAttr(void) { return calloc(1, 64); }
