"""`pod-collect` as a pod starts it: a mounted attempt in, one conditional PUT out, nothing told."""

from __future__ import annotations

import gzip
import json
import os
import signal
import ssl
import stat
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from block_builders import a_planned_block, an_arm
from equipoise_protocol.block import PlannedBlock, SealedRecord
from equipoise_protocol.canonical import authentic, canonical_bytes
from equipoise_runner import pod, procfs, upload
from equipoise_runner.bench import census
from equipoise_runner.errors import RunnerFault
from pods import PATH, SIGNATURE, Attempt, Store, serving

NO_RECORD = 3


@pytest.fixture
def store() -> Iterator[Store]:
    with serving() as kept:
        yield kept


def a_block(**changes: object) -> PlannedBlock:
    return a_planned_block([an_arm("library"), an_arm("by_hand")], **changes)  # type: ignore[arg-type]


def bench_at(socket: Path, *, prefix: Sequence[str] = ()) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [*prefix, sys.executable, "-m", "equipoise_runner", "bench", "--socket", str(socket)]
    )


@pytest.fixture
def socket() -> Iterator[Path]:
    with tempfile.TemporaryDirectory() as folder:  # a path that a socket's address can hold
        yield Path(folder) / "bench.sock"


def test_a_block_is_measured_and_its_sealed_record_stored(
    tmp_path: Path, store: Store, socket: Path
) -> None:
    attempt = Attempt(tmp_path, a_block(), url=store.url)
    bench = bench_at(socket)
    collector = attempt.collector(socket)
    said, complaint = collector.communicate(timeout=300)
    assert (collector.returncode, bench.wait(30), complaint) == (0, 0, "")
    (content,) = store.objects.values()
    sealed = SealedRecord.model_validate_json(content)
    assert content == canonical_bytes(json.loads(content))
    assert authentic(sealed.record, key=attempt.key, claimed=sealed.authentication)
    assert sealed.record.identity == attempt.block.identity
    assert (sealed.record.broken_off, len(sealed.record.runs)) == ("", 2)
    (headers,) = store.headers
    assert (headers["if-none-match"], headers["content-type"]) == ("*", "application/json")
    assert said == f"the record ({len(content)} bytes) has been stored\n"
    assert not socket.exists()


def fault_of(attempt: Attempt) -> str:
    with pytest.raises(RunnerFault) as raised:
        pod.read(attempt.folder)
    words = str(raised.value)
    assert not [secret for secret in attempt.secrets() if secret in words]
    return words


@pytest.mark.parametrize("name", ["planned-block.json.gz", "record-key", "upload-url"])
def test_a_missing_file_is_named_with_what_to_do(tmp_path: Path, name: str) -> None:
    attempt = Attempt(tmp_path, a_block(), url="https://store.example/key")
    (attempt.folder / name).unlink()
    words = fault_of(attempt)
    assert f"{name}: No such file or directory" in words
    assert "mount the attempt's Secret" in words


def test_an_attempt_that_every_user_could_read_is_refused(tmp_path: Path) -> None:
    attempt = Attempt(tmp_path, a_block(), url="https://store.example/key")
    attempt.write("record-key", attempt.key.encode(), mode=0o444)
    assert "defaultMode 0440" in fault_of(attempt)


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("planned-block.json.gz", b"{}", "no gzip file"),
        ("planned-block.json.gz", gzip.compress(b"{}")[:-9], "cut short"),
        ("planned-block.json.gz", gzip.compress(b"{}") * 2, "something follows its end"),
        ("planned-block.json.gz", gzip.compress(b"{}"), "not a planned block"),
        (
            "planned-block.json.gz",
            gzip.compress(b" " * (pod.LARGEST_BLOCK + 1)),
            f"more than {pod.LARGEST_BLOCK} bytes",
        ),
        ("planned-block.json.gz", bytes(pod.LARGEST_FILE + 1), f"{pod.LARGEST_FILE} bytes"),
        ("record-key", b"5ec3e7" * 10, "String should match pattern"),
        ("record-key", b"\xff" * 64, "not text"),
        ("upload-url", b"https://user:password@store.example/x", "more than a host"),
        ("upload-url", b"file:///etc/passwd", "neither http nor https"),
        ("upload-url", b"https://store.example:port/x", "can't be taken apart"),
        ("upload-url", b"https:///nowhere", "names no host"),
        ("upload-url", b"https://store.example/a\r\nHost: b", "blanks"),
        ("upload-url", b"https://store.example/a#b", "fragment"),
    ],
)
def test_what_is_no_attempt_is_refused_without_a_word_of_it(
    tmp_path: Path, name: str, content: bytes, words: str
) -> None:
    attempt = Attempt(tmp_path, a_block(), url="https://store.example/key")
    attempt.write(name, content)
    said = fault_of(attempt)
    assert words in said
    assert not {"5ec3e7", "password", "passwd"} & set(said.replace("@", " ").split())


