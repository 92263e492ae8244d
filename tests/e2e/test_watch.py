"""`litmus watch` while a run grows, and what it refuses."""

from __future__ import annotations

import contextlib
import json
import re
import shutil
import signal
import socket
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from harness import DEADLINE, start_python

SECRET = "this line is in no run"


Watched = tuple[Path, str, subprocess.Popen[str]]


@pytest.fixture(scope="module")
def watched(small_runs: list[Path], tmp_path_factory: pytest.TempPathFactory) -> Iterator[Watched]:
    """A run that seems to be going on, the address it is served at, and the server."""
    folder = tmp_path_factory.mktemp("watched")
    run = Path(shutil.copytree(small_runs[0], folder / "run"))
    metrics = run / "metrics.jsonl"
    lines = metrics.read_text().splitlines(keepends=True)
    metrics.write_text("".join(lines[: len(lines) // 2]))
    (folder / "secret.txt").write_text(SECRET)
    (run / "link.txt").symlink_to(folder / "secret.txt")
    process = start_python(
        *("-m", "litmus.cli", "watch", run, "--port", 0), env={"MUJOCO_GL": "none"}, cwd=folder
    )
    assert process.stdout is not None
    line = process.stdout.readline()
    found = re.search(r"http://127\.0\.0\.1:\d+/", line)
    assert found is not None, line
    yield run, found[0], process
    if process.poll() is None:
        process.kill()
    process.communicate()


def _ask(
    address: str, target: str, host: str | None = None, method: str = "GET"
) -> tuple[int, str]:
    """Send a request byte for byte: a client library would tidy the path up."""
    port = int(address.rstrip("/").rpartition(":")[2])
    with socket.create_connection(("127.0.0.1", port), timeout=DEADLINE) as client:
        name = host or f"127.0.0.1:{port}"
        client.sendall(
            f"{method} {target} HTTP/1.1\r\nHost: {name}\r\nConnection: close\r\n\r\n".encode()
        )
        answer = b""
        while piece := client.recv(65536):
            answer += piece
    head, _, body = answer.decode(errors="replace").partition("\r\n\r\n")
    return int(head.split()[1]), body


def test_paths_that_lead_anywhere_else_are_refused(
    watched: Watched,
) -> None:
    run, address, _ = watched
    targets = [
        "/../secret.txt",
        "/..%2fsecret.txt",
        "/%2e%2e/secret.txt",
        "/..\\secret.txt",
        "/run/../../secret.txt",
        "/link.txt",
        "/config.json",
        "/metrics.jsonl",
        "//etc/passwd",
        "/etc/passwd",
        str(run / "config.json"),
        "file:///etc/passwd",
        "../secret.txt",
        "/?../secret.txt",
        "/version/../../secret.txt",
        "/%00",
    ]
    for target in targets:
        status, body = _ask(address, target)
        assert status in (400, 404), target
        assert SECRET not in body
        assert "root:" not in body
    assert _ask(address, "/")[0] == 200


def test_only_reading_and_only_this_machine(
    watched: Watched,
) -> None:
    _, address, _ = watched
    for method in ("POST", "PUT", "DELETE"):
        assert _ask(address, "/", method=method)[0] == 501
    assert _ask(address, "/", host="example.org")[0] == 403
    assert _ask(address, "/", host="127.0.0.1.example.org:80")[0] == 403
    status, body = _ask(address, "/version", host="localhost:1")
    assert status == 200
    assert "version" in json.loads(body)


@pytest.mark.skipif(not Path("/proc/net/tcp").exists(), reason="the system does not tell")
def test_the_server_listens_on_loopback_only(
    watched: Watched,
) -> None:
    """As the system knows it: in /proc, 127.0.0.1 is 0100007F and listening is 0A."""
    _, address, process = watched
    port = int(address.rstrip("/").rpartition(":")[2])
    links = []
    for descriptor in Path(f"/proc/{process.pid}/fd").iterdir():
        with contextlib.suppress(FileNotFoundError):  # a file that it has just closed
            links.append(str(descriptor.readlink()))
    listening = []
    for table in ("tcp", "tcp6"):
        for line in Path(f"/proc/{process.pid}/net/{table}").read_text().splitlines()[1:]:
            _, local, _, state, *_, inode = line.split()[:10]
            if state == "0A" and f"socket:[{inode}]" in links:
                listening.append(local)
    assert listening == [f"0100007F:{port:04X}"]


def test_the_page_follows_the_run(
    browser: Any,
    small_runs: list[Path],
    watched: Watched,
) -> None:
    run, address, _ = watched
    page = browser.new_page(viewport={"width": 390, "height": 700})
    errors: list[str] = []
    page.on("console", lambda message: errors.append(message.text))
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.goto(address)
    assert page.locator(".chip.unfinished").first.is_visible()
    page.evaluate("window.kept = true; scrollTo(0, 300)")
    shutil.copy(small_runs[0] / "metrics.jsonl", run / "metrics.jsonl")
    page.wait_for_selector(".chip.finished", timeout=1000 * DEADLINE, state="attached")
    assert page.evaluate("window.kept") is True, "the page was loaded anew instead of refreshed"
    assert page.evaluate("scrollY") == 300
    predictions = "#predictions-run svg circle"
    page.wait_for_selector(predictions, timeout=1000 * DEADLINE, state="attached")
    assert errors == []
    page.close()


def test_a_burst_of_connections_is_served(watched: Watched) -> None:
    """All of them are opened before the first one is asked for anything."""
    _, address, _ = watched
    port = int(address.rstrip("/").rpartition(":")[2])
    with contextlib.ExitStack() as stack:
        clients = [
            stack.enter_context(socket.create_connection(("127.0.0.1", port), timeout=DEADLINE))
            for _ in range(200)
        ]
        for client in clients:
            client.sendall(b"GET /version HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
        for client in clients:
            answer = b""
            while piece := client.recv(65536):
                answer += piece
            assert answer.startswith(b"HTTP/1.1 200 ")


def test_ctrl_c_ends_it_cleanly(watched: Watched) -> None:
    _, _, process = watched
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=DEADLINE)
    assert process.returncode in (0, 130)
    assert "Traceback" not in errors
