"""What goes wrong, told in words: against a real server where it can be made to, else against one that plays it."""

from __future__ import annotations

import contextlib
import http.server
import json
import ssl
import subprocess
import threading
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs

import pytest

from collectors.prometheus.access import Access, PrometheusError
from collectors.prometheus.api import PrometheusApi
from tests.collectors.prometheus.conftest import END, START
from tests.collectors.prometheus.server import Recorded, free_port, programs, prometheus

Answer = tuple[int, str]
TOKEN = "s3cret-token-value"
# Of the password `correct horse`, by bcrypt with the fewest rounds.
HASH = "$2b$04$9LtXJ6v4o4dBm1iDCe3yOeXo5myc2mQyKwwnEaqmIF.NTVF54Aw5u"


def answer(data: Any) -> Answer:
    return 200, json.dumps({"status": "success", "data": data})


def error(status: int, kind: str, words: str) -> Answer:
    return status, json.dumps({"status": "error", "errorType": kind, "error": words})


VECTOR = answer({"resultType": "vector", "result": [{"metric": {"__name__": "up"}, "value": [END, "1"]}]})


@contextlib.contextmanager
def playing(
    answers: Callable[[str, dict[str, list[str]]], Answer],
    tls: Path | None = None,
    headers: Mapping[str, str] | None = None,
) -> Iterator[str]:
    """A server whose answers are given by path and parameters."""

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            form = self.rfile.read(int(self.headers.get("Content-Length", 0))).decode()
            status, body = answers(self.path, {**parse_qs(form), "authorization": [self.headers["Authorization"]]})
            self.send_response(status)
            for name, value in (headers or {}).items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(body.encode())))
            self.end_headers()
            self.wfile.write(body.encode())

        def do_GET(self) -> None:
            self.do_POST()

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the base class names it so
            pass

    listening = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    if tls is not None:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(tls / "cert.pem", tls / "key.pem")
        listening.socket = context.wrap_socket(listening.socket, server_side=True)
    thread = threading.Thread(target=listening.serve_forever, args=(0.05,))
    thread.start()
    try:
        yield f"http{'s' if tls else ''}://127.0.0.1:{listening.server_address[1]}"
    finally:
        listening.shutdown()
        thread.join()
        listening.server_close()


def ask(access: Access) -> float:
    with PrometheusApi(access, pause=lambda _: None) as api:
        return float(api.last("up", START, END)[0].values[0])


def refusal(access: Access) -> str:
    with pytest.raises(PrometheusError) as caught:
        ask(access)
    return str(caught.value)


def test_nothing_listens() -> None:
    sentence = refusal(Access(f"http://127.0.0.1:{free_port()}"))
    assert "connection refused" in sentence


def test_no_host_of_that_name() -> None:
    assert "there is no host of that name" in refusal(Access("http://prometheus.invalid:9090"))


@pytest.mark.parametrize("url", ["prometheus:9090", "ftp://x", "http://", "http://x:port", "http://[::1", "x"])
def test_an_address_that_is_none(url: str) -> None:
    assert "is written like https://" in refusal(Access(url))


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ((401, "Unauthorized"), "--bearer-token-file"),
        ((403, ""), "--bearer-token-file"),
        ((404, "not found"), "is there a path missing"),
        ((302, ""), "login page"),
        ((200, "<html>Grafana</html>"), "is no Prometheus"),
        ((200, '{"status": "ok"}'), "is no Prometheus"),
        (error(400, "bad_data", "parse error: x"), r"error (400): parse error: x"),
        ((500, "boom"), "status 500"),
        (error(422, "execution", "query processing would load too many samples into memory"), "--match"),
        (error(503, "timeout", "query timed out in expression evaluation"), "took the server too long"),
    ],
)
def test_what_the_server_says_is_told_with_a_cure(given: Answer, words: str) -> None:
    with playing(lambda *_: given) as url:
        assert words in refusal(Access(url))


