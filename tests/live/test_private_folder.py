from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from collectors.live.private_folder import private_folder
from tests.live.test_run import eventually


def test_the_folder_of_a_killed_program_stays_away_though_a_worker_makes_it_anew() -> None:
    text = "from collectors.live.private_folder import private_folder\nimport time\n"
    text += "with private_folder() as folder:\n    print(folder, flush=True)\n    time.sleep(300)\n"
    program = subprocess.Popen([sys.executable, "-c", text], stdout=subprocess.PIPE, text=True)
    assert program.stdout is not None
    folder = Path(program.stdout.readline().strip())
    assert folder.is_dir()
    program.kill()
    program.communicate()
    assert eventually(lambda: not folder.exists())
    (folder / "host").mkdir(parents=True)
    assert eventually(lambda: not folder.exists())


def test_a_folder_is_gone_as_soon_as_it_is_done_with() -> None:
    with private_folder() as folder:
        (folder / "host").mkdir()
    assert not folder.exists()
