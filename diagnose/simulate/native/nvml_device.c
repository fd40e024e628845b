/* Calls about one GPU. */

#include "scenario.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int text_of(const struct device *gpu, const char *call, const char *key, char *buffer, unsigned length) {
    const char *text;
    int status = gpu_text(gpu, call, key, &text);
    return status == SUCCESS ? copy_text(buffer, length, text) : status;
}

static int unsigned_of(const struct device *gpu, const char *call, const char *key, unsigned *out) {
    long long value;
    int status = gpu_number(gpu, call, key, &value);
    if (status == SUCCESS)
        *out = (unsigned)value;
    return status;
}

/* Zero where the scenario has no line: parts of a structure that is there as a whole. */
static long long or_zero(const struct device *gpu, const char *call, const char *key) {
    long long value;
    return gpu_number(gpu, call, key, &value) == SUCCESS ? value : 0;
}

#define TEXT(name, key)                                                                                                \
    EXPORT int name(struct device *gpu, char *buffer, unsigned length) {                                               \
        return text_of(gpu, __func__, key, buffer, length);                                                            \
    }
#define NUMBER(name, key)                                                                                              \
    EXPORT int name(struct device *gpu, unsigned *out) {                                                               \
        return unsigned_of(gpu, __func__, key, out);                                                                   \
    }
#define LONG_NUMBER(name, key)                                                                                         \
    EXPORT int name(struct device *gpu, unsigned long long *out) {                                                     \
        return gpu_number(gpu, __func__, key, (long long *)out);                                                       \
    }
#define TWO_NUMBERS(name, first, second)                                                                               \
    EXPORT int name(struct device *gpu, unsigned *one, unsigned *two) {                                                \
        int status = unsigned_of(gpu, __func__, first, one);                                                           \
        return status == SUCCESS ? unsigned_of(gpu, __func__, second, two) : status;                                   \
    }
/* A value of which there are several kinds, each with a key of its own. */
#define KINDS(name, ...)                                                                                               \
    EXPORT int name(struct device *gpu, unsigned kind, unsigned *out) {                                                \
        static const char *const keys[] = {__VA_ARGS__};                                                               \
        return kind < sizeof keys / sizeof *keys ? unsigned_of(gpu, __func__, keys[kind], out) : INVALID_ARGUMENT;     \
    }

TEXT(nvmlDeviceGetName, "name")
TEXT(nvmlDeviceGetSerial, "serial")
TEXT(nvmlDeviceGetVbiosVersion, "vbios")
TEXT(nvmlDeviceGetInforomImageVersion, "inforom.image")
TEXT(nvmlDeviceGetBoardPartNumber, "part_number")

NUMBER(nvmlDeviceGetArchitecture, "architecture")
NUMBER(nvmlDeviceGetBrand, "brand")
NUMBER(nvmlDeviceGetMinorNumber, "minor")
NUMBER(nvmlDeviceGetPersistenceMode, "persistence")
NUMBER(nvmlDeviceGetComputeMode, "compute_mode")
NUMBER(nvmlDeviceGetDisplayActive, "display.active")
NUMBER(nvmlDeviceGetDisplayMode, "display.mode")
NUMBER(nvmlDeviceGetVirtualizationMode, "virtualization")
NUMBER(nvmlDeviceGetNumGpuCores, "cores")
NUMBER(nvmlDeviceGetNumaNodeId, "numa_node_id")
NUMBER(nvmlDeviceGetPerformanceState, "pstate")
NUMBER(nvmlDeviceGetPowerState, "pstate")
NUMBER(nvmlDeviceGetCurrPcieLinkGeneration, "pcie.generation")
NUMBER(nvmlDeviceGetMaxPcieLinkGeneration, "pcie.generation_max")
NUMBER(nvmlDeviceGetGpuMaxPcieLinkGeneration, "pcie.generation_device_max")
NUMBER(nvmlDeviceGetCurrPcieLinkWidth, "pcie.width")
NUMBER(nvmlDeviceGetMaxPcieLinkWidth, "pcie.width_max")
NUMBER(nvmlDeviceGetPcieReplayCounter, "pcie.replays")
NUMBER(nvmlDeviceGetPowerUsage, "power.draw")
NUMBER(nvmlDeviceGetPowerManagementMode, "power.management")
NUMBER(nvmlDeviceGetPowerManagementLimit, "power.limit")
NUMBER(nvmlDeviceGetEnforcedPowerLimit, "power.limit")
NUMBER(nvmlDeviceGetPowerManagementDefaultLimit, "power.limit_default")
NUMBER(nvmlDeviceGetNumFans, "fan.count")
NUMBER(nvmlDeviceGetFanSpeed, "fan.speed")
NUMBER(nvmlDeviceGetRetiredPagesPendingStatus, "retired.pending")
NUMBER(nvmlDeviceGetAccountingMode, "accounting.mode")
NUMBER(nvmlDeviceGetAccountingBufferSize, "accounting.size")
NUMBER(nvmlDeviceGetMaxMigDeviceCount, "mig.max")
NUMBER(nvmlDeviceGetMultiGpuBoard, "multi_gpu_board")

