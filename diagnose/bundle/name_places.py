"""Places where text says what is a host, a domain, an account or a serial number."""

from __future__ import annotations

import re
from collections.abc import Iterator
from enum import StrEnum
from typing import NamedTuple

from diagnose.bundle.gated import Gated

_HOST = r"(?P<name>[A-Za-z0-9](?:[\w.-]{0,250}[A-Za-z0-9])?)"
_DIGIT_HOST = r"(?P<name>(?=[\w.-]*[A-Za-z])(?=[\w.-]*\d)[A-Za-z0-9](?:[\w.-]{0,250}[A-Za-z0-9])?)"
_USER = r"(?P<name>[A-Za-z_][\w.-]{0,63})"
_STAMP = (
    r"(?:\w{3} +\d{1,2} \d\d:\d\d:\d\d(?:\.\d+)?(?: \d{4})?"
    r"|\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:[.,]\d+)?(?:Z|[+-]\d\d:?\d\d)?)"
)
_KEY_END = r"\\?[\"']?\s*[=:]\s*\\?[\"']?"


class NameKind(StrEnum):
    """What a name names."""

    HOST = "host"
    DOMAIN = "domain"
    USER = "user"
    SERIAL = "serial"


class Place(NamedTuple):
    """A pattern whose group `name` holds one name, or a list of them."""

    kind: NameKind
    pattern: Gated


def _place(
    kind: NameKind,
    pattern: str,
    *hints: str,
    flags: re.RegexFlag = re.NOFLAG,
    probe: re.Pattern[str] | None = None,
) -> Place:
    return Place(kind, Gated(pattern, *hints, flags=flags, probe=probe))


_I = re.IGNORECASE
_H, _U, _S, _D = NameKind.HOST, NameKind.USER, NameKind.SERIAL, NameKind.DOMAIN
_PROMPT = r"^(?:\|?(?:\([\w.-]+\) ?)*)\[?"
_PROMPT_REST = r"(?:[: ]\s?[~/][^\n$#%>]{0,200})?\]?\s?[$#%>](?:\s|$)"
_REMOTE = r"\b(?:ssh|scp|rsync|sftp|mosh)\b[^\n|;]{0,200}?[ \t]"
_LIST_ITEM = r"[A-Za-z][\w.-]*(?:\[[\d,-]+\][\w.-]*)?(?::\d+)?"
_LIST = rf"(?P<name>{_LIST_ITEM}(?:,{_LIST_ITEM})*)"
_FABRIC_DEVICE = r"(?:mlx\d+_\d+|HCA-\d+|hfi\d_\d+|bnxt_re\d+|ibp\w+|rdmap\w+)"