def test_a_bomb_costs_no_more_memory_than_a_block(tmp_path: Path) -> None:
    # A gigabyte in a megabyte, under an address space that has no room for it.
    bomb = gzip.compress(bytes(1 << 30), compresslevel=9)
    assert len(bomb) < pod.LARGEST_FILE
    attempt = Attempt(tmp_path, a_block(), url="https://store.example/key")
    attempt.write("planned-block.json.gz", bomb)
    program = (
        "import pathlib, resource, sys\n"
        "from equipoise_runner import errors, pod\n"
        "resource.setrlimit(resource.RLIMIT_AS, (512 << 20, 512 << 20))\n"
        "try:\n"
        "    pod.read(pathlib.Path(sys.argv[1]))\n"
        "except errors.RunnerFault as fault:\n"
        "    print(fault)\n"
    )
    found = subprocess.run(
        [sys.executable, "-c", program, str(attempt.folder)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert "unpacks to more than" in found.stdout, found.stderr


def test_no_attempt_ends_with_the_exit_code_for_no_record(tmp_path: Path, socket: Path) -> None:
    attempt = Attempt(tmp_path, a_block(), url="https://store.example/key")
    attempt.write("record-key", b"short")
    collector = attempt.collector(socket)
    _, complaint = collector.communicate(timeout=60)
    assert collector.returncode == NO_RECORD
    assert "record key" in complaint
    assert "short" not in complaint.replace("cut short", "")


def test_containers_with_cpus_of_their_own_are_told_so(
    tmp_path: Path, store: Store, socket: Path
) -> None:
    cpus = sorted(os.sched_getaffinity(0))
    if len(cpus) < 2:
        pytest.skip("one CPU")
    attempt = Attempt(tmp_path, a_block(), url=store.url)
    bench = bench_at(socket, prefix=("taskset", "--cpu-list", str(cpus[0])))
    collector = attempt.collector(socket, prefix=("taskset", "--cpu-list", str(cpus[1])))
    _, complaint = collector.communicate(timeout=120)
    assert (collector.returncode, bench.wait(30)) == (NO_RECORD, 0)
    assert (
        f"the collector measures on CPU {cpus[1]}, and the bench may use CPU {cpus[0]} alone: give"
        " both the same CPUs" in complaint
    )
    assert store.objects == {}


def test_sigterm_ends_a_collector_that_waits(tmp_path: Path, socket: Path) -> None:
    attempt = Attempt(tmp_path, a_block(), url="https://store.example/key")
    collector = attempt.collector(socket)
    deadline = time.monotonic() + 60
    while not socket.exists() and time.monotonic() < deadline:
        time.sleep(0.02)
    assert stat.S_IMODE(socket.stat().st_mode) == 0o660
    collector.send_signal(signal.SIGTERM)
    collector.communicate(timeout=60)
    assert collector.returncode == 128 + signal.SIGTERM
    assert not socket.exists()


def test_sigterm_ends_a_bench_that_waits(socket: Path) -> None:
    bench = bench_at(socket)
    time.sleep(1)
    bench.send_signal(signal.SIGTERM)
    assert bench.wait(30) == 128 + signal.SIGTERM


def test_sigterm_while_an_arm_hangs_ends_both_and_stores_nothing(
    tmp_path: Path, store: Store, socket: Path
) -> None:
    block = a_planned_block([an_arm("hangs"), an_arm("library")], seconds=600)
    attempt = Attempt(tmp_path, block, url=store.url)
    bench = bench_at(socket)
    collector = attempt.collector(socket)
    until_an_arm_hangs(bench.pid)
    assert collector.poll() is None
    collector.send_signal(signal.SIGTERM)
    collector.communicate(timeout=60)
    assert (collector.returncode, bench.wait(60)) == (128 + signal.SIGTERM, 0)
    assert store.objects == {}


def until_an_arm_hangs(launcher: int) -> None:
    """Wait until a descendant that the kernel is to kill first has burnt CPU for a second."""
    deadline = time.monotonic() + 120
    while time.monotonic() < deadline:
        for child in census.descendants(launcher):
            times = procfs.read_process(child, root=Path("/"))
            first_to_go = procfs.text(Path(f"/proc/{child}/oom_score_adj")) == "1000"
            if times is not None and first_to_go and times.own_nanoseconds > 1_000_000_000:
                return
        time.sleep(0.05)
    raise AssertionError("no arm hung within two minutes")


class Waits:
    """Notes how long an upload paused, and doesn't."""

    def __init__(self) -> None:
        self.seconds: list[float] = []

    def patience(self, seconds: float = 300.0) -> upload.Patience:
        return upload.Patience(seconds=seconds, answer_seconds=5, sleep=self.seconds.append)


def test_a_store_in_trouble_is_tried_again_with_growing_pauses(store: Store) -> None:
    store.answers = [500, 503, "hang up", 429, 409, "nonsense"]
    waits = Waits()
    assert upload.put(store.url, b"{}", patience=waits.patience()) is upload.Stored.NOW
    assert len(store.headers) == 7
    assert store.objects[PATH] == b"{}"
    bounds = [(0.25, 0.5), (0.5, 1), (1, 2), (2, 4), (4, 8), (8, 16)]
    assert all(
        least <= wait <= most for wait, (least, most) in zip(waits.seconds, bounds, strict=True)
    )


def test_a_record_whose_answer_was_lost_is_there_already(store: Store) -> None:
    store.answers = ["lost"]
    assert upload.put(store.url, b"{}", patience=Waits().patience()) is upload.Stored.ALREADY
    assert store.objects[PATH] == b"{}"


def test_a_record_that_is_there_is_never_written_again(store: Store) -> None:
    store.objects[PATH] = b"first"
    assert upload.put(store.url, b"second", patience=Waits().patience()) is upload.Stored.ALREADY
    assert store.objects[PATH] == b"first"


@pytest.mark.parametrize(
    ("answer", "advice"),
    [
        (403, "403 AccessDenied: the pre-signed URL has expired"),
        (404, "bucket exists"),
        (400, "the store's own log"),
        (501, "conditional writes"),
        ("redirect", "redirects are not followed"),
    ],
)
def test_a_refusal_is_final_and_says_what_to_do(
    store: Store, answer: int | str, advice: str
) -> None:
    store.answers = [answer]
    with pytest.raises(RunnerFault) as raised:
        upload.put(store.url, b"{}", patience=Waits().patience())
    assert advice in str(raised.value)
    assert len(store.headers) == 1
    assert SIGNATURE not in str(raised.value)
    assert "127.0.0.1" not in str(raised.value)


def test_a_refusal_before_the_body_was_read_is_understood(store: Store) -> None:
    store.answers = [403]
    with pytest.raises(RunnerFault, match="403"):
        upload.put(store.url, bytes(32 << 20), patience=Waits().patience())


def test_a_store_that_stays_away_costs_a_bounded_time(store: Store) -> None:
    store.answers = [500] * 100
    patience = upload.Patience(seconds=1.5, first_pause_seconds=0.1, longest_pause_seconds=0.3)
    began = time.monotonic()
    with pytest.raises(RunnerFault, match=r"in \d+ tries .* 500 InternalError.* planned again"):
        upload.put(store.url, b"{}", patience=patience)
    assert time.monotonic() - began < 5
    assert 4 < len(store.headers) < 20


def test_nobody_at_the_address_is_said_without_the_address() -> None:
    with pytest.raises(RunnerFault, match="Connection refused") as raised:
        upload.put(
            f"http://127.0.0.1:1{PATH}?{SIGNATURE}",
            b"{}",
            patience=upload.Patience(seconds=0.1, first_pause_seconds=1),
        )
    assert "127.0.0.1" not in str(raised.value)


@pytest.fixture
def certified(tmp_path: Path) -> Iterator[tuple[Store, Path]]:
    """The same store behind TLS, under an authority that nobody has heard of."""
    certificate, key = tmp_path / "certificate.pem", tmp_path / "key.pem"
    subprocess.run(
        [
            *("openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256"),
            *(
                "-nodes",
                "-days",
                "2",
                "-subj",
                "/CN=store",
                "-addext",
                "subjectAltName=IP:127.0.0.1",
            ),
            *("-keyout", str(key), "-out", str(certificate)),
        ],
        check=True,
        capture_output=True,
    )
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    with serving(tls=context) as secure:
        yield secure, certificate


def test_a_store_behind_tls_is_believed_with_its_authority_alone(
    certified: tuple[Store, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    store, certificate = certified
    with pytest.raises(RunnerFault, match="SSL_CERT_FILE") as raised:
        upload.put(store.url, b"{}", patience=Waits().patience())
    assert "127.0.0.1" not in str(raised.value)
    assert store.objects == {}
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
    assert upload.put(store.url, b"{}", patience=Waits().patience()) is upload.Stored.NOW


def test_proxies_of_the_environment_are_not_asked(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(os.environ, "http_proxy", "http://127.0.0.1:1")
    assert upload.put(store.url, b"{}") is upload.Stored.NOW