LONG_NUMBER(nvmlDeviceGetTotalEnergyConsumption, "power.energy")
LONG_NUMBER(nvmlDeviceGetCurrentClocksEventReasons, "reasons")
LONG_NUMBER(nvmlDeviceGetCurrentClocksThrottleReasons, "reasons")
LONG_NUMBER(nvmlDeviceGetSupportedClocksEventReasons, "reasons_supported")
LONG_NUMBER(nvmlDeviceGetSupportedClocksThrottleReasons, "reasons_supported")

TWO_NUMBERS(nvmlDeviceGetPowerManagementLimitConstraints, "power.limit_min", "power.limit_max")
TWO_NUMBERS(nvmlDeviceGetEncoderUtilization, "utilization.encoder", "utilization.period")
TWO_NUMBERS(nvmlDeviceGetDecoderUtilization, "utilization.decoder", "utilization.period")
TWO_NUMBERS(nvmlDeviceGetEccMode, "ecc.mode", "ecc.mode_pending")
TWO_NUMBERS(nvmlDeviceGetMigMode, "mig.mode", "mig.mode_pending")
TWO_NUMBERS(nvmlDeviceGetCudaComputeCapability, "compute.major", "compute.minor")

KINDS(nvmlDeviceGetClockInfo, "clock.graphics", "clock.sm", "clock.memory", "clock.video")
KINDS(nvmlDeviceGetMaxClockInfo, "clock_max.graphics", "clock_max.sm", "clock_max.memory", "clock_max.video")
KINDS(nvmlDeviceGetApplicationsClock, "clock_set.graphics", "clock_set.sm", "clock_set.memory")
KINDS(nvmlDeviceGetDefaultApplicationsClock, "clock_default.graphics", "clock_default.sm", "clock_default.memory")
KINDS(nvmlDeviceGetTemperature, "temperature.gpu")
KINDS(nvmlDeviceGetTemperatureThreshold, "threshold.shutdown", "threshold.slowdown", "threshold.memory_max",
      "threshold.gpu_max", "threshold.acoustic_min", "threshold.acoustic_current", "threshold.acoustic_max")
KINDS(nvmlDeviceGetPcieThroughput, "pcie.transmit", "pcie.receive")

EXPORT int nvmlDeviceGetUUID(struct device *gpu, char *buffer, unsigned length) {
    char text[80];
    int status = text_of(gpu, __func__, "uuid", text, sizeof text);
    if (status != SUCCESS || gpu->instance < 0)
        return status == SUCCESS ? copy_text(buffer, length, text) : status;
    /* A MIG device has a UUID of its own; the last digit tells the stand-in's apart. */
    memcpy(text, "MIG", 3);
    text[strlen(text) - 1] = (char)('0' + gpu->instance);
    return copy_text(buffer, length, text);
}

EXPORT int nvmlDeviceGetIndex(struct device *gpu, unsigned *index) {
    if (!gpu)
        return INVALID_ARGUMENT;
    *index = (unsigned)gpu->gpu;
    return SUCCESS;
}

EXPORT int nvmlDeviceGetInforomVersion(struct device *gpu, unsigned object, char *buffer, unsigned length) {
    static const char *const keys[] = {"inforom.oem", "inforom.ecc", "inforom.power"};
    return object < 3 ? text_of(gpu, __func__, keys[object], buffer, length) : INVALID_ARGUMENT;
}

EXPORT int nvmlDeviceValidateInforom(struct device *gpu) {
    unsigned valid;
    int status = unsigned_of(gpu, __func__, "inforom.valid", &valid);
    return status == SUCCESS && !valid ? 14 : status;
}

EXPORT int nvmlDeviceGetGspFirmwareVersion(struct device *gpu, char *buffer) {
    return text_of(gpu, __func__, "gsp", buffer, 64);
}

EXPORT int nvmlDeviceGetPciInfo_v3(struct device *gpu, struct pci_info *info) {
    const char *text;
    int status = gpu_text(gpu, __func__, "bus_id", &text);
    if (status != SUCCESS)
        return status;
    memset(info, 0, sizeof *info);
    sscanf(text, "%x:%x:%x", &info->domain, &info->bus, &info->device);
    info->device_id = (unsigned)or_zero(gpu, __func__, "device_id");
    info->subsystem_id = (unsigned)or_zero(gpu, __func__, "subsystem_id");
    snprintf(info->bus_id_legacy, sizeof info->bus_id_legacy, "%04X:%02X:%02X.0", info->domain & 0xffff,
             info->bus & 0xff, info->device & 0xff);
    snprintf(info->bus_id, sizeof info->bus_id, "%08X:%02X:%02X.0", info->domain, info->bus & 0xff,
             info->device & 0xff);
    return SUCCESS;
}

EXPORT int nvmlDeviceGetFanSpeed_v2(struct device *gpu, unsigned fan, unsigned *speed) {
    unsigned count;
    int status = unsigned_of(gpu, __func__, "fan.count", &count);
    if (status != SUCCESS)
        return status;
    return fan < count ? unsigned_of(gpu, __func__, "fan.speed", speed) : INVALID_ARGUMENT;
}

