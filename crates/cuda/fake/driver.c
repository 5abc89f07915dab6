// A CUDA driver that drives nothing, for the paths that a healthy device never takes. Built by the tests, one library for
// each fault:
//
//   NO_DEVICE         starts, and fails at it
//   DEVICES=n         sees so many devices
//   MEMORY=n          has so many bytes
//   WITHOUT_GRAPHS    is older than the graphs' entry points
//   REFUSES           takes no launch
//   FAULTS            takes launches, and they break: every later call says so
//   HANGS             takes launches, and they never end: a call that would wait for them aborts the process
//
// A launch computes nothing and takes a millisecond.

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#ifndef DEVICES
#define DEVICES 1
#endif
#ifndef MEMORY
#define MEMORY (768ull << 20)
#endif
#ifdef HANGS
#define HANG 1
#else
#define HANG 0
#endif
#ifdef FAULTS
#define FAULT 1
#else
#define FAULT 0
#endif

enum { OK = 0, INVALID = 1, OUT_OF_MEMORY = 2, NOTHING = 100, NOT_READY = 600, ILLEGAL_ADDRESS = 700 };

static int launched;
static unsigned long long taken;

// What a call that waits for the device says.
static int waited(void) {
    if (launched && HANG) abort();
    return launched && FAULT ? ILLEGAL_ADDRESS : OK;
}

int cuInit(unsigned flags) {
#ifdef NO_DEVICE
    return NOTHING;
#else
    return OK;
#endif
}
int cuDriverGetVersion(int *version) { return *version = 13000, OK; }
static const char *words(int code, int text) {
    switch (code) {
    case INVALID: return text ? "invalid argument" : "CUDA_ERROR_INVALID_VALUE";
    case OUT_OF_MEMORY: return text ? "out of memory" : "CUDA_ERROR_OUT_OF_MEMORY";
    case NOTHING: return text ? "no CUDA-capable device is detected" : "CUDA_ERROR_NO_DEVICE";
    case ILLEGAL_ADDRESS: return text ? "an illegal memory access was encountered" : "CUDA_ERROR_ILLEGAL_ADDRESS";
    default: return 0;
    }
}
int cuGetErrorName(int code, const char **name) { return *name = words(code, 0), OK; }
int cuGetErrorString(int code, const char **text) { return *text = words(code, 1), OK; }
int cuDeviceGetCount(int *count) { return *count = DEVICES, OK; }
int cuDeviceGet(int *device, int ordinal) { return *device = ordinal, OK; }
int cuDeviceGetName(char *name, int size, int device) { return strncpy(name, "A device of cardboard", size), OK; }
int cuDeviceGetAttribute(int *value, int attribute, int device) {
    switch (attribute) {
    case 16: *value = 2; break;                     // multiprocessors
    case 38: *value = 4 << 20; break;               // L2
    case 75: *value = 9; break;                     // compute capability 9.0
    case 76: *value = 0; break;
    case 81: case 97: *value = 227 << 10; break;    // shared memory
    default: *value = 1;
    }
    return OK;
}
int cuDeviceTotalMem_v2(size_t *bytes, int device) { return *bytes = MEMORY, OK; }
int cuDeviceGetUuid_v2(unsigned char *uuid, int device) { return memset(uuid, 7, 16), OK; }
int cuDevicePrimaryCtxRetain(void **context, int device) { return *context = &launched, OK; }
int cuDevicePrimaryCtxRelease_v2(int device) { return waited(); }
int cuCtxSetCurrent(void *context) { return OK; }
int cuCtxSynchronize(void) { return waited(); }
int cuModuleLoadData(void **module, const void *image) { return *module = &launched, OK; }
int cuModuleUnload(void *module) { return waited(); }
int cuModuleGetFunction(void **function, void *module, const char *name) { return *function = &launched, OK; }
int cuFuncSetAttribute(void *function, int attribute, int value) {
    return attribute == 8 && value > 227 << 10 ? INVALID : OK;
}
int cuFuncGetAttribute(int *value, int attribute, void *function) { return *value = 32, OK; }
int cuOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, void *function, int threads, size_t shared) {
    return *blocks = 1, OK;
}
int cuLaunchKernel(void *function, unsigned x, unsigned y, unsigned z, unsigned bx, unsigned by, unsigned bz,
                   unsigned shared, void *stream, void **arguments, void **extra) {
#ifdef REFUSES
    return INVALID;
#else
    launched = 1;
    return OK;
#endif
}
// Blocks carry their size in front of them.
int cuMemAlloc_v2(unsigned long long *address, size_t bytes) {
    if (taken + bytes > MEMORY) return OUT_OF_MEMORY;
    char *block = calloc(1, bytes + 64);
    if (!block) return OUT_OF_MEMORY;
    *(size_t *)block = bytes, taken += bytes;
    return *address = (unsigned long long)(block + 64), OK;
}
int cuMemFree_v2(unsigned long long address) {
    int code = waited();
    if (code == OK) taken -= *(size_t *)(address - 64), free((char *)address - 64);
    return code;
}
int cuMemGetInfo_v2(size_t *available, size_t *total) { return *available = MEMORY - taken, *total = MEMORY, OK; }
int cuMemsetD8_v2(unsigned long long to, unsigned char value, size_t bytes) {
    int code = waited();
    return code ? code : (memset((void *)to, value, bytes), OK);
}
int cuMemcpyHtoD_v2(unsigned long long to, const void *from, size_t bytes) {
    int code = waited();
    return code ? code : (memcpy((void *)to, from, bytes), OK);
}
int cuMemcpyDtoH_v2(void *to, unsigned long long from, size_t bytes) {
    int code = waited();
    return code ? code : (memcpy(to, (void *)from, bytes), OK);
}
int cuMemcpyDtoDAsync_v2(unsigned long long to, unsigned long long from, size_t bytes, void *stream) {
    int code = waited();
    return code ? code : (memcpy((void *)to, (void *)from, bytes), OK);
}
int cuStreamCreate(void **stream, unsigned flags) { return *stream = &launched, OK; }
int cuStreamDestroy_v2(void *stream) { return waited(); }
int cuStreamSynchronize(void *stream) { return waited(); }
int cuStreamBeginCapture_v2(void *stream, int mode) { return OK; }
int cuStreamEndCapture(void *stream, void **graph) { return *graph = &launched, OK; }
int cuGraphInstantiateWithFlags(void **executable, void *graph, unsigned long long flags) {
    return *executable = &launched, OK;
}
#ifndef WITHOUT_GRAPHS
int cuGraphLaunch(void *executable, void *stream) { return launched = 1, OK; }
#endif
int cuGraphExecDestroy(void *executable) { return waited(); }
int cuGraphDestroy(void *graph) { return waited(); }
int cuEventCreate(void **event, unsigned flags) { return *event = &launched, OK; }
int cuEventDestroy_v2(void *event) { return waited(); }
int cuEventRecord(void *event, void *stream) { return OK; }
int cuEventQuery(void *event) { return launched && HANG ? NOT_READY : launched && FAULT ? ILLEGAL_ADDRESS : OK; }
int cuEventElapsedTime(float *milliseconds, void *before, void *after) { return *milliseconds = 1, OK; }
