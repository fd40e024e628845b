"""Words that are never taken for names of hosts or people wherever they stand, even where someone is called so.

A machine named `gpu` or an account named `data` is replaced where the text says that it is one, and only there:
elsewhere the word means what it means to everybody, and diagnosis needs it.
"""

from __future__ import annotations

import re
from functools import cache

from collectors.registry import BLOCK_COLLECTORS, LINE_COLLECTORS
from diagnose.resources import bundled


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


SYSTEM_ACCOUNTS = _words(
    """
    root nobody daemon bin sys adm admin administrator sync games man lp mail news uucp proxy www-data backup list
    irc sshd ntp chrony dbus messagebus polkitd syslog systemd-network systemd-resolve systemd-timesync ubuntu
    debian centos rocky fedora ec2-user azureuser opc core vagrant nvidia nvidia-persistenced slurm munge postgres
    mysql redis nginx docker git jenkins prometheus node_exporter dcgm tss rpc rpcuser nfsnobody unknown user me
    self
    """
)
"""Accounts that come with systems and programs; they name nobody."""
NO_HOSTS = _words(
    """
    localhost localhost4 localhost6 localdomain ip6-localhost ip6-loopback ip6-allnodes ip6-allrouters
    broadcasthost none null n/a unknown hostname host kernel systemd default info warning warn error debug
    critical fatal notice trace
    """
)
KNOWN_DOMAINS = _words(
    """
    nvidia.com mellanox.com intel.com amd.com dell.com hpe.com lenovo.com supermicro.com broadcom.com github.com
    githubusercontent.com gitlab.com kernel.org ubuntu.com centos.org redhat.com fedoraproject.org
    rockylinux.org almalinux.org opensuse.org suse.com oracle.com canonical.com launchpad.net python.org pytorch.org
    k8s.io kubernetes.io
    huggingface.co open-mpi.org openmpi.org freedesktop.org gnu.org microsoft.com google.com googleapis.com
    sourceforge.net w3.org apache.org prometheus.io grafana.com wandb.ai vmware.com ietf.org ucw.cz openssh.com
    libvirt.org linuxfoundation.org openfabrics.org schedmd.com systemd.io
    """
)
"""Domains of vendors and projects, which tell nothing about who made a recording."""
_MORE = _words(
    """
    data test tests train training model models user users home work scratch share shared public private project
    projects team group lab labs research dev devel prod production staging service services server client admin
    software tools apps local master worker head login compute storage gateway main python conda miniconda anaconda
    cache logs log temp backup demo example sample batch queue job jobs run runs bench benchmark image images video
    audio text code build release stable nightly latest current linux windows centos ubuntu debian redhat fedora
    cuda nvidia mellanox intel amd dell lenovo supermicro hpe gigabyte asus torch pytorch tensorflow jax numpy vllm
    sglang triton ray slurm kubernetes docker container containerd podman singularity apptainer true false error
    warning info debug fatal start stop begin end open close read write send recv init exit done fail failed pass
    passed active inactive enabled disabled running stopped unknown other others total average
    """
)
_DEVICE = re.compile(
    r"(?:mlx\d+_|mlx|eth|ib|ibp|ens|enp|eno|wlan|bond|br|veth|docker|lo|virbr|usb|vlan|nvme|sd[a-z]|dm-|md|loop|tty|pts"
    r"|cpu|core|gpu|nvidia|nvswitch|nvlink|rank|numa|node|nic|port|link|pci|irq|hfi\d_|bnxt_re|efa|rdmap|cuda|sm_?"
    r"|fp|bf|int|uint|nvfp|mxfp|[abhltv]|gb|gh|rtx|x|v|py|cu|cp|step|epoch|iter|worker|layer|stage|rail|channel|ring)"
    r"[-_ ]?\d{1,4}(?:[a-z_]\d{0,3})?s?",
    re.IGNORECASE,
)


@cache
def common_words() -> frozenset[str]:
    """All of them, in lower case: those above, and those that rules and formats of files are written in."""
    words: set[str] = set(_MORE | NO_HOSTS)
    for collector in (*BLOCK_COLLECTORS, *LINE_COLLECTORS):
        for literal in collector.literals:
            words |= set(re.findall(r"[a-z][a-z-]+", literal.decode("utf-8", "replace").lower()))
    for path in bundled("rules").rglob("*.yaml"):
        words |= set(re.findall(r"\b[a-z][a-z-]{2,}\b", path.read_text(encoding="utf-8").lower()))
    return frozenset(words)


def is_common(name: str) -> bool:
    """Whether the name, outside the places that call it one, more likely means something else."""
    lower = name.lower()
    return len(lower) < 3 or lower.isdigit() or lower in common_words() or lower in SYSTEM_ACCOUNTS


def names_a_device(name: str) -> bool:
    """Whether a host's name could as well be one of a device: `gpu1`, `node0`. Such a name is matched as it is written,
    without regard to upper and lower case of its own."""
    return _DEVICE.fullmatch(name) is not None
