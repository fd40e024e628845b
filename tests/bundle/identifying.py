"""One invented machine with its people, and every way in which text may name them."""

from __future__ import annotations

HOSTS = ("gpu-a17", "trainbox", "leaf-sw-03", "nvl72-r4", "stor-west2")
DOMAIN = "lab7.wolkenfels.de"
USERS = ("mzander", "okonkwo.j", "ravi_k")
FULL_NAME = "Marlene Zander"
IPV4 = ("10.21.33.17", "172.19.4.250", "192.168.77.8", "131.220.9.44")
IPV4_NAMED = "ip-10-21-44-9"
IPV6 = ("2a02:2454:98ab:1::17", "fe80::ba59:9fff:fe3a:77c1", "2001:638:a1f:0:0:0:77:9", "fd12:3456:789a::5")
GID_OF_IPV4 = "0000:0000:0000:0000:0000:ffff:0a15:2111"
MAC = ("b8:59:9f:3a:77:c1", "B8-59-9F-3A-77-C2", "b859.9f3a.77c3", "b8599f3a77c4")
INTERFACE_BY_MAC = "enxb8599f3a77c5"
IPOIB = "00:00:10:29:fe:80:00:00:00:00:00:00:50:6b:4b:03:00:c1:d2:e9"
GUIDS = ("506b4b0300c1d2e7", "506b4b0300c1d2e8", "e8ebd303004a5b6c")
UUIDS = ("3f1c2a9e-77b0-4d1e-9a55-0c6d1f2e3b4a", "a81b6e02-5c9d-4f77-8b13-6f0e9d8c7b6a")
MACHINE_ID = "5f0b9d3c7a1e4c2f8b6d4e2a1c3f5b7d"
SERIALS = ("1652421017733", "S4YNNX0N801309", "MT2045VS01234", "J7W2Z93", "C02XK1J8JHD3")
SECRETS = (
    "hunter2-Kugelblitz",
    "tr0ub4dor&3",
    "wJalrXUtnFEMI/K7MDENG/bPxRfiCYzzTESTKEY1",
    "AKIAQ7Z5WFXNM2TESTXY",
    "ghp_a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8",
    "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",
    "nvapi-Zk3xTestTestTestTest0123456789",
    "glpat-Xy12Zw34Ab56Cd78Ef90",
    "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiJ6YW5kZXIifQ.q1w2e3r4t5y6",
    "xoxb-123456789012-abcdefTEST",
    "Zm9vYmFyYmF6cXV4Zm9vYmFyYmF6",
    "MIIEvTESTKEYBODYQIBADANBgkqhkiG9w0BAQEFAASC",
    "b1gS3cretIpmi",
    "c9f1e8d7b6a5c4d3e2f1a0b9c8d7e6f5a4b3c2d1",
)

