/* libms_tools_ext: marks and ranges, by domain. */
#include "recorder.h"
#include <stdlib.h>
#include <string.h>

#define OPEN_RANGES 4096

typedef struct { char name[128]; } domain_t;
static domain_t default_domain = {"default"};
static struct { uint64_t id, start_ns; int stream; char message[256]; } open[OPEN_RANGES];
static uint64_t ranges;

static void copy(char *to, const char *from, size_t room) {
    strncpy(to, from ? from : "", room - 1);
    to[room - 1] = 0;
    for (char *c = to; *c; c++) if (*c == '\t' || *c == '\n') *c = ' ';
}

void *mstxDomainCreateA(const char *name) {
    domain_t *made = calloc(1, sizeof *made);
    copy(made->name, name, sizeof made->name);
    return made;
}
void mstxDomainDestroy(void *domain) { free(domain); }

void mstxDomainMarkA(void *domain, const char *message, void *stream) {
    char text[256];
    copy(text, message, sizeof text);
    record("mark", text, now_ns(), "%d\t%s\t0", stream_number(stream), ((domain_t *)domain)->name);
}
uint64_t mstxDomainRangeStartA(void *domain, const char *message, void *stream) {
    uint64_t id = __sync_add_and_fetch(&ranges, 1);
    open[id % OPEN_RANGES].id = id;
    open[id % OPEN_RANGES].start_ns = now_ns();
    open[id % OPEN_RANGES].stream = stream_number(stream);
    copy(open[id % OPEN_RANGES].message, message, sizeof open[0].message);
    return id;
}
void mstxDomainRangeEnd(void *domain, uint64_t id) {
    if (open[id % OPEN_RANGES].id != id) return;
    record("range", open[id % OPEN_RANGES].message, open[id % OPEN_RANGES].start_ns, "%d\t%s\t%lu",
           open[id % OPEN_RANGES].stream, ((domain_t *)domain)->name, id);
}
void mstxMarkA(const char *message, void *stream) { mstxDomainMarkA(&default_domain, message, stream); }
uint64_t mstxRangeStartA(const char *message, void *stream) {
    return mstxDomainRangeStartA(&default_domain, message, stream);
}
void mstxRangeEnd(uint64_t id) { mstxDomainRangeEnd(&default_domain, id); }

void *mstxMemHeapRegister(void *domain, void *heap) { return domain; }
void mstxMemHeapUnregister(void *domain, void *heap) {}
int mstxMemRegionsRegister(void *domain, void *regions) { return 0; }
void mstxMemRegionsUnregister(void *domain, void *regions) {}
