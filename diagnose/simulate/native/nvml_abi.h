/*
 * Types of NVML's public binary interface, as far as the stand-in answers it. Laid out as the pynvml module lays them
 * out in ctypes, which is what calls us; names are ours.
 */
#ifndef STANDIN_NVML_ABI_H
#define STANDIN_NVML_ABI_H

#include <stdint.h>

#define EXPORT __attribute__((visibility("default")))

enum status {
    SUCCESS = 0,
    UNINITIALIZED = 1,
    INVALID_ARGUMENT = 2,
    NOT_SUPPORTED = 3,
    NOT_FOUND = 6,
    INSUFFICIENT_SIZE = 7,
    DRIVER_NOT_LOADED = 9,
};

struct device {
    int gpu;
    int instance; /* number of the MIG device, or -1 for the whole GPU */
};

struct pci_info {
    char bus_id_legacy[16];
    unsigned domain, bus, device, device_id, subsystem_id;
    char bus_id[32];
};

struct memory {
    unsigned long long total, free, used;
};

struct memory_v2 {
    unsigned version;
    unsigned long long total, reserved, free, used;
};

struct utilization {
    unsigned gpu, memory;
};

struct process {
    unsigned pid;
    unsigned long long used_memory;
    unsigned gpu_instance, compute_instance;
};

union field_data {
    double real;
    unsigned long long number;
    long long signed_number;
};

struct field_value {
    uint32_t id, scope;
    int64_t timestamp, latency_microseconds;
    unsigned type;
    int status;
    union field_data value;
};

struct violation_time {
    unsigned long long reference_time, violation_time;
};

struct remapper_histogram {
    unsigned max, high, partial, low, none;
};

struct margin_temperature {
    unsigned version;
    int margin;
};

struct temperature {
    unsigned version, sensor;
    int value;
};

struct fabric_info {
    unsigned char cluster[16];
    int status;
    uint32_t clique;
    unsigned state;
};

struct fabric_info_v {
    unsigned version;
    unsigned char cluster[16];
    int status;
    uint32_t clique;
    unsigned state;
    uint32_t health_mask;
};

struct sram_errors {
    unsigned version;
    unsigned long long aggregate_parity, aggregate_sec_ded, aggregate_corrected;
    unsigned long long volatile_parity, volatile_sec_ded, volatile_corrected;
    unsigned long long l2, sm, pcie, mcu, other;
    unsigned threshold_exceeded;
};

struct confidential_state {
    unsigned environment, feature, tools_mode;
};

#endif
