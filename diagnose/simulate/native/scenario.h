/*
 * A scenario: lines `key = value` that say what the library answers.
 *
 *   # comment
 *   include = ../h100-sxm.conf        relative to this file; later lines take the place of earlier ones
 *   gpus = 8
 *   gpu.temperature.gpu = 41          every GPU
 *   gpu.3.temperature.gpu = 88        GPU 3
 *   gpu.power.draw = 640000..690000   wanders between two numbers
 *   gpu.5 = !GPU_IS_LOST              every call on GPU 5 ends in an error
 *   gpu.5.serial = !NO_PERMISSION     one value
 *   call.nvmlInit = !LIB_RM_VERSION_MISMATCH
 *   gpu.2.call.nvmlDeviceGetName = !HANG
 *   gpu.0.link.4.state = 0            NVLink 4 of GPU 0; also gpu.link.4.state, gpu.0.link.state, gpu.link.state
 *   pair.topology = SYS               every pair; also pair.0-1.topology, lower index first
 *
 * Numbers are in NVML's own units (mW, MHz, bytes, ns) and may end in KiB, MiB or GiB. What no line tells is
 * "not supported".
 */
#ifndef STANDIN_SCENARIO_H
#define STANDIN_SCENARIO_H

#include "nvml_abi.h"

/* Reads the file that $DIAGNOSE_SIMULATION names. */
int scenario_load(void);

/* Whether a call outside of any GPU is to fail; may never return. */
int scenario_call(const char *call);

/* The value of a key outside of any GPU, or NULL. */
const char *scenario_value(const char *key);

/* Values of a GPU, of one of its links, of a pair. Each first lets the call fail or hang as the scenario says. */
int gpu_text(const struct device *gpu, const char *call, const char *key, const char **value);
int gpu_number(const struct device *gpu, const char *call, const char *key, long long *value);
int link_text(const struct device *gpu, unsigned link, const char *call, const char *key, const char **value);
int link_number(const struct device *gpu, unsigned link, const char *call, const char *key, long long *value);
int pair_text(const struct device *one, const struct device *other, const char *call, const char *key,
              const char **value);

/* Copies text into a caller's buffer. */
int copy_text(char *buffer, unsigned length, const char *text);

/* The name of an error code, or NULL. */
const char *status_name(int status);

#endif
