/* Calls about the library, the driver and the machine, and those that hand out devices. */

#include "scenario.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_GPUS 64
#define MAX_INSTANCES 8

static struct device devices[MAX_GPUS];
static struct device instances[MAX_GPUS][MAX_INSTANCES];
static int started;

static unsigned gpu_count(void) {
    const char *text = scenario_value("gpus");
    unsigned long count = text ? strtoul(text, NULL, 10) : 0;
    return count < MAX_GPUS ? (unsigned)count : MAX_GPUS;
}

static int start(void) {
    int status = scenario_load();
    if (status == SUCCESS)
        status = scenario_call("nvmlInit");
    if (status != SUCCESS)
        return status;
    for (int gpu = 0; gpu < MAX_GPUS; gpu++) {
        devices[gpu] = (struct device){gpu, -1};
        for (int number = 0; number < MAX_INSTANCES; number++)
            instances[gpu][number] = (struct device){gpu, number};
    }
    started++;
    return SUCCESS;
}

EXPORT int nvmlInit_v2(void) {
    return start();
}

EXPORT int nvmlInitWithFlags(unsigned flags) {
    (void)flags;
    return start();
}

EXPORT int nvmlShutdown(void) {
    if (!started)
        return UNINITIALIZED;
    started--;
    return SUCCESS;
}

EXPORT const char *nvmlErrorString(int status) {
    const char *name = status_name(status);
    return name ? name : "no error of the stand-in";
}

static int system_text(const char *call, const char *key, char *buffer, unsigned length) {
    int status = started ? scenario_call(call) : UNINITIALIZED;
    if (status != SUCCESS)
        return status;
    const char *text = scenario_value(key);
    return text ? copy_text(buffer, length, text) : NOT_SUPPORTED;
}

EXPORT int nvmlSystemGetDriverVersion(char *version, unsigned length) {
    return system_text(__func__, "driver.version", version, length);
}

EXPORT int nvmlSystemGetNVMLVersion(char *version, unsigned length) {
    return system_text(__func__, "driver.nvml_version", version, length);
}

EXPORT int nvmlSystemGetCudaDriverVersion(int *version) {
    char text[32];
    int status = system_text(__func__, "driver.cuda", text, sizeof text);
    if (status == SUCCESS)
        *version = atoi(text);
    return status;
}

EXPORT int nvmlSystemGetCudaDriverVersion_v2(int *version) {
    return nvmlSystemGetCudaDriverVersion(version);
}

EXPORT int nvmlSystemGetProcessName(unsigned pid, char *name, unsigned length) {
    char key[64];
    snprintf(key, sizeof key, "process.%u.name", pid);
    int status = system_text(__func__, key, name, length);
    return status == NOT_SUPPORTED ? NOT_FOUND : status;
}

EXPORT int nvmlSystemGetConfComputeState(struct confidential_state *state) {
    char text[32];
    int status = system_text(__func__, "confidential.feature", text, sizeof text);
    if (status == SUCCESS)
        *state = (struct confidential_state){.feature = (unsigned)atoi(text)};
    return status;
}

EXPORT int nvmlDeviceGetCount_v2(unsigned *count) {
    int status = started ? scenario_call("nvmlDeviceGetCount") : UNINITIALIZED;
    if (status == SUCCESS)
        *count = gpu_count();
    return status;
}

EXPORT int nvmlDeviceGetHandleByIndex_v2(unsigned index, struct device **device) {
    const char *ignored;
    if (!started)
        return UNINITIALIZED;
    if (index >= gpu_count())
        return INVALID_ARGUMENT;
    int status = gpu_text(&devices[index], "nvmlDeviceGetHandleByIndex", "handle", &ignored);
    if (status != SUCCESS && status != NOT_SUPPORTED)
        return status;
    *device = &devices[index];
    return SUCCESS;
}

static int device_by(const char *call, const char *key, const char *wanted, struct device **device) {
    if (!started)
        return UNINITIALIZED;
    for (unsigned gpu = 0; gpu < gpu_count(); gpu++) {
        const char *text;
        if (gpu_text(&devices[gpu], call, key, &text) == SUCCESS && !strcmp(text, wanted)) {
            *device = &devices[gpu];
            return SUCCESS;
        }
    }
    return NOT_FOUND;
}

EXPORT int nvmlDeviceGetHandleByUUID(const char *uuid, struct device **device) {
    return device_by(__func__, "uuid", uuid, device);
}

EXPORT int nvmlDeviceGetHandleByPciBusId_v2(const char *bus_id, struct device **device) {
    return device_by(__func__, "bus_id", bus_id, device);
}

EXPORT int nvmlDeviceGetMigDeviceHandleByIndex(struct device *gpu, unsigned index, struct device **instance) {
    long long count;
    int status = gpu_number(gpu, __func__, "mig.instances", &count);
    if (status != SUCCESS)
        return status;
    if (index >= MAX_INSTANCES || index >= count)
        return NOT_FOUND;
    *instance = &instances[gpu->gpu][index];
    return SUCCESS;
}

EXPORT int nvmlDeviceGetDeviceHandleFromMigDeviceHandle(struct device *instance, struct device **gpu) {
    if (!instance || instance->instance < 0)
        return INVALID_ARGUMENT;
    *gpu = &devices[instance->gpu];
    return SUCCESS;
}

EXPORT int nvmlDeviceIsMigDeviceHandle(struct device *device, unsigned *is_instance) {
    if (!device)
        return INVALID_ARGUMENT;
    *is_instance = device->instance >= 0;
    return SUCCESS;
}