FILES: dict[str, str] = {
    "manifest.json": """{
 "schema": "diagnose.bundle/1",
 "tool_version": "0.1.0",
 "host": "gpu-a17",
 "started_at": "2026-03-01T10:00:00Z",
 "ended_at": "2026-03-01T10:01:00Z",
 "privileges": {"user": "mzander", "root": false},
 "redacted": false,
 "recorders": [{"name": "nvml", "status": "done", "seconds": 1.5, "files": ["nvml/gpu-0.jsonl"]},
               {"name": "journal", "status": "partial", "seconds": 2, "lacked": ["/home/ravi_k/x needs root"]}]
}
""",
    "logs/messages-gpu-a17.log": """\
Mar  1 10:00:01 gpu-a17 kernel: NVRM: Xid (PCI:0000:9b:00): 79, pid=41220, name=train, GPU has fallen off the bus.
Mar  1 10:00:02 gpu-a17 sshd[812]: Accepted publickey for okonkwo.j from 131.220.9.44 port 50022 ssh2: \
RSA SHA256:uNiVztksCsDhcc0u9e8BrD5Jk7Xh2Yw3Zt4Qm1Pq0aA
Mar  1 10:00:03 gpu-a17 sudo[900]:  ravi_k : TTY=pts/0 ; PWD=/home/ravi_k/run ; USER=root ; COMMAND=/usr/bin/dmesg
2026-03-01T10:00:04+01:00 trainbox systemd[1]: Started getty@tty1.service for mzander.
Mar  1 10:00:05 gpu-a17 kernel: mlx5_core 0000:17:00.0 ens1f0np0: Link up, peer 10.21.33.17, GUID 0x506b4b0300c1d2e7
Mar  1 10:00:06 gpu-a17 NetworkManager[1]: device (enxb8599f3a77c5): mac B8-59-9F-3A-77-C2 lladdr:b8:59:9f:3a:77:c1
Mar  1 10:00:07 gpu-a17 nslcd[77]: ldap bind cn=mzander,dc=lab7 on ldap.lab7.wolkenfels.de failed
""",
    "etc/hosts": """\
127.0.0.1 localhost
10.21.33.17 gpu-a17.lab7.wolkenfels.de gpu-a17
192.168.77.8\tstor-west2 # data
fd12:3456:789a::5 nvl72-r4
""",
    "etc/resolv.conf": "search lab7.wolkenfels.de\nnameserver 172.19.4.250\n",
    "etc/passwd": "root:x:0:0:root:/root:/bin/bash\nmzander:x:1004:100:Marlene Zander,,,:/home/mzander:/bin/bash\n",
    "terminal.txt": """\
mzander@gpu-a17:~$ nvidia-smi -L
GPU 0: NVIDIA H100 80GB HBM3 (UUID: GPU-3f1c2a9e-77b0-4d1e-9a55-0c6d1f2e3b4a)
  MIG 1g.10gb Device 0: (UUID: MIG-a81b6e02-5c9d-4f77-8b13-6f0e9d8c7b6a)
[root@gpu-a17 ~]# ssh ravi_k@trainbox uptime
mzander@gpu-a17:~$ export HF_TOKEN=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 CUDA_VISIBLE_DEVICES=GPU-3f1c2a9e
mzander@gpu-a17:~$ ipmitool -I lanplus -H 172.19.4.250 -U admin -P b1gS3cretIpmi sel list
mzander@gpu-a17:~$ curl -u okonkwo.j:hunter2-Kugelblitz https://okonkwo.j:hunter2-Kugelblitz@git.lab7.wolkenfels.de/x
mzander@gpu-a17:~$ train --password tr0ub4dor&3 --api-key=c9f1e8d7b6a5c4d3e2f1a0b9c8d7e6f5a4b3c2d1 --max-tokens 4096
mzander@gpu-a17:~$ cat /sys/class/net/eth0/address
b8:59:9f:3a:77:c1
mzander@gpu-a17:~$ ip addr
    link/ether b8:59:9f:3a:77:c1 brd ff:ff:ff:ff:ff:ff
    link/infiniband 00:00:10:29:fe:80:00:00:00:00:00:00:50:6b:4b:03:00:c1:d2:e9 brd 00:ff:ff
    inet 10.21.33.17/24 brd 10.21.33.255 scope global ens1f0np0
    inet6 fe80::ba59:9fff:fe3a:77c1/64 scope link
    inet6 2a02:2454:98ab:1::17/64 scope global
    inet6 2001:638:a1f:0:0:0:77:9/64 scope global
mzander@gpu-a17:~$ squeue
JOBID PARTITION NAME USER ST TIME NODES NODELIST(REASON)
4711 batch llm okonkwo.j R 10:00 4 gpu-a[17-20]
""",
    "environ.json": """\
{"pid": 41220, "user": "okonkwo.j", "cmdline": ["python", "/home/okonkwo.j/train.py", \
"--token", "glpat-Xy12Zw34Ab56Cd78Ef90"],
 "environ": {"AWS_SECRET_ACCESS_KEY": "wJalrXUtnFEMI/K7MDENG/bPxRfiCYzzTESTKEY1", \
"AWS_ACCESS_KEY_ID": "AKIAQ7Z5WFXNM2TESTXY",
 "GITHUB_TOKEN": "ghp_a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8", "NGC_API_KEY": "nvapi-Zk3xTestTestTestTest0123456789",
 "WANDB_API_KEY": "c9f1e8d7b6a5c4d3e2f1a0b9c8d7e6f5a4b3c2d1", "SLACK": "xoxb-123456789012-abcdefTEST",
 "NCCL_SOCKET_IFNAME": "ens1f0np0", "MASTER_ADDR": "gpu-a17.lab7.wolkenfels.de", "OMP_NUM_THREADS": "8",
 "LOG": "line\\ngpu-a17 said\\tmzander\\n10.21.33.17", "URL": "http%3A%2F%2Fgpu-a17%2Fhome%2Fravi_k%2F"}}
Authorization: Bearer eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiJ6YW5kZXIifQ.q1w2e3r4t5y6
Authorization: Basic Zm9vYmFyYmF6cXV4Zm9vYmFyYmF6
-----BEGIN RSA PRIVATE KEY-----
MIIEvTESTKEYBODYQIBADANBgkqhkiG9w0BAQEFAASC
-----END RSA PRIVATE KEY-----
contact: m.zander@lab7.wolkenfels.de, mzander@wolkenfels.de
""",
    "nvidia-smi-q.txt": """\
==============NVSMI LOG==============
Driver Version                            : 550.54.15
CUDA Version                              : 12.4
Attached GPUs                             : 1
GPU 00000000:9B:00.0
    Product Name                          : NVIDIA H100 80GB HBM3
    Serial Number                         : 1652421017733
    GPU UUID                              : GPU-3f1c2a9e-77b0-4d1e-9a55-0c6d1f2e3b4a
    VBIOS Version                         : 96.00.74.00.01
    Platform Info
        Chassis Serial Number             : C02XK1J8JHD3
""",
    "query.csv": """\
index, uuid, serial, pci.bus_id, temperature.gpu
0, GPU-3f1c2a9e-77b0-4d1e-9a55-0c6d1f2e3b4a, 1652421017733, 00000000:9B:00.0, 45
""",
    "nvml/gpu-0.jsonl": """\
{"call": "nvmlDeviceGetSerial", "args": ["gpu"], "index": 0, "t": 1764500000.1, "value": "1652421017733"}
{"call": "nvmlDeviceGetUUID", "args": ["gpu"], "index": 0, "t": 1764500000.2, \
"value": "GPU-3f1c2a9e-77b0-4d1e-9a55-0c6d1f2e3b4a"}
""",
    "dmidecode.txt": """\
System Information
\tManufacturer: Supermicro
\tSerial Number: J7W2Z93
\tUUID: 3F1C2A9E-77B0-4D1E-9A55-0C6D1F2E3B4A
Chassis Information
\tAsset Tag: J7W2Z93
""",
    "fabric.txt": """\
Ca	1 "H-506b4b0300c1d2e7"		# "gpu-a17 mlx5_0"
switchguid=0xe8ebd303004a5b6c(e8ebd303004a5b6c)
Switch	65 "S-e8ebd303004a5b6c"		# "MF0;leaf-sw-03:MQM9700/U1" enhanced port 0 lid 1 lmc 0
[1](506b4b0300c1d2e8) 	"H-506b4b0300c1d2e8"[1] (506b4b0300c1d2e8) 		# "nvl72-r4 mlx5_3" lid 5 4xNDR
CA 'mlx5_0'
	Node GUID: 0x506b4b0300c1d2e7
	System image GUID: 0x506B4B0300C1D2E7
		Port GUID: 0x506b4b0300c1d2e8
		node_guid:		506b:4b03:00c1:d2e7
	GID[  0]:		fe80:0000:0000:0000:506b:4b03:00c1:d2e8, RoCE v1
	GID[  3]:		0000:0000:0000:0000:0000:ffff:0a15:2111, RoCE v2
	Vendor SN : MT2045VS01234
/dev/nvme0n1          S4YNNX0N801309       SAMSUNG MZQL2960HCJR-00A07
arp 192.168.77.8 b859.9f3a.77c3 mac_address: b8599f3a77c4
machine-id 5f0b9d3c7a1e4c2f8b6d4e2a1c3f5b7d
aws host ip-10-21-44-9
""",
    "tcp.txt": """\
  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode
   1: 1121150A:0016 084DA8C0:C351 01 00000000:00000000 02:000A1B2C 00000000     0        0 12345
""",
    "nccl.log": """\
gpu-a17:41220:41305 [0] NCCL INFO NET/Socket : Using [0]ens1f0np0:10.21.33.17<0> [1]ib0:fe80::ba59:9fff:fe3a:77c1%ib0<0>
gpu-a17:41220:41305 [0] NCCL WARN socketFinalizeConnect: Connect to 10.21.33.17<56821> failed : Connection refused
gpu-a17:41220:41305 [0] NCCL INFO cudaDriverVersion 12040 NCCL version 2.21.5+cuda12.4
""",
    "recorded/tree.txt": """\
=== recorded tree 1: host
=== proc/sys/kernel/hostname
|gpu-a17
=== sys/class/infiniband/mlx5_0/node_guid
|506b:4b03:00c1:d2e7
=== sys/class/infiniband/mlx5_0/node_desc
|gpu-a17 mlx5_0
=== sys/class/net/ens1f0np0/address
|b8:59:9f:3a:77:c1
""",
    "home-mzander/gpu-a17.lab7.wolkenfels.de_10.21.33.17.txt": "10.21.33.17 is gpu-a17\n",
}

