"""Takes passwords, tokens and keys out of command lines, environments, settings, logs and URLs.

Unlike names they get no stand-in each: nothing is ever joined by them.
"""

from __future__ import annotations

import re

from diagnose.bundle.gated import Gated, Piece

GONE = "REDACTED"

_KEY_BEGIN = re.compile(r"-----BEGIN (?:[A-Z0-9]+ )*PRIVATE KEY(?: BLOCK)?-----")
_LONGEST_KEY_LINES = 200
_KEY_END = re.compile(r"-----END (?:[A-Z0-9]+ )*PRIVATE KEY(?: BLOCK)?-----")

_SECRET_WORD = (
    r"pass(?:word|wd|phrase|code)|pwd|secret(?:[_-]?(?:access|key|id))*|api[_-]?key|apikey|auth[_-]?key|authkey"
    r"|access[_-]?key(?:[_-]?id)?|private[_-]?key|account[_-]?key|license[_-]?key|encryption[_-]?key|signing[_-]?key"
    r"|shared[_-]?access[_-]?signature|credentials?|client[_-]?secret|auth[_-]?token|session[_-]?(?:key|cookie)|cookie"
    r"|connection[_-]?string|\bdsn|token(?![a-z])"
)
_SECRET_HINTS = ("pass", "pwd", "secret", "key", "token", "credential", "cookie", "signature", "string", "dsn")
# What a tokenizer calls tokens, and how many there are, is no secret.
_NO_SECRET = re.compile(
    r"(?:pad|eos|bos|unk|sep|cls|mask|special|next|per|max|min|num|new|image|first|last|each|stop|output|input|prompt"
    r"|cached?|time[_-]?to[_-]?first|inter|decode|added|draft|bonus|sampled|ttft)[_-]?tokens?$",
    re.IGNORECASE,
)
# The word in front of a secret word is looked up afterwards: searching for it would cost the square of a line's length.
_FIELD = Gated(
    rf"(?P<key>(?:{_SECRET_WORD})[\w-]{{0,30}}?)(?P<between>\\?[\"']?\s*(?:[:=]>?|>)[ \t]*)"
    r"(?:(?P<quote>\\?[\"'])(?P<quoted>(?:(?!(?P=quote))[^\n]){0,4000})|(?P<bare>[^\s\"'<>\\]{1,4000}))",
    *_SECRET_HINTS,
    flags=re.IGNORECASE,
)
_UPPER_FIELD = Gated(
    r"(?P<key>\b[A-Z0-9_]{1,80}_(?:PASS|PW|PSW|AUTH|CREDS?|KEY))(?P<between>=)(?P<bare>[^\s\"'\\]+)",
    *("_pass=", "_pw=", "_psw=", "_auth=", "_cred", "_key="),
)
_OPTION = Gated(
    rf"(?P<key>(?<![\w-])--?[\w-]{{0,40}}?(?:{_SECRET_WORD}))(?P<between>[ \t]+|[\"'],\s*[\"'])"
    r"(?P<bare>(?!-)[^\s\"']+)",
    *_SECRET_HINTS,
    flags=re.IGNORECASE,
)
_PLACES = (
    Gated(r"(?P<before>[A-Za-z][A-Za-z0-9+.-]{1,20}://)[^\s/@\"'<>]{1,500}(?=@)", "://"),
    Gated(
        r"(?P<before>\b(?:Bearer|Basic|Token)[ \t]+)[A-Za-z0-9+/_.=~-]{16,}",
        *("bearer", "basic", "token"),
        flags=re.IGNORECASE,
    ),
    Gated(
        r"(?P<before>\b(?:(?:Proxy-)?Authorization|X-[\w-]{0,40}(?:Token|Key|Auth)[\w-]{0,20}|(?:Set-)?Cookie)"
        r"\\?[\"']?[ \t]*[:=][ \t]*\\?[\"']?)[^\n\"'\\]+",
        *("authorization", "x-", "cookie"),
        flags=re.IGNORECASE,
    ),
    Gated(r"(?P<before>\bipmi(?:tool|util|power|console)\b[^\n|;]{0,300}?\s-[PpK][ \t]*)[^\s\"']+", "ipmi"),
    Gated(r"(?P<before>\bredis-cli\b[^\n|;]{0,300}?\s-a[ \t]+)[^\s\"']+", "redis-cli"),
    Gated(r"(?P<before>\s-pass(?:in|out)?[ \t]+pass:)[^\s\"']+", "pass:"),
    Gated(r"(?P<before>\blogin[ \t]+\S{1,200}[ \t]+password[ \t]+)\S+", "login"),  # .netrc
    # Of container registries.
    Gated(r"(?P<before>\"auth\\?\"[ \t]*:[ \t]*\\?\")[A-Za-z0-9+/_-]{8,}={0,2}", 'auth"', 'auth\\"'),
    Gated(r"(?P<before>(?<![\w-])--[\w-]{1,40}-key[ \t]+)(?=\S{0,80}\d)[\w.+/=-]{8,}", "-key"),
    # Who knows the address of a web hook may write to it.
    Gated(
        r"(?P<before>\b(?:hooks\.slack\.com/services|discord(?:app)?\.com/api/webhooks)/)[\w/-]+", "slack", "discord"
    ),
    Gated(r"(?P<before>\bsshpass\s+-p[ \t]*)[\"']?[^\s\"']+", "sshpass"),
    Gated(r"(?P<before>\b(?:mysql|mysqldump|mariadb|mysqladmin)\b[^\n|;]{0,300}?\s-p)[^\s\"']+", "mysql", "mariadb"),
    Gated(
        r"(?P<before>\b(?:docker|podman|nerdctl|helm)\s+(?:registry\s+)?login\b[^\n|;]{0,300}?\s-p[ \t]+)\S+", " login"
    ),
    Gated(r"(?P<before>(?<![\w-])(?:-u|--user|--proxy-user)[ =]?[\"']?[^\s:@/\"']+:)[^\s\"'@]+", "-u", "-user"),
)
"""Places of a secret: what stands before it is group `before`, and it is all the rest."""
_SHAPES = Gated(
    r"(?<![A-Za-z0-9])(?:"
    r"eyJ[\w-]{8,}\.[\w-]{4,}(?:\.[\w-]*)?"  # JSON web token
    r"|(?:AKIA|ASIA|AGPA|AIDA|AROA|ANPA)[A-Z0-9]{16}"
    r"|gh[pousr]_\w{16,}|github_pat_\w{20,}|glpat-[\w-]{16,}|gl[a-z]{2,5}-[\w-]{20,}"
    r"|hf_[A-Za-z0-9]{16,}|api_org_[A-Za-z0-9]{16,}|nvapi-[\w-]{16,}|sk-[\w-]{16,}|[rs]k_(?:live|test)_\w{12,}"
    r"|xox[abeoprs]-[\w-]{10,}|AIza[\w-]{30,}|ya29\.[\w-]{20,}|npm_\w{30,}|pypi-[\w-]{30,}|dckr_pat_[\w-]{16,}"
    r"|dop_v1_\w{32,}|r8_\w{30,}|gsk_\w{30,}|tskey-[\w-]{16,}|hvs\.[\w-]{16,}"
    r"|AAAA[A-Za-z0-9+/]{40,}={0,3}|SHA256:[A-Za-z0-9+/]{43}=?"  # public keys and fingerprints name a person or host
    r"|\$(?:1|2[aby]|5|6|y|7|gy)\$[\w./$,=+-]{12,}"  # password hashes
    r")",
    *("eyj", "akia", "asia", "agpa", "aida", "aroa", "anpa", "ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_"),
    *("glpat-", "gl", "hf_", "api_org_", "nvapi-", "sk-", "k_live_", "k_test_", "xox", "aiza", "ya29.", "npm_"),
    *("pypi-", "dckr_pat_", "dop_v1_", "r8_", "gsk_", "tskey-", "hvs.", "aaaa", "sha256:", "$"),
)
_LIKELY_NUMBER = re.compile(
    r"[-+]?[\d.,_]+%?|0x[0-9a-f]+|true|false|null|none|nil|yes|no|n/a|<[^>]*>|\[[^\]]*\]", re.IGNORECASE
)
_WORD_BEFORE = re.compile(r"[\w-]+\Z")
_LOOK_BACK = 40
_PASSWORD_KEY = re.compile(r"pass|pwd|secret|key|credential", re.IGNORECASE)


