#define _POSIX_C_SOURCE 200809L

#include "scenario.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define KEY_LENGTH 128
#define PATH_LENGTH 4096
#define MAX_DEPTH 4
#define HANG (-1)
#define WANDER_SECONDS 8.0

struct entry {
    char *key, *value;
};

static struct entry *entries;
static size_t entry_count;

static const struct {
    const char *name;
    int status;
} statuses[] = {
    {"HANG", HANG},
    {"UNINITIALIZED", 1},
    {"INVALID_ARGUMENT", 2},
    {"NOT_SUPPORTED", 3},
    {"NO_PERMISSION", 4},
    {"NOT_FOUND", 6},
    {"INSUFFICIENT_SIZE", 7},
    {"INSUFFICIENT_POWER", 8},
    {"DRIVER_NOT_LOADED", 9},
    {"TIMEOUT", 10},
    {"IRQ_ISSUE", 11},
    {"FUNCTION_NOT_FOUND", 13},
    {"CORRUPTED_INFOROM", 14},
    {"GPU_IS_LOST", 15},
    {"RESET_REQUIRED", 16},
    {"OPERATING_SYSTEM", 17},
    {"LIB_RM_VERSION_MISMATCH", 18},
    {"IN_USE", 19},
    {"MEMORY", 20},
    {"NO_DATA", 21},
    {"DEPRECATED", 26},
    {"NOT_READY", 27},
    {"GPU_NOT_FOUND", 28},
    {"INVALID_STATE", 29},
    {"UNKNOWN", 999},
};

static int by_key(const void *left, const void *right) {
    return strcmp(((const struct entry *)left)->key, ((const struct entry *)right)->key);
}

static char *trimmed(char *text) {
    while (isspace((unsigned char)*text))
        text++;
    char *end = text + strlen(text);
    while (end > text && isspace((unsigned char)end[-1]))
        end--;
    *end = '\0';
    return text;
}

/* A later line takes the place of an earlier one, so that a scenario may change what it includes. */
static int add(char *key, char *value) {
    for (size_t i = 0; i < entry_count; i++)
        if (!strcmp(entries[i].key, key)) {
            char *copy = strdup(value);
            free(entries[i].value);
            entries[i].value = copy;
            return copy != NULL;
        }
    struct entry *grown = realloc(entries, (entry_count + 1) * sizeof *entries);
    if (!grown)
        return 0;
    entries = grown;
    entries[entry_count] = (struct entry){strdup(key), strdup(value)};
    entry_count++;
    return 1;
}

static int read_file(const char *path, int depth);

static int include(const char *from, const char *name, int depth) {
    char path[PATH_LENGTH];
    const char *slash = strrchr(from, '/');
    int folder = slash ? (int)(slash - from + 1) : 0;
    snprintf(path, sizeof path, "%.*s%s", folder, from, name);
    return depth < MAX_DEPTH && read_file(path, depth + 1);
}

static int read_file(const char *path, int depth) {
    FILE *file = fopen(path, "r");
    if (!file)
        return 0;
    char line[1024];
    int whole = 1;
    while (whole && fgets(line, sizeof line, file)) {
        char *comment = strchr(line, '#');
        if (comment)
            *comment = '\0';
        char *equals = strchr(line, '=');
        if (!equals)
            continue;
        *equals = '\0';
        char *key = trimmed(line), *value = trimmed(equals + 1);
        whole = strcmp(key, "include") ? add(key, value) : include(path, value, depth);
    }
    fclose(file);
    return whole;
}

int scenario_load(void) {
    if (entries)
        return SUCCESS;
    const char *path = getenv("DIAGNOSE_SIMULATION");
    if (!path || !read_file(path, 0) || !entries)
        return DRIVER_NOT_LOADED;
    qsort(entries, entry_count, sizeof *entries, by_key);
    return SUCCESS;
}

const char *scenario_value(const char *key) {
    struct entry wanted = {(char *)key, NULL};
    struct entry *found = entries ? bsearch(&wanted, entries, entry_count, sizeof *entries, by_key) : NULL;
    return found ? found->value : NULL;
}

static int failure(const char *value) {
    if (!value || *value != '!')
        return SUCCESS;
    for (size_t i = 0; i < sizeof statuses / sizeof *statuses; i++)
        if (!strcmp(value + 1, statuses[i].name)) {
            while (statuses[i].status == HANG)
                pause();
            return statuses[i].status;
        }
    return 999;
}

const char *status_name(int status) {
    for (size_t i = 0; i < sizeof statuses / sizeof *statuses; i++)
        if (statuses[i].status == status)
            return statuses[i].name;
    return NULL;
}