KEPT = (
    "0000:9b:00",
    "0000:17:00.0",
    "00000000:9B:00.0",
    "550.54.15",
    "96.00.74.00.01",
    "2.21.5+cuda12.4",
    "ens1f0np0",
    "mlx5_0",
    "127.0.0.1 localhost",
    "NVIDIA H100 80GB HBM3",
    "ff:ff:ff:ff:ff:ff",
    "10:00:01",
    "--max-tokens 4096",
    "<56821>",
    "MQM9700",
    "getty@tty1.service",
    "OMP_NUM_THREADS",
    "Supermicro",
)


def forbidden() -> set[str]:
    """Everything that must not be in a redacted bundle, in lower case."""
    words = {
        *HOSTS,
        *USERS,
        *IPV4,
        *IPV6,
        *MAC,
        *GUIDS,
        *UUIDS,
        *SERIALS,
        *SECRETS,
        *("wolkenfels", "lab7", "marlene", FULL_NAME, "gpu-a[17", "gpu-a18", "m.zander"),
        *(MACHINE_ID, IPV4_NAMED, GID_OF_IPV4, "b8599f3a77c5", "1121150a", "084da8c0", "0a15:2111"),
        *("50:6b:4b:03:00:c1:d2:e9", "506b:4b03:00c1:d2e7", "506b:4b03:00c1:d2e8", "3f1c2a9e", "uNiVztksCsDhcc0u9e8Br"),
    }
    return {word.lower() for word in words}