class Credentials:
    """Redacts one file, piece by piece; a private key may go on from one piece to the next."""

    def __init__(self) -> None:
        self._within_key = False
        self._key_lines = 0

    def replace(self, piece: Piece) -> Piece:
        """The piece without its secrets."""
        piece = Piece(self._without_keys(piece.text), piece.lower)
        for place in _PLACES:
            piece = place.replace(lambda match: f"{match['before']}{GONE}", piece)
        piece = _SHAPES.replace(lambda _: GONE, piece)
        for field in (_FIELD, _UPPER_FIELD, _OPTION):
            piece = field.replace(_field, piece)
        return piece

    def _without_keys(self, text: str) -> str:
        if not self._within_key and "PRIVATE KEY" not in text:
            return text
        kept: list[str] = []
        at = 0
        while at < len(text):
            if self._within_key:
                end = _KEY_END.search(text, at)
                stop = end.start() if end else len(text)
                # A text that only mentions how keys begin must not lose all that follows.
                while (line_end := text.find("\n", at, stop)) >= 0 and self._key_lines < _LONGEST_KEY_LINES:
                    # Lines stay lines, so that what follows keeps its line numbers.
                    kept.append("\n")
                    self._key_lines += 1
                    at = line_end + 1
                over = self._key_lines >= _LONGEST_KEY_LINES
                at = at if over else stop
                self._within_key = end is None and not over
            else:
                begin = _KEY_BEGIN.search(text, at)
                kept.append(text[at : begin.end() if begin else len(text)])
                at = begin.end() if begin else len(text)
                if begin is not None:
                    kept.append(GONE)
                    self._within_key, self._key_lines = True, 0
        return "".join(kept)


def _field(match: re.Match[str]) -> str:
    found = match.groupdict()
    quoted = found.get("quoted")
    value = quoted if quoted is not None else match["bare"]
    before = _WORD_BEFORE.search(match.string, max(0, match.start() - _LOOK_BACK), match.start())
    key = (before[0] if before else "") + match["key"]
    if not value or value == GONE or _NO_SECRET.search(key) or key in ("PWD", "OLDPWD"):
        return match[0]
    if not _PASSWORD_KEY.search(key) and _LIKELY_NUMBER.fullmatch(value):
        return match[0]
    return f"{match['key']}{match['between']}{found.get('quote') or ''}{GONE}"