int scenario_call(const char *call) {
    char key[KEY_LENGTH];
    snprintf(key, sizeof key, "call.%s", call);
    return failure(scenario_value(key));
}

static int gpu_call(const struct device *gpu, const char *call) {
    char key[KEY_LENGTH];
    if (!gpu)
        return INVALID_ARGUMENT;
    int status = scenario_call(call);
    if (status != SUCCESS)
        return status;
    snprintf(key, sizeof key, "gpu.%d.call.%s", gpu->gpu, call);
    status = failure(scenario_value(key));
    if (status != SUCCESS)
        return status;
    snprintf(key, sizeof key, "gpu.%d", gpu->gpu);
    return failure(scenario_value(key));
}

static int found(const char *text, const char **value) {
    int status = failure(text);
    if (status != SUCCESS)
        return status;
    *value = text;
    return text ? SUCCESS : NOT_SUPPORTED;
}

int gpu_text(const struct device *gpu, const char *call, const char *key, const char **value) {
    char name[KEY_LENGTH];
    int status = gpu_call(gpu, call);
    if (status != SUCCESS)
        return status;
    snprintf(name, sizeof name, "gpu.%d.%s", gpu->gpu, key);
    const char *text = scenario_value(name);
    if (!text) {
        snprintf(name, sizeof name, "gpu.%s", key);
        text = scenario_value(name);
    }
    return found(text, value);
}

int link_text(const struct device *gpu, unsigned link, const char *call, const char *key, const char **value) {
    char name[KEY_LENGTH];
    int status = gpu_call(gpu, call);
    if (status != SUCCESS)
        return status;
    long long links;
    if (gpu_number(gpu, call, "links", &links) != SUCCESS)
        return NOT_SUPPORTED;
    if (link >= links)
        return INVALID_ARGUMENT;
    snprintf(name, sizeof name, "gpu.%d.link.%u.%s", gpu->gpu, link, key);
    const char *text = scenario_value(name);
    if (!text) {
        snprintf(name, sizeof name, "gpu.link.%u.%s", link, key);
        text = scenario_value(name);
    }
    if (text)
        return found(text, value);
    snprintf(name, sizeof name, "link.%s", key);
    return gpu_text(gpu, call, name, value);
}

int pair_text(const struct device *one, const struct device *other, const char *call, const char *key,
              const char **value) {
    char name[KEY_LENGTH];
    int status = gpu_call(one, call);
    if (status == SUCCESS)
        status = gpu_call(other, call);
    if (status != SUCCESS)
        return status;
    int low = one->gpu < other->gpu ? one->gpu : other->gpu;
    int high = one->gpu < other->gpu ? other->gpu : one->gpu;
    snprintf(name, sizeof name, "pair.%d-%d.%s", low, high, key);
    const char *text = scenario_value(name);
    if (!text) {
        snprintf(name, sizeof name, "pair.%s", key);
        text = scenario_value(name);
    }
    return found(text, value);
}

static long long scaled(const char *text, char **end) {
    static const char *const units[] = {"KiB", "MiB", "GiB"};
    long long number = strtoll(text, end, 0);
    for (int i = 0; i < 3; i++)
        if (!strncmp(*end, units[i], 3)) {
            *end += 3;
            return number << (10 * (i + 1));
        }
    return number;
}

/* A number, or where a value that wanders between two numbers is now. */
static long long number(const char *text, int phase) {
    char *end;
    long long first = scaled(text, &end);
    if (strncmp(end, "..", 2))
        return first;
    long long last = scaled(end + 2, &end);
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    double turn = ((double)now.tv_sec + (double)now.tv_nsec / 1e9) / WANDER_SECONDS + phase / 8.0;
    double part = turn - (double)(long long)turn;
    double height = part < 0.5 ? 2 * part : 2 - 2 * part;
    return first + (long long)((double)(last - first) * height);
}

int gpu_number(const struct device *gpu, const char *call, const char *key, long long *value) {
    const char *text;
    int status = gpu_text(gpu, call, key, &text);
    if (status == SUCCESS)
        *value = number(text, gpu->gpu);
    return status;
}

int link_number(const struct device *gpu, unsigned link, const char *call, const char *key, long long *value) {
    const char *text;
    int status = link_text(gpu, link, call, key, &text);
    if (status == SUCCESS)
        *value = number(text, gpu->gpu);
    return status;
}

int copy_text(char *buffer, unsigned length, const char *text) {
    if (!buffer || !text)
        return INVALID_ARGUMENT;
    if (strlen(text) >= length)
        return INSUFFICIENT_SIZE;
    strcpy(buffer, text);
    return SUCCESS;
}
