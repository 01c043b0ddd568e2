/* libhccl: collectives of the ranks of one machine, through shared memory.
 *
 * A communicator is a block of shared memory with a slot for each rank. In every exchange each rank writes its part
 * into its slot, all wait, all read what they need, and all wait again. Parts longer than a slot go in pieces.
 */
#define _GNU_SOURCE
#include "recorder.h"
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#define FAILED 4
#define TIMED_OUT 9
#define NOT_SUPPORTED 5
#define SLOT (1ul << 20)
#define PATIENCE_NS 120000000000ull
#define NAME 100

enum { SUM, PROD, MAX, MIN };
enum { INT8, INT16, INT32, FP16, FP32, INT64, UINT64, UINT8, UINT16, UINT32, FP64, BFP16 };
static const size_t widths[] = {1, 2, 4, 2, 4, 8, 8, 1, 2, 4, 8, 2};

typedef struct { volatile int arrived, turn; } gate_t;
typedef struct {
    char name[128]; /* torch_npu reads it from here */
    uint32_t size, rank;
    gate_t *gate;
    char *slots;
} comm_t;

static int wait_for_all(comm_t *comm) {
    int turn = comm->gate->turn;
    uint64_t start = now_ns();
    if (__sync_add_and_fetch(&comm->gate->arrived, 1) == (int)comm->size) {
        comm->gate->arrived = 0;
        __sync_synchronize();
        comm->gate->turn = turn + 1;
        return 0;
    }
    struct timespec moment = {0, 20000};
    while (comm->gate->turn == turn) {
        if (now_ns() - start > PATIENCE_NS) return TIMED_OUT;
        nanosleep(&moment, NULL);
    }
    return 0;
}

static char *slot(const comm_t *comm, uint32_t rank) { return comm->slots + rank * SLOT; }

static int join(const char *name, uint32_t size, uint32_t rank, comm_t **made) {
    char path[NAME + 16];
    snprintf(path, sizeof path, "/stand-in-%.*s", NAME, name);
    int file = shm_open(path, O_CREAT | O_RDWR, 0600);
    size_t length = 4096 + size * SLOT;
    if (file < 0 || ftruncate(file, length)) return FAILED;
    char *memory = mmap(NULL, length, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    close(file);
    if (memory == MAP_FAILED) return FAILED;
    comm_t *comm = calloc(1, sizeof *comm);
    snprintf(comm->name, sizeof comm->name, "%s", name);
    comm->size = size;
    comm->rank = rank;
    comm->gate = (gate_t *)memory;
    comm->slots = memory + 4096;
    int failed = wait_for_all(comm);
    shm_unlink(path); /* all have it: the memory goes with the last of them */
    *made = comm;
    return failed;
}

int HcclGetRootInfo(char *root) {
    static int made;
    snprintf(root, NAME, "%d-%lu-%d", getpid(), now_ns(), __sync_add_and_fetch(&made, 1));
    return 0;
}
int HcclCommInitRootInfo(uint32_t size, const char *root, uint32_t rank, comm_t **comm) {
    return join(root, size, rank, comm);
}
int HcclCommInitRootInfoConfig(uint32_t size, const char *root, uint32_t rank, const void *config, comm_t **comm) {
    return join(root, size, rank, comm);
}
int HcclCreateSubCommConfig(comm_t **whole, uint32_t size, uint32_t *ranks, uint64_t id, uint32_t rank, void *config,
                            comm_t **made) {
    char name[NAME];
    snprintf(name, sizeof name, "%.60s-sub-%lu", (*whole)->name, id);
    return join(name, size, rank, made);
}
int HcclGetCommName(comm_t *comm, char *name) { strcpy(name, comm->name); return 0; }
int HcclGetCommAsyncError(comm_t *comm, int *error) { *error = 0; return 0; }
int HcclCommDestroy(comm_t *comm) { return 0; }
int HcclSetConfig(int key, int value) { return 0; }
int HcclGetCommConfigCapability(void) { return 0; }

/* Arithmetic, in the type itself as the device would, but bfloat16 by way of float */

static float from_bfp16(uint16_t bits) {
    uint32_t wide = (uint32_t)bits << 16;
    float value;
    memcpy(&value, &wide, sizeof value);
    return value;
}
static uint16_t to_bfp16(float value) {
    uint32_t wide;
    memcpy(&wide, &value, sizeof wide);
    if ((wide & 0x7fffffff) > 0x7f800000) return wide >> 16 | 64; /* not a number, and stays none */
    return (wide + 0x7fff + (wide >> 16 & 1)) >> 16;
}

#define COMBINED(a, b) (op == SUM ? (a) + (b) : op == PROD ? (a) * (b) : op == MAX ? ((a) > (b) ? (a) : (b)) \
                                                                                   : ((a) < (b) ? (a) : (b)))
#define OF_TYPE(id, type) \
    case id: for (uint64_t i = 0; i < count; i++) ((type *)into)[i] = COMBINED(((type *)into)[i], ((const type *)from)[i]); return 0;

