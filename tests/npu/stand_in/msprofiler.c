/* libmsprofiler: what torch_npu looks up of the profiler while it runs. */
#include "recorder.h"
#include <stddef.h>

#define FEATURES 2

int aclprofSetConfig(int type, const char *value, size_t length) {
    note_asked("config", "%d\t%.*s", type, (int)length, value);
    return 0;
}

int aclprofWarmup(const void *config) { return 0; }

/* Some switches ask first whether this CANN has them. */
int aclprofGetSupportedFeatures(size_t *size, void **data) {
    static struct {
        void *unused; char name[64]; void *also_unused; char compatibility[16], version[16], component[16], component_version[16], log[128];
    } features[FEATURES] = {{0, "ATTR", 0, "1", "1", "all", "all", "no remark"}, {0, "MemoryAccess", 0, "1", "1", "all", "all", "no remark"}};
    *size = FEATURES;
    *data = features;
    return 0;
}
