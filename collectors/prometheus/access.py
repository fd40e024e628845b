"""How a Prometheus server is reached: its address, and what it asks for before it answers."""

from __future__ import annotations

import ssl
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import unquote, urlsplit, urlunsplit

import httpx


class PrometheusError(Exception):
    """Why nothing can be read, as a sentence with its cure. Never holds a secret."""


@dataclass(frozen=True, slots=True)
class Access:
    """Where the server is and how one proves who one is; secrets stay in files."""

    url: str
    bearer_token_file: Path | None = None
    user: str | None = None
    password_file: Path | None = None
    ca_file: Path | None = None
    insecure: bool = False
    timeout_seconds: float = 60.0

    @property
    def shown_url(self) -> str:
        """The address without user and password, as reports show it."""
        parts = urlsplit(self.url)
        host = parts.hostname or ""
        host = f"[{host}]" if ":" in host else host
        port = f":{parts.port}" if parts.port is not None else ""
        return urlunsplit((parts.scheme, host + port, parts.path.rstrip("/"), "", ""))

    def client(self) -> httpx.Client:
        """A client that is ready to ask. Raises PrometheusError where address, files or certificates are no good."""
        try:
            parts = urlsplit(self.url)
            port_is_fine = parts.port is None or parts.port > 0
        except ValueError:
            port_is_fine = False
        if not port_is_fine or parts.scheme not in ("http", "https") or not parts.hostname:
            raise PrometheusError("the address of Prometheus is written like https://prometheus.example:9090")
        headers = {"Accept": "application/json", "User-Agent": "diagnose"}
        auth: httpx.Auth | None = None
        if self.bearer_token_file is not None:
            token = _secret(self.bearer_token_file)
            if not token or any(ord(letter) < 33 or ord(letter) > 126 for letter in token):
                raise PrometheusError(f"{self.bearer_token_file} holds no token: one line of letters, digits and signs")
            headers["Authorization"] = f"Bearer {token}"
        elif self.user is not None:
            auth = httpx.BasicAuth(self.user, _secret(self.password_file) if self.password_file is not None else "")
        elif parts.username is not None:
            auth = httpx.BasicAuth(unquote(parts.username), unquote(parts.password or ""))
        trust = self._trust()
        try:
            return httpx.Client(
                base_url=self.shown_url,
                headers=headers,
                auth=auth,
                verify=trust,
                timeout=httpx.Timeout(self.timeout_seconds, connect=10.0),
            )
        except httpx.InvalidURL as error:
            raise PrometheusError(f"the address of Prometheus cannot be used: {error}") from None
        except (ImportError, ValueError) as error:
            # What the environment names, such as a SOCKS proxy.
            raise PrometheusError(f"the proxy that HTTP_PROXY or ALL_PROXY names cannot be used: {error}") from None

    def _trust(self) -> ssl.SSLContext | bool:
        if self.insecure:
            return False
        try:
            return ssl.create_default_context(cafile=str(self.ca_file) if self.ca_file is not None else None)
        except (OSError, ssl.SSLError) as error:
            raise PrometheusError(f"{self.ca_file} cannot be used as a CA: {error}") from None


def _secret(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is no text"
        raise PrometheusError(f"{path} cannot be read: {reason}") from None