static int reduce(void *into, const void *from, uint64_t count, int type, int op) {
    switch (type) {
        OF_TYPE(INT8, int8_t) OF_TYPE(UINT8, uint8_t) OF_TYPE(INT16, int16_t) OF_TYPE(UINT16, uint16_t)
        OF_TYPE(INT32, int32_t) OF_TYPE(UINT32, uint32_t) OF_TYPE(INT64, int64_t) OF_TYPE(UINT64, uint64_t)
        OF_TYPE(FP16, _Float16) OF_TYPE(FP32, float) OF_TYPE(FP64, double)
    case BFP16:
        for (uint64_t i = 0; i < count; i++) {
            float a = from_bfp16(((uint16_t *)into)[i]), b = from_bfp16(((const uint16_t *)from)[i]);
            ((uint16_t *)into)[i] = to_bfp16(COMBINED(a, b));
        }
        return 0;
    }
    return NOT_SUPPORTED;
}

static void note(const char *name, uint64_t start_ns, const comm_t *comm, const void *stream, uint64_t count, int type) {
    record("comm", name, start_ns, "%d\t%s\t%lu\t%d\t%u", stream_number(stream), comm->name, count, type, comm->size);
}

/* Every rank gives `count` elements at `own`; `take` is called with each rank's piece and its place, in order. */
typedef int (*take_t)(void *to, uint32_t rank, uint64_t at, const char *piece, uint64_t count, void *context);

static int exchange(comm_t *comm, const char *own, uint64_t count, size_t width, take_t take, void *to, void *context) {
    uint64_t pieces = SLOT / width;
    for (uint64_t at = 0; at < count; at += pieces) {
        uint64_t length = count - at < pieces ? count - at : pieces;
        memcpy(slot(comm, comm->rank), own + at * width, length * width);
        int failed = wait_for_all(comm);
        for (uint32_t rank = 0; rank < comm->size && !failed; rank++)
            failed = take(to, rank, at, slot(comm, rank), length, context);
        if (failed || (failed = wait_for_all(comm))) return failed;
    }
    return 0;
}

typedef struct { const comm_t *comm; int type, op; uint64_t count; uint32_t root; } job_t;

static int take_reduced(void *to, uint32_t rank, uint64_t at, const char *piece, uint64_t count, void *context) {
    job_t *job = context;
    char *place = (char *)to + at * widths[job->type];
    if (rank) return reduce(place, piece, count, job->type, job->op);
    memcpy(place, piece, count * widths[job->type]);
    return 0;
}
static int take_gathered(void *to, uint32_t rank, uint64_t at, const char *piece, uint64_t count, void *context) {
    job_t *job = context;
    memcpy((char *)to + (rank * job->count + at) * widths[job->type], piece, count * widths[job->type]);
    return 0;
}
static int take_of_root(void *to, uint32_t rank, uint64_t at, const char *piece, uint64_t count, void *context) {
    job_t *job = context;
    if (rank == job->root) memcpy((char *)to + at * widths[job->type], piece, count * widths[job->type]);
    return 0;
}

int HcclAllReduce(void *own, void *to, uint64_t count, int type, int op, comm_t *comm, void *stream) {
    uint64_t start = now_ns();
    job_t job = {comm, type, op, count, 0};
    int failed = exchange(comm, own, count, widths[type], take_reduced, to, &job);
    note("HcclAllReduce", start, comm, stream, count, type);
    return failed;
}
int HcclReduce(void *own, void *to, uint64_t count, int type, int op, uint32_t root, comm_t *comm, void *stream) {
    uint64_t start = now_ns();
    job_t job = {comm, type, op, count, root};
    void *result = comm->rank == root ? to : malloc(count * widths[type]);
    int failed = exchange(comm, own, count, widths[type], take_reduced, result, &job);
    if (comm->rank != root) free(result);
    note("HcclReduce", start, comm, stream, count, type);
    return failed;
}
int HcclAllGather(void *own, void *to, uint64_t count, int type, comm_t *comm, void *stream) {
    uint64_t start = now_ns();
    job_t job = {comm, type, 0, count, 0};
    int failed = exchange(comm, own, count, widths[type], take_gathered, to, &job);
    note("HcclAllGather", start, comm, stream, count, type);
    return failed;
}
int HcclReduceScatter(void *own, void *to, uint64_t count, int type, int op, comm_t *comm, void *stream) {
    uint64_t start = now_ns();
    job_t job = {comm, type, op, count, 0};
    char *whole = malloc(count * comm->size * widths[type]);
    int failed = exchange(comm, own, count * comm->size, widths[type], take_reduced, whole, &job);
    memcpy(to, whole + comm->rank * count * widths[type], count * widths[type]);
    free(whole);
    note("HcclReduceScatter", start, comm, stream, count, type);
    return failed;
}
int HcclBroadcast(void *data, uint64_t count, int type, uint32_t root, comm_t *comm, void *stream) {
    uint64_t start = now_ns();
    job_t job = {comm, type, 0, count, root};
    int failed = exchange(comm, data, count, widths[type], take_of_root, data, &job);
    note("HcclBroadcast", start, comm, stream, count, type);
    return failed;
}

/* No part of a run uses these: they are refused, so that none is believed to have worked. */
#define REFUSED(name) int name(void) { fprintf(stderr, "the stand-in for CANN has no " #name "\n"); return NOT_SUPPORTED; }
REFUSED(HcclAllGatherV) REFUSED(HcclReduceScatterV) REFUSED(HcclScatter) REFUSED(HcclBatchSendRecv)
REFUSED(HcclAlltoAll) REFUSED(HcclAlltoAllV) REFUSED(HcclSend) REFUSED(HcclRecv)