_LOGS_AND_TERMINALS = (
    _place(_H, rf"^\|?(?:<\d+>)?{_STAMP} {_HOST}(?= [\w./()@-]+(?:\[\d+\])?:(?: |$))", ": "),
    _place(_H, rf"{_PROMPT}[A-Za-z_][\w.-]*@{_HOST}(?={_PROMPT_REST})", "@"),
    _place(_U, rf"{_PROMPT}{_USER}(?=@[A-Za-z0-9][\w.-]*{_PROMPT_REST})", "@"),
    _place(_H, rf"^{_HOST}(?=:[~/]\S* (?:[A-Za-z_][\w.-]* ?)?[#$>](?: |$))", ":~", ":/"),
    _place(_U, rf"^[A-Za-z0-9][\w.-]*:[~/]\S* {_USER}(?= ?[#$](?: |$))", ":~", ":/"),
    _place(_H, rf"{_REMOTE}(?:[A-Za-z_][\w.-]*@){_HOST}", "@"),
    _place(_U, rf"{_REMOTE}{_USER}(?=@[A-Za-z0-9])", "@"),
    _place(_H, rf"^\|?Linux {_HOST} (?=\d+\.\d+)", "linux "),
    _place(_H, rf"\bPING {_HOST} \(", "ping "),
)
_SETTINGS_AND_TABLES = (
    _place(
        _H,
        rf"\b(?:(?:static |transient |remote[ _])?host[ _]?name|node[ _]?name|nodehostname|nodeaddr|slurmd_nodename"
        rf"|slurmctldhost|master_addr|fqdn|computer[ _]?name|kubernetes_node|exported_instance|system[ _]name"
        rf"|srchost|dsthost|batchhost){_KEY_END}{_HOST}",
        *("host", "node", "master_addr", "fqdn", "computer", "instance", "system"),
        flags=_I,
    ),
    _place(
        _H,
        rf"\b(?:host|node|server|machine|instance|peer|endpoint){_KEY_END}{_DIGIT_HOST}",
        flags=_I,
        probe=re.compile(r"(?:host|node|server|machine|instance|peer|endpoint)[\\\"']{0,2}\s*[=:]"),
    ),
    _place(_H, rf"\b(?:[A-Z0-9]+_)+HOST=[\"']?{_HOST}", "_host="),
    _place(_H, rf"\b(?:slurm_)?cluster_?name{_KEY_END}{_HOST}", "clustername", "cluster_name", flags=_I),
    _place(_H, r"name=\"HostName\" value=\"(?P<name>[^\"]+)\"", "hostname"),
    _place(
        _H,
        rf"(?:\b(?:slurm_\w{{0,20}}nodelist|nodelist|reqnodelist|excnodelist|nodename|nodes|hostlist|pbs_nodes|lsb_hosts)"
        rf"|--nodelist|--exclude)\s*[= ]\s*[\"']?{_LIST}",
        *("nodelist", "nodename", "nodes", "hostlist", "lsb_hosts", "--exclude"),
        flags=_I,
    ),
    _place(_H, rf"(?<![\w-])(?:--hosts?|-host|-H|--hostlist|-w)[ =]{_LIST}", "host", "-h", "-w"),
    _place(_H, rf"^{_HOST}[ \t]+(?:slots|max_slots|max-slots)\s*=\s*\d", "slots"),
    _place(
        _H,
        rf"\b(?:rdzv[_-]endpoint|master_addr|init_method|dist[_-]url|coordinator[_-]address)[= \"':]+(?:tcp://)?"
        rf"{_HOST}(?=:\d)",
        *("rdzv", "master_addr", "init_method", "dist", "coordinator"),
        flags=_I,
    ),
    _place(_H, rf"(?:kernel/hostname|etc/hostname)[^\n]*\n\|?{_HOST}$", "hostname"),
)
_FABRICS = (
    _place(_H, rf"^(?:\|?(?:\[?[\w,.<>]+\]?:? )?)?{_HOST}:\d+:\d+ \[\d+\] (?=NCCL )", " nccl "),
    _place(_H, rf"\bPid +\d+ on +{_HOST} device\b", " device"),
    _place(_H, rf"[\"']{_HOST} (?={_FABRIC_DEVICE}[\"'])", "mlx", "hca-", "hfi", "bnxt_re", " ibp", " rdmap"),
    _place(_H, rf"\bCA: {_HOST} (?={_FABRIC_DEVICE})", "ca: "),
    _place(_H, rf"\bMF0;{_HOST}:", "mf0;"),
    _place(_H, rf"\bNode[ _]?desc(?:ription)?[.: =\"]+{_HOST}(?= |$|\")", "desc", flags=_I),
    _place(_H, rf"node_desc[^\n]*\n\|?{_HOST}(?= |$)", "node_desc"),
)
_ACCOUNTS = (
    _place(
        _U, r"[/\\](?:home|Users|home\d)[/\\]+(?P<name>[A-Za-z0-9_][\w.-]*)", *("/home", "\\home", "/users", "\\users")
    ),
    _place(_U, r"%2[Ff]\0?home%2[Ff]\0?(?P<name>[A-Za-z0-9_][\w.-]*)", "%2f"),
    _place(
        _U,
        rf"(?<![A-Za-z0-9])(?:\w{{0,20}}_)?(?:user|logname|username|user_name|userid|owner|login|run_as|account_name)"
        rf"{_KEY_END}{_USER}",
        flags=_I,
        probe=re.compile(r"(?:user|user_?name|userid|logname|owner|login|run_as|account_name)[\\\"']{0,2}\s*[=:]"),
    ),
    _place(_U, rf"\b(?:uid|gid|auid|euid)=\d+\({_USER}\)", "id="),
    _place(_U, rf"(?<=[ ,])\d+\({_USER}\)(?=[, \n])", "groups="),
    _place(_U, rf"^\|?{_USER}:[x*!]?:(?:[1-9]\d{{3,}}):\d+:", ":"),
    _place(_U, r"^\|?[A-Za-z_][\w.-]*:[x*!]?:[1-9]\d{3,}:\d+:(?P<name>[^:,\n]+)", ":"),
    _place(_U, rf"\bfor (?:invalid )?user {_USER}", "user"),
    _place(_U, rf"\b(?:Accepted|Failed) [\w/-]+ for (?:invalid user )?{_USER} from\b", " for "),
    _place(_U, rf"\bCRON\[\d+\]: \({_USER}\) ", "cron["),
    _place(_U, rf"\bsession opened for user {_USER}", "session opened"),
    _place(_U, rf"\bby {_USER}(?=\(uid=\d)", "(uid="),
    _place(_U, rf"^\|?machine \S+ login {_USER}", "machine "),
    _place(_U, rf"\bsudo(?:\[\d+\])?: +{_USER} :", "sudo"),
    _place(_U, rf"^\|?{_USER} +(?:pts/\d+|tty\d+|:\d+) ", "pts/", "tty", " :"),
    _place(_U, rf"\bUserId={_USER}\(", "userid="),
    _place(_U, rf"\b(?:cn|uid|sAMAccountName)={_USER}(?=[,)\s])", "cn=", "uid=", "samaccountname="),
)
_SERIALS = (
    _place(
        _S,
        r"(?:serial(?:[ _-]?(?:number|num|no))?|service[ _]?tag|asset[ _]?tag|\bs/n|\b(?:vendor[ _])?sn|\[sn\]"
        r"(?: serial number)?|chassis[ _]?id|serial_string)\\?[\"']?\s*(?:[:=>]|\.{2,})\s*\\?[\"']?[./]?"
        r"(?P<name>[A-Za-z0-9][\w./-]{4,}(?<![./]))",
        *(
            "serial",
            "service tag",
            "servicetag",
            "service_tag",
            "asset",
            "s/n",
            "sn:",
            "sn ",
            "sn=",
            'sn"',
            "[sn]",
            "chassis",
        ),
        flags=_I,
    ),
    _place(
        _S,
        r"nvmlDeviceGet\w{0,40}Serial\w{0,40}\"[^\n]{0,300}?\"value\": *\"(?P<name>[A-Za-z0-9][\w.-]{4,})\"",
        "nvmldeviceget",
    ),
    _place(_S, r"^/dev/(?:ng|nvme)\S+ +(?:/dev/\S+ +)?(?P<name>[A-Z0-9][A-Z0-9_-]{7,19})(?= )", "/dev/n"),
    _place(_S, r"\b(?:wwn-|naa\.|eui\.)(?P<name>(?:0x)?[0-9a-f]{16,32})(?![0-9a-z])", "wwn-", "naa.", "eui."),
    _place(_S, r"\b(?:nvme|ata|scsi|wwn|usb)-\w+[_-](?P<name>[A-Z0-9]{10,20})(?=\W|_|$)", "by-id"),
)
_DOMAINS = (
    _place(_D, r"\b(?:dc|DC)=(?P<name>[A-Za-z0-9][\w.-]*)", "dc="),
    _place(_D, r"^\|?(?:search|domain)[ \t]+(?P<name>[A-Za-z0-9][\w.-]*\.[\w.-]*[A-Za-z])", "search", "domain"),
    _place(
        _D,
        rf"\b(?:dns[ _]?)?domain(?:[ _]?name)?{_KEY_END}(?P<name>[A-Za-z0-9][\w-]*(?:\.[\w-]+)+)",
        "domain",
        flags=_I,
    ),
)
PLACES: tuple[Place, ...] = (
    *(*_LOGS_AND_TERMINALS, *_SETTINGS_AND_TABLES, *_FABRICS),
    *(*_ACCOUNTS, *_SERIALS, *_DOMAINS),
)
_HOSTS_LINE = re.compile(
    r"^\|?(?:\d{1,3}(?:\.\d{1,3}){3}|(?=[0-9A-Fa-f]{0,4}:)[0-9A-Fa-f:]{2,45})[ \t]+(?P<names>[A-Za-z0-9][\w. \t-]*)"
)
_BRACKETS = re.compile(r"^(?P<front>[A-Za-z][\w.-]*)\[(?P<ranges>[\d,-]+)\](?P<back>[\w.-]*)$")
_RANGE_LIMIT = 10_000


def expand_list(text: str) -> Iterator[str]:
    """Hosts of `gpu[01-03,07],login1:8`."""
    for item in re.findall(r"[^,\[]+(?:\[[^\]]*\][^,]*)?", text):
        item = re.sub(r":\d+$", "", item)
        match = _BRACKETS.match(item)
        if match is None:
            yield item
            continue
        count = 0
        for part in match["ranges"].split(","):
            first, _, last = part.partition("-")
            for number in range(int(first or 0), int(last or first or 0) + 1):
                count += 1
                if count > _RANGE_LIMIT:
                    return
                yield f"{match['front']}{number:0{len(first)}d}{match['back']}"


def hosts_file_names(lines: list[str]) -> Iterator[str]:
    """Names in lines of /etc/hosts."""
    for line in lines:
        match = _HOSTS_LINE.match(line)
        if match is not None:
            yield from match["names"].split()
