/* Calls about what joins GPUs: NVLink, the fabric, paths between pairs. */

#include "scenario.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int link_unsigned(struct device *gpu, unsigned link, const char *call, const char *key, unsigned *out) {
    long long value;
    int status = link_number(gpu, link, call, key, &value);
    if (status == SUCCESS)
        *out = (unsigned)value;
    return status;
}

EXPORT int nvmlDeviceGetNvLinkState(struct device *gpu, unsigned link, unsigned *active) {
    return link_unsigned(gpu, link, __func__, "state", active);
}

EXPORT int nvmlDeviceGetNvLinkVersion(struct device *gpu, unsigned link, unsigned *version) {
    return link_unsigned(gpu, link, __func__, "version", version);
}

EXPORT int nvmlDeviceGetNvLinkRemoteDeviceType(struct device *gpu, unsigned link, unsigned *type) {
    return link_unsigned(gpu, link, __func__, "remote_type", type);
}

EXPORT int nvmlDeviceGetNvLinkErrorCounter(struct device *gpu, unsigned link, unsigned kind,
                                           unsigned long long *count) {
    static const char *const keys[] = {"replays", "recoveries", "crc_flit", "crc_data", "ecc_data"};
    return kind < 5 ? link_number(gpu, link, __func__, keys[kind], (long long *)count) : INVALID_ARGUMENT;
}

EXPORT int nvmlDeviceGetNvLinkRemotePciInfo_v2(struct device *gpu, unsigned link, struct pci_info *info) {
    const char *text;
    int status = link_text(gpu, link, __func__, "remote", &text);
    if (status != SUCCESS)
        return status;
    memset(info, 0, sizeof *info);
    sscanf(text, "%x:%x:%x", &info->domain, &info->bus, &info->device);
    return copy_text(info->bus_id, sizeof info->bus_id, text);
}

struct fabric {
    unsigned state, clique, status, health_mask;
};

static int fabric_of(struct device *gpu, const char *call, struct fabric *fabric) {
    long long state, clique = 0, result = 0, mask = 0;
    int status = gpu_number(gpu, call, "fabric.state", &state);
    if (status != SUCCESS)
        return status;
    gpu_number(gpu, call, "fabric.clique", &clique);
    gpu_number(gpu, call, "fabric.status", &result);
    gpu_number(gpu, call, "fabric.health_mask", &mask);
    *fabric = (struct fabric){(unsigned)state, (unsigned)clique, (unsigned)result, (unsigned)mask};
    return SUCCESS;
}

EXPORT int nvmlDeviceGetGpuFabricInfo(struct device *gpu, struct fabric_info *info) {
    struct fabric fabric;
    int status = fabric_of(gpu, __func__, &fabric);
    if (status == SUCCESS)
        *info = (struct fabric_info){{0}, (int)fabric.status, fabric.clique, fabric.state};
    return status;
}

EXPORT int nvmlDeviceGetGpuFabricInfoV(struct device *gpu, struct fabric_info_v *info) {
    struct fabric fabric;
    int status = fabric_of(gpu, __func__, &fabric);
    if (status == SUCCESS)
        *info = (struct fabric_info_v){info->version,  {0},          (int)fabric.status,
                                       fabric.clique, fabric.state, fabric.health_mask};
    return status;
}

EXPORT int nvmlDeviceGetTopologyCommonAncestor(struct device *one, struct device *other, unsigned *level) {
    static const struct {
        const char *name;
        unsigned level;
    } levels[] = {{"INTERNAL", 0}, {"PIX", 10}, {"PXB", 20}, {"PHB", 30}, {"NODE", 40}, {"SYS", 50}};
    const char *text;
    int status = pair_text(one, other, __func__, "topology", &text);
    if (status != SUCCESS)
        return status;
    for (size_t i = 0; i < sizeof levels / sizeof *levels; i++)
        if (!strcmp(text, levels[i].name)) {
            *level = levels[i].level;
            return SUCCESS;
        }
    return NOT_SUPPORTED;
}

EXPORT int nvmlDeviceGetP2PStatus(struct device *one, struct device *other, unsigned operation, unsigned *access) {
    static const char *const keys[] = {"p2p.read", "p2p.write", "p2p.nvlink", "p2p.atomics", "p2p.pcie"};
    const char *text;
    if (operation > 4)
        return INVALID_ARGUMENT;
    int status = pair_text(one, other, __func__, keys[operation], &text);
    if (status == SUCCESS)
        *access = (unsigned)atoi(text);
    return status;
}
