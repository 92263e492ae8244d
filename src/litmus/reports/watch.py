"""`litmus watch`: the report of runs that are still going on, on this machine only.

The server knows two paths, `/` and `/version`, and answers both from memory: no request names a
file, so none can reach one. It listens on the loopback address and answers only to that name.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import logging
import threading
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from litmus.analysis.groups import group_records
from litmus.analysis.records import RunRecord, read_records, read_showable
from litmus.analysis.stopping import Stopped
from litmus.errors import BadInput
from litmus.reports.details import DetailsInProgress, RunDetails
from litmus.reports.report import Report, choose_detailed, make_report

logger = logging.getLogger("litmus")

HOST = "127.0.0.1"
NAMES = ("127.0.0.1", "localhost", "[::1]")
SECONDS_BETWEEN_LOOKS = 1.0
SECONDS_BETWEEN_DETAILS = 120.0
"""Probing states, knowledge and behaviour cost processor time that the training wants too."""

WATCHED_FILES = ("config.json", "provenance.json", "metrics.jsonl", "policy.safetensors")


class LiveReport:
    """The newest page, made anew when one of the run directories changed."""

    def __init__(self, paths: Sequence[Path | str]) -> None:
        self.paths = [Path(path) for path in paths]
        self._lock = threading.Lock()
        self._stopped = threading.Event()
        self._details: dict[Path, RunDetails] = {}
        self._examined: dict[Path, tuple[float, str]] = {}
        self._mark = ""
        self.version, self.html = "", b""
        self._refresh(self._look())

    def current(self) -> tuple[str, bytes]:
        with self._lock:
            return self.version, self.html

    def follow(self) -> None:
        """Look for changes until stopped; meant for a thread of its own."""
        while not self._stopped.wait(SECONDS_BETWEEN_LOOKS):
            mark = self._look()
            if mark != self._mark:
                with _warning_instead_of_ending():
                    self._refresh(mark)

    def follow_details(self) -> None:
        """Look into the runs, now and again; meant for a thread of its own."""
        while not self._stopped.is_set():
            with _warning_instead_of_ending():
                records = read_records(self.paths)
                chosen, _ = choose_detailed(records, group_records(records))
                for record in filter(self._is_due, chosen):
                    self._examine(record, len(chosen))
            self._stopped.wait(SECONDS_BETWEEN_LOOKS)

    def stop(self) -> None:
        self._stopped.set()

    def _look(self) -> str:
        """What changes when a run does, and costs nothing to ask."""
        seen = []
        for path in self.paths:
            for name in WATCHED_FILES:
                try:
                    state = (path / name).stat()
                    seen.append(f"{name} {state.st_size} {state.st_mtime_ns}")
                except OSError:
                    seen.append(f"{name} -")
        return " ".join(seen)

    def _is_due(self, record: RunRecord) -> bool:
        examined = self._examined.get(record.path)
        if examined is None:
            return bool(record.rounds)
        when, state = examined
        if record.state != state:
            return True
        waited = time.monotonic() - when
        return record.state != "finished" and waited > SECONDS_BETWEEN_DETAILS

    def _examine(self, record: RunRecord, number_of_runs: int) -> None:
        is_stopped = self._stopped.is_set
        self._examined[record.path] = (time.monotonic(), record.state)
        try:
            details = DetailsInProgress(record, number_of_runs, is_stopped).finish()
        except Stopped:
            return
        self._details[record.path] = details
        self._refresh(self._look())

    def _refresh(self, mark: str) -> None:
        known = dict(self._details)
        report: Report = make_report(
            read_records(self.paths),
            examine=lambda records: [_renew(known.get(r.path), r) for r in records],
        )
        version = hashlib.sha256(f"{mark} {len(known)} {time.time_ns()}".encode()).hexdigest()[:16]
        html = report.to_html(version).encode()
        with self._lock:
            self._mark, self.version, self.html = mark, version, html


@contextlib.contextmanager
def _warning_instead_of_ending() -> Iterator[None]:
    """A run that is being written may be caught between two states; the next look is soon."""
    try:
        yield
    except Exception as error:
        logger.warning("the page was not refreshed: %s", error)


def _renew(known: RunDetails | None, record: RunRecord) -> RunDetails:
    """Details as they were, with the metrics of now."""
    return RunDetails(record) if known is None else replace(known, record=record)


class Handler(BaseHTTPRequestHandler):
    """Answers `/` and `/version`; everything else is not here."""

    server: LiveServer
    protocol_version = "HTTP/1.1"
    timeout = 10
    server_version, sys_version = "litmus", ""

    def do_GET(self) -> None:
        self._answer(with_body=True)

    def do_HEAD(self) -> None:
        self._answer(with_body=False)

    def _answer(self, with_body: bool) -> None:
        # A page elsewhere may point its own name at this address; it must not read the report.
        host = self.headers.get("Host", "").rpartition(":")[0] or self.headers.get("Host", "")
        if host not in NAMES:
            return self._send(403, "text/plain", b"only for this machine\n", with_body)
        version, html = self.server.live.current()
        if self.path == "/":
            return self._send(200, "text/html; charset=utf-8", html, with_body)
        if self.path == "/version":
            body = json.dumps({"version": version}).encode()
            return self._send(200, "application/json", body, with_body)
        return self._send(404, "text/plain", b"there is only / here\n", with_body)

    def _send(self, status: int, kind: str, body: bytes, with_body: bool) -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.send_header("Cache-Control", "no-store")
        self.send_header("X-Content-Type-Options", "nosniff")
        self.send_header("Cross-Origin-Resource-Policy", "same-origin")
        self.end_headers()
        if with_body:
            self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        pass  # a page that asks every two seconds must not fill the terminal


class LiveServer(ThreadingHTTPServer):
    """Serves one live report on the loopback address."""

    daemon_threads = True
    request_queue_size = 512
    """Connections that may wait to be accepted: a page that many look at asks in bursts."""

    def __init__(self, live: LiveReport, port: int) -> None:
        self.live = live
        self.threads = [
            threading.Thread(target=work, daemon=True)
            for work in (live.follow, live.follow_details)
        ]
        try:
            super().__init__((HOST, port), Handler)
        except (OSError, OverflowError) as error:
            reason = error.strerror if isinstance(error, OSError) else "no such port"
            raise BadInput(f"cannot listen on port {port}: {reason}; --port 0 finds one") from error

    @property
    def address(self) -> str:
        return f"http://{HOST}:{self.server_address[1]}/"

    def close(self) -> None:
        """Stop the threads before the interpreter ends: torch does not like to be left running."""
        self.live.stop()
        self.server_close()
        for thread in self.threads:
            thread.join(timeout=20)

    def handle_error(self, request: object, client_address: object) -> None:
        pass  # a client that went away is no news


def start_watching(paths: Sequence[Path | str], port: int) -> LiveServer:
    """Make the first page and the threads that keep it fresh; `serve_forever` is the caller's."""
    read_showable(paths)
    live = LiveReport(paths)
    server = LiveServer(live, port)
    for thread in server.threads:
        thread.start()
    return server
