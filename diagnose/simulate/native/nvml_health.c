/* Calls about a GPU's errors, repairs and processes. */

#include "scenario.h"

#include <stdio.h>
#include <stdlib.h>

static const char *const SORTS[] = {"corrected", "uncorrected"};
static const char *const SPANS[] = {"volatile", "aggregate"};

static long long count_of(const struct device *gpu, const char *call, const char *key, int *status) {
    long long value = 0;
    if (*status == SUCCESS)
        *status = gpu_number(gpu, call, key, &value);
    return value;
}

EXPORT int nvmlDeviceGetTotalEccErrors(struct device *gpu, unsigned sort, unsigned span, unsigned long long *count) {
    char key[64];
    if (sort > 1 || span > 1)
        return INVALID_ARGUMENT;
    int status = SUCCESS;
    snprintf(key, sizeof key, "ecc.%s.dram.%s", SPANS[span], SORTS[sort]);
    long long total = count_of(gpu, __func__, key, &status);
    snprintf(key, sizeof key, "ecc.%s.sram.%s", SPANS[span], SORTS[sort]);
    total += count_of(gpu, __func__, key, &status);
    if (status == SUCCESS)
        *count = (unsigned long long)total;
    return status;
}

EXPORT int nvmlDeviceGetMemoryErrorCounter(struct device *gpu, unsigned sort, unsigned span, unsigned location,
                                           unsigned long long *count) {
    char key[64];
    if (sort > 1 || span > 1)
        return INVALID_ARGUMENT;
    if (location != 2 && location != 7)
        return NOT_SUPPORTED;
    int status = SUCCESS;
    snprintf(key, sizeof key, "ecc.%s.%s.%s", SPANS[span], location == 2 ? "dram" : "sram", SORTS[sort]);
    long long value = count_of(gpu, __func__, key, &status);
    if (status == SUCCESS)
        *count = (unsigned long long)value;
    return status;
}

EXPORT int nvmlDeviceGetSramEccErrorStatus(struct device *gpu, struct sram_errors *errors) {
    int status = SUCCESS;
    long long exceeded = count_of(gpu, __func__, "ecc.sram_threshold_exceeded", &status);
    if (status != SUCCESS)
        return status;
    *errors = (struct sram_errors){
        .version = errors->version,
        .aggregate_parity = (unsigned long long)count_of(gpu, __func__, "ecc.aggregate.sram.uncorrected", &status),
        .aggregate_corrected = (unsigned long long)count_of(gpu, __func__, "ecc.aggregate.sram.corrected", &status),
        .volatile_parity = (unsigned long long)count_of(gpu, __func__, "ecc.volatile.sram.uncorrected", &status),
        .volatile_corrected = (unsigned long long)count_of(gpu, __func__, "ecc.volatile.sram.corrected", &status),
        .threshold_exceeded = (unsigned)exceeded,
    };
    return status;
}

EXPORT int nvmlDeviceGetRemappedRows(struct device *gpu, unsigned *corrected, unsigned *uncorrected, unsigned *pending,
                                     unsigned *failed) {
    int status = SUCCESS;
    *corrected = (unsigned)count_of(gpu, __func__, "remapped.corrected", &status);
    *uncorrected = (unsigned)count_of(gpu, __func__, "remapped.uncorrected", &status);
    *pending = (unsigned)count_of(gpu, __func__, "remapped.pending", &status);
    *failed = (unsigned)count_of(gpu, __func__, "remapped.failed", &status);
    return status;
}

EXPORT int nvmlDeviceGetRowRemapperHistogram(struct device *gpu, struct remapper_histogram *banks) {
    int status = SUCCESS;
    banks->max = (unsigned)count_of(gpu, __func__, "remapped.banks_max", &status);
    banks->high = (unsigned)count_of(gpu, __func__, "remapped.banks_high", &status);
    banks->partial = (unsigned)count_of(gpu, __func__, "remapped.banks_partial", &status);
    banks->low = (unsigned)count_of(gpu, __func__, "remapped.banks_low", &status);
    banks->none = (unsigned)count_of(gpu, __func__, "remapped.banks_none", &status);
    return status;
}

EXPORT int nvmlDeviceGetRetiredPages(struct device *gpu, unsigned cause, unsigned *count, unsigned long long *pages) {
    int status = SUCCESS;
    long long retired = count_of(gpu, __func__, cause ? "retired.double_bit" : "retired.single_bit", &status);
    if (status != SUCCESS)
        return status;
    if (!pages || *count < retired) {
        *count = (unsigned)retired;
        return retired ? INSUFFICIENT_SIZE : SUCCESS;
    }
    for (long long i = 0; i < retired; i++)
        pages[i] = 0x1000ULL * (unsigned long long)(i + 1);
    *count = (unsigned)retired;
    return SUCCESS;
}

/* `processes = 4711:512MiB 4712:1GiB` */
static int processes_of(struct device *gpu, const char *call, const char *key, unsigned *count,
                        struct process *processes) {
    const char *text;
    int status = gpu_text(gpu, call, key, &text);
    if (status != SUCCESS)
        return status;
    unsigned found = 0;
    while (*text) {
        char *end;
        unsigned long pid = strtoul(text, &end, 10);
        if (end == text || *end != ':')
            break;
        unsigned long long bytes = strtoull(end + 1, &end, 10) << 20;
        if (processes && found < *count)
            processes[found] = (struct process){(unsigned)pid, bytes, 0xffffffffu, 0xffffffffu};
        found++;
        while (*end && *end != ' ')
            end++;
        text = *end ? end + 1 : end;
    }
    int fits = found == 0 || (processes && found <= *count);
    *count = found;
    return fits ? SUCCESS : INSUFFICIENT_SIZE;
}

#define PROCESSES(name, key)                                                                                           \
    EXPORT int name(struct device *gpu, unsigned *count, struct process *processes) {                                  \
        return processes_of(gpu, __func__, key, count, processes);                                                     \
    }

/* The second and the third version differ in what the driver fills in, not in layout. */
PROCESSES(nvmlDeviceGetComputeRunningProcesses_v2, "processes")
PROCESSES(nvmlDeviceGetComputeRunningProcesses_v3, "processes")
PROCESSES(nvmlDeviceGetGraphicsRunningProcesses_v2, "graphics_processes")
PROCESSES(nvmlDeviceGetGraphicsRunningProcesses_v3, "graphics_processes")
PROCESSES(nvmlDeviceGetMPSComputeRunningProcesses_v2, "mps_processes")
PROCESSES(nvmlDeviceGetMPSComputeRunningProcesses_v3, "mps_processes")

EXPORT int nvmlDeviceGetAccountingPids(struct device *gpu, unsigned *count, unsigned *pids) {
    (void)pids;
    int status = SUCCESS;
    count_of(gpu, __func__, "accounting.size", &status);
    *count = 0;
    return status;
}
