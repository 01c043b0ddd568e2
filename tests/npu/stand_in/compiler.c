/* libacl_op_compiler: options are taken and forgotten. */
#include <stddef.h>
#include <stdint.h>

int aclrtGetSysParamOpt(int option, int64_t *value) { *value = 0; return 0; }
int aclrtSetSysParamOpt(int option, int64_t value) { return 0; }
int aclrtCtxSetSysParamOpt(int option, int64_t value) { return 0; }
int aclSetCompileopt(int option, const char *value) { return 0; }
size_t aclGetCompileoptSize(int option) { return 8; }
int aclGetCompileopt(int option, char *value, size_t room) { if (room) *value = 0; return 0; }
int aclopCompileAndExecuteV2(void) { return 0; }
