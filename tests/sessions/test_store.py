from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
import zstandard

from diagnose.sessions.errors import SessionError
from diagnose.sessions.lines import SCHEMA, Event, encoded
from diagnose.sessions.store import EVENTS, SessionStore

EVENT = {"type": "noted", "text": "schön"}


@pytest.fixture
def store(tmp_path: Path) -> SessionStore:
    return SessionStore(tmp_path / "sessions")


def written(store: SessionStore, *events: Event) -> str:
    session = store.create()
    for event in events:
        session.append(event)
    session.close()
    return session.id


def reread(store: SessionStore, session: str) -> list[dict[str, object]]:
    opened = store.open(session)
    opened.close()
    return [dict(event) for event in opened.events]


def test_events_come_back_in_their_order(store: SessionStore) -> None:
    session = written(store, EVENT, {"type": "moved"})

    assert reread(store, session) == [EVENT, {"type": "moved"}]


def test_a_session_goes_on_after_it_was_reopened(store: SessionStore) -> None:
    session = written(store, EVENT)
    opened = store.open(session)
    opened.append({"type": "moved"})
    opened.close()

    assert reread(store, session) == [EVENT, {"type": "moved"}]


def test_a_line_that_a_kill_cut_is_left_out_and_does_not_spoil_the_next(store: SessionStore) -> None:
    session = written(store, EVENT)
    path = store.folder / session / EVENTS
    path.write_bytes(path.read_bytes() + b'{"type": "mo')
    opened = store.open(session)
    opened.append({"type": "saved"})
    opened.close()

    assert reread(store, session) == [EVENT, {"type": "saved"}]


def test_what_was_appended_survives_a_kill_of_the_program(store: SessionStore) -> None:
    program = (
        "import os, signal, sys; from pathlib import Path; from diagnose.sessions.store import SessionStore\n"
        "session = SessionStore(Path(sys.argv[1])).create()\n"
        "session.append({'type': 'noted'}); print(session.id, flush=True); os.kill(os.getpid(), signal.SIGKILL)"
    )
    ended = subprocess.run([sys.executable, "-c", program, str(store.folder)], capture_output=True, text=True)

    assert ended.returncode == -signal.SIGKILL
    assert reread(store, ended.stdout.strip()) == [{"type": "noted"}]


def test_a_session_is_open_in_one_place_at_a_time(store: SessionStore) -> None:
    session = store.create()

    with pytest.raises(SessionError, match="open in another terminal"):
        store.open(session.id)
    session.close()
    assert reread(store, session.id) == []


def test_the_list_shows_the_latest_first_with_what_was_said_of_it(store: SessionStore) -> None:
    first, second = written(store), written(store)
    opened = store.open(first)
    opened.append(EVENT)
    opened.summarise({"cause": "a narrow link"})
    opened.close()
    # Both were written within one tick of the file system's clock.
    os.utime(store.folder / second / EVENTS, (1, 1))

    assert [info.id for info in store.list()] == [first, second]
    assert [dict(info.summary) for info in store.list()] == [{"cause": "a narrow link"}, {}]
    assert store.latest() == first


def test_a_deleted_session_is_gone_with_its_recordings(store: SessionStore) -> None:
    session = written(store)
    (store.folder / session / "recordings").mkdir()
    store.delete(session)

    assert store.list() == []
    with pytest.raises(SessionError, match="no session is called"):
        store.open(session)


def test_an_exported_session_is_one_file_that_opens_elsewhere(store: SessionStore, tmp_path: Path) -> None:
    session = written(store, EVENT)
    store.export(session, tmp_path / "x.diagnose-session")
    elsewhere = SessionStore(tmp_path / "elsewhere")
    brought = elsewhere.bring_in(tmp_path / "x.diagnose-session")
    brought.close()

    assert [dict(event) for event in brought.events] == [EVENT]


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"no session at all", "no exported session"),
        (zstandard.compress(b"hello\n"), "damaged: line 1"),
        (zstandard.compress(encoded({"schema": "other/1"})), "does not begin with"),
        (zstandard.compress(encoded({"schema": SCHEMA}) + b"[1]\n"), "line 2 is no object"),
        (zstandard.compress(encoded({"schema": SCHEMA}))[:-3], "damaged"),
    ],
)
def test_a_file_that_is_no_session_is_refused_with_a_reason(
    store: SessionStore, tmp_path: Path, content: bytes, says: str
) -> None:
    path = tmp_path / "sent"
    path.write_bytes(content)

    with pytest.raises(SessionError, match=says):
        store.bring_in(path)
    assert store.list() == []


def test_names_that_lead_out_of_the_folder_are_no_sessions(store: SessionStore, tmp_path: Path) -> None:
    (tmp_path / EVENTS).write_bytes(encoded({"schema": SCHEMA}))

    with pytest.raises(SessionError, match="no session is called"):
        store.open("..")


def test_only_the_user_can_read_a_session(store: SessionStore) -> None:
    session = written(store)

    assert (store.folder / session).stat().st_mode & 0o077 == 0