@pytest.mark.parametrize("name", ["http://exa..mple:9090", f"http://{'x' * 70}.example"])
def test_a_name_that_no_host_can_have(name: str) -> None:
    assert "there is no host of that name" in refusal(Access(name))


def test_an_address_with_signs_that_cannot_be_sent() -> None:
    assert "cannot be used" in refusal(Access("http://prometheus\x01:9090"))


def test_a_proxy_that_cannot_be_used_is_named_as_the_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTP_PROXY", "gopher://127.0.0.1:1")
    assert "HTTP_PROXY" in refusal(Access("http://prometheus.invalid:9090"))


def test_an_answer_that_is_no_compressed_text_is_told() -> None:
    with playing(lambda *_: (200, "no gzip"), headers={"Content-Encoding": "gzip"}) as url:
        assert "is no Prometheus" in refusal(Access(url))


def test_an_answer_without_end_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("collectors.prometheus.api._LARGEST_ANSWER", 1 << 20)
    with playing(lambda *_: (200, " " * (2 << 20))) as url:
        assert "larger than 1 MB" in refusal(Access(url))


def test_samples_outside_the_calendar_are_none() -> None:
    rows = [[END, "1"], [1e15, "2"], [-1, "3"], ["x", "4"]]
    series = {"metric": {"__name__": "up"}, "values": rows}
    with (
        playing(lambda *_: answer({"resultType": "matrix", "result": [series]})) as url,
        PrometheusApi(Access(url), pause=lambda _: None) as api,
    ):
        assert api.last("up", START, END)[0].values.tolist() == [1]


def test_a_busy_server_is_asked_again() -> None:
    asked: list[str] = []

    def busy(path: str, _: dict[str, list[str]]) -> Answer:
        asked.append(path)
        return VECTOR if len(asked) > 2 else (503, "starting")

    with playing(busy) as url:
        assert ask(Access(url)) == 1
        assert len(asked) == 3


def test_a_server_that_stays_busy_is_given_up() -> None:
    asked: list[str] = []

    def busy(path: str, _: dict[str, list[str]]) -> Answer:
        asked.append(path)
        return 503, "starting"

    with playing(busy) as url:
        assert "status 503" in refusal(Access(url))
    assert len(asked) == 3


def test_a_gateway_that_only_lets_reading_through_is_read() -> None:
    def reading(path: str, _: dict[str, list[str]]) -> Answer:
        return VECTOR if "?" in path else (405, "")

    with playing(reading) as url:
        assert ask(Access(url)) == 1


def test_a_server_that_takes_too_long_ends_in_a_sentence() -> None:
    waits = threading.Event()

    def slow(*_: object) -> Answer:
        waits.wait(5)
        return VECTOR

    with playing(slow) as url:
        sentence = refusal(Access(url, timeout_seconds=0.2))
        waits.set()
    assert "no answer within 0.2 s" in sentence


def test_too_large_a_piece_is_asked_for_in_halves() -> None:
    windows: list[int] = []

    def limited(_: str, form: dict[str, list[str]]) -> Answer:
        window = int(form["query"][0].split("[")[1].rstrip("ms]"))
        windows.append(window)
        if window > 1_000_000:
            return error(422, "execution", "query processing would load too many samples into memory")
        end = float(form["time"][0])
        rows = [[end - window / 1000 + 1, "1"], [end, "2"]]
        return answer({"resultType": "matrix", "result": [{"metric": {"a": "b"}, "values": rows}]})

    with playing(limited) as url, PrometheusApi(Access(url)) as api:
        (stream,) = api.raw("up", START, END)
    assert windows == [3_600_000, 1_800_000, 900_000, 900_000, 900_000, 900_000]
    assert len(stream.times_seconds) == 8