EXPORT int nvmlDeviceGetTemperatureV(struct device *gpu, struct temperature *info) {
    return info->sensor == 0 ? unsigned_of(gpu, __func__, "temperature.gpu", (unsigned *)&info->value)
                             : INVALID_ARGUMENT;
}

EXPORT int nvmlDeviceGetMarginTemperature(struct device *gpu, struct margin_temperature *info) {
    return unsigned_of(gpu, __func__, "temperature.margin", (unsigned *)&info->margin);
}

EXPORT int nvmlDeviceGetUtilizationRates(struct device *gpu, struct utilization *info) {
    int status = unsigned_of(gpu, __func__, "utilization.gpu", &info->gpu);
    return status == SUCCESS ? unsigned_of(gpu, __func__, "utilization.memory", &info->memory) : status;
}

static int memory_of(struct device *gpu, const char *call, struct memory_v2 *info) {
    long long total;
    int status = gpu_number(gpu, call, "memory.total", &total);
    if (status != SUCCESS)
        return status;
    info->total = (unsigned long long)total;
    info->used = (unsigned long long)or_zero(gpu, call, "memory.used");
    info->reserved = (unsigned long long)or_zero(gpu, call, "memory.reserved");
    info->free = info->total - info->used - info->reserved;
    return SUCCESS;
}

EXPORT int nvmlDeviceGetMemoryInfo_v2(struct device *gpu, struct memory_v2 *info) {
    return memory_of(gpu, __func__, info);
}

/* The older call counts what the driver keeps as used. */
EXPORT int nvmlDeviceGetMemoryInfo(struct device *gpu, struct memory *info) {
    struct memory_v2 parts;
    int status = memory_of(gpu, __func__, &parts);
    if (status == SUCCESS)
        *info = (struct memory){parts.total, parts.free, parts.used + parts.reserved};
    return status;
}

EXPORT int nvmlDeviceGetBAR1MemoryInfo(struct device *gpu, struct memory *info) {
    long long total;
    int status = gpu_number(gpu, __func__, "bar1.total", &total);
    if (status != SUCCESS)
        return status;
    info->total = (unsigned long long)total;
    info->used = (unsigned long long)or_zero(gpu, __func__, "bar1.used");
    info->free = info->total - info->used;
    return SUCCESS;
}

EXPORT int nvmlDeviceGetViolationStatus(struct device *gpu, unsigned policy, struct violation_time *info) {
    char key[32];
    long long time;
    snprintf(key, sizeof key, "violation.%u", policy);
    int status = gpu_number(gpu, __func__, key, &time);
    if (status == SUCCESS)
        *info = (struct violation_time){0, (unsigned long long)time};
    return status;
}

/* Field values carry their own status each; the call as a whole fails only with the GPU. */
EXPORT int nvmlDeviceGetFieldValues(struct device *gpu, int count, struct field_value *values) {
    const char *ignored;
    int status = gpu_text(gpu, __func__, "uuid", &ignored);
    if (status != SUCCESS)
        return status;
    for (int i = 0; i < count; i++) {
        char key[32];
        long long number = 0;
        snprintf(key, sizeof key, "field.%u", values[i].id);
        status = gpu_number(gpu, __func__, key, &number);
        if (status == NOT_SUPPORTED)
            status = link_number(gpu, values[i].scope, __func__, key, &number);
        values[i].status = status;
        values[i].type = 4; /* signed, 64 bits */
        values[i].value.signed_number = number;
    }
    return SUCCESS;
}

static void take_bits(const char *list, unsigned long *set, unsigned words) {
    const unsigned bits = 8 * sizeof *set;
    memset(set, 0, words * sizeof *set);
    while (*list) {
        char *end;
        unsigned long first = strtoul(list, &end, 10), last = first;
        if (end == list)
            return;
        if (*end == '-')
            last = strtoul(end + 1, &end, 10);
        for (unsigned long bit = first; bit <= last && bit < words * bits; bit++)
            set[bit / bits] |= 1UL << bit % bits;
        list = *end == ',' ? end + 1 : end;
    }
}

static int bits_of(struct device *gpu, const char *call, const char *key, unsigned words, unsigned long *set) {
    const char *text;
    int status = gpu_text(gpu, call, key, &text);
    if (status == SUCCESS)
        take_bits(text, set, words);
    return status;
}

EXPORT int nvmlDeviceGetCpuAffinity(struct device *gpu, unsigned words, unsigned long *set) {
    return bits_of(gpu, __func__, "cpus", words, set);
}

EXPORT int nvmlDeviceGetCpuAffinityWithinScope(struct device *gpu, unsigned words, unsigned long *set, unsigned scope) {
    (void)scope;
    return bits_of(gpu, __func__, "cpus", words, set);
}

EXPORT int nvmlDeviceGetMemoryAffinity(struct device *gpu, unsigned words, unsigned long *set, unsigned scope) {
    (void)scope;
    return bits_of(gpu, __func__, "numa_node", words, set);
}