def test_secrets_are_sent_and_never_shown(tmp_path: Path) -> None:
    (tmp_path / "token").write_text(f"{TOKEN}\n")
    seen: list[str] = []

    def guarded(_: str, form: dict[str, list[str]]) -> Answer:
        seen.append(form["authorization"][0] or "")
        return 401, f"bad token {seen[-1]}"

    with playing(guarded) as url:
        sentence = refusal(Access(url, bearer_token_file=tmp_path / "token"))
        with_user = url.replace("http://", "http://eve:pass%20word@")
        other = refusal(Access(with_user))
    assert seen[0] == f"Bearer {TOKEN}"
    assert seen[1].startswith("Basic ")
    assert TOKEN not in sentence
    assert "pass" not in other.replace("--password-file", "")
    assert "eve" not in other
    assert Access(with_user).shown_url == url
    assert TOKEN not in repr(Access(url, bearer_token_file=tmp_path / "token"))


def test_files_of_secrets_that_cannot_be_used(tmp_path: Path) -> None:
    assert "cannot be read: No such file" in refusal(Access("http://x", bearer_token_file=tmp_path / "none"))
    (tmp_path / "empty").write_text("\n")
    (tmp_path / "two").write_text("a b\n")
    for name in ("empty", "two"):
        assert "holds no token" in refusal(Access("http://x", bearer_token_file=tmp_path / name))
    (tmp_path / "ca.pem").write_text("no certificate")
    assert "cannot be used as a CA" in refusal(Access("https://x", ca_file=tmp_path / "ca.pem"))


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a certificate of our own for 127.0.0.1, and its key."""
    folder = tmp_path_factory.mktemp("tls")
    command = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]
    command += ["-keyout", "key.pem", "-out", "cert.pem", "-days", "2", "-subj", "/CN=127.0.0.1"]
    try:
        made = subprocess.run(
            [*command, "-addext", "subjectAltName=IP:127.0.0.1"],
            cwd=folder,
            capture_output=True,
            timeout=30,
            check=False,
        )
    except FileNotFoundError:
        pytest.skip("openssl is not installed")
    assert made.returncode == 0, made.stderr
    return folder


def test_the_certificate_counts(certificate: Path) -> None:
    with playing(lambda *_: VECTOR, tls=certificate) as url:
        assert "--ca-file" in refusal(Access(url))
        assert ask(Access(url, ca_file=certificate / "cert.pem")) == 1
        assert ask(Access(url, insecure=True)) == 1
    with playing(lambda *_: VECTOR) as url:
        assert "write http://" in refusal(Access(url.replace("http:", "https:")))


def test_a_real_server_with_tls_and_a_password(certificate: Path, tmp_path: Path) -> None:
    programs()
    password = tmp_path / "password"
    password.write_text("correct horse\n")
    config = f"tls_server_config: {{cert_file: {certificate}/cert.pem, key_file: {certificate}/key.pem}}\n"
    config += f"basic_auth_users: {{eve: '{HASH}'}}\n"
    data = Recorded()
    data.put("up", {"instance": "a:1"}, [(START + 60, 1.0)])
    with prometheus(tmp_path, data, config, scheme="https", status_when_ready=401) as url:
        ca = certificate / "cert.pem"
        assert ask(Access(url, user="eve", password_file=password, ca_file=ca)) == 1
        assert "--user and --password-file" in refusal(Access(url, ca_file=ca))
        (tmp_path / "wrong").write_text("wrong")
        assert "does not accept" in refusal(Access(url, user="eve", password_file=tmp_path / "wrong", ca_file=ca))
        assert "write https://" in refusal(Access(url.replace("https:", "http:")))


def test_a_real_server_that_refuses_large_queries_is_asked_in_pieces(tmp_path: Path) -> None:
    programs()
    data = Recorded()
    data.put("up", {"instance": "a:1"}, [(START + at, float(at)) for at in range(0, 3600, 5)])
    with prometheus(tmp_path, data, arguments=["--query.max-samples=300"]) as url, PrometheusApi(Access(url)) as api:
        (stream,) = api.raw("up", START, END)
    assert stream.values.tolist() == [float(at) for at in range(0, 3600, 5)]
