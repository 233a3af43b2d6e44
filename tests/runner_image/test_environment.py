"""The machine's facts, from fixture trees and from this machine."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from equipoise_protocol.vocabulary import IsaCap
from equipoise_runner import environment

EPYC = """processor\t: 0
model name\t: AMD EPYC
cpu family\t: 25
model\t\t: 17
stepping\t: 1
flags\t\t: fpu sse4_2 avx f16c fma avx2 avx512f avx512dq avx512bw avx512vl avx512_bf16

processor\t: 1
model name\t: AMD EPYC
cpu family\t: 25
flags\t\t: fpu sse4_2 avx f16c fma avx2 avx512f avx512dq avx512bw avx512vl
"""
HASWELL = "processor : 0\nmodel name : Haswell\nflags : sse4_2 avx f16c fma avx2\n"
GRAVITON = "processor : 0\nFeatures : fp asimd sve\nCPU implementer : 0x41\nCPU part : 0xd40\n"


def write(root: Path, files: dict[str, str]) -> None:
    for name, content in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(content)


def a_cache(
    cpu: int, index: int, *, level: str, size: str, kind: str = "Unified"
) -> dict[str, str]:
    folder = f"sys/devices/system/cpu/cpu{cpu}/cache/index{index}"
    return {f"{folder}/level": level, f"{folder}/size": size, f"{folder}/type": kind}


def test_every_fact_of_a_described_machine_is_read(tmp_path: Path) -> None:
    write(
        tmp_path,
        {
            "proc/cpuinfo": EPYC,
            "proc/meminfo": "MemFree: 1 kB\nMemTotal:       24683652 kB\n",
            "proc/sys/kernel/osrelease": "6.1.0-x\n",
            "sys/devices/system/cpu/online": "0-3,8\n",
            "sys/devices/system/node/online": "0-1\n",
            "sys/devices/system/cpu/cpu1/cpufreq/scaling_governor": "performance\n",
            "sys/devices/system/cpu/cpu1/cpufreq/scaling_cur_freq": "2600000\n",
            "sys/devices/system/cpu/cpu3/cpufreq/scaling_governor": "powersave\n",
            "sys/devices/system/cpu/cpu3/cpufreq/scaling_cur_freq": "1500000\n",
            "etc/machine-id": "0123456789abcdef\n",
            **a_cache(0, 3, level="3", size="32768K"),
        },
    )
    machine = environment.read_machine((1, 3), root=tmp_path)
    assert machine.cpu_model == "AMD EPYC (cpu family 25, model 17, stepping 1)"
    assert "avx512vl" in machine.cpu_flags
    assert "avx512_bf16" not in machine.cpu_flags, "one CPU lacks it"
    assert (machine.logical_cpus, machine.numa_nodes) == (5, 2)
    assert machine.memory_bytes == 24683652 * 1024
    assert machine.last_level_cache_bytes == 32 * 1024 * 1024
    assert (machine.governor, machine.frequency_khz) == ("performance+powersave", 1_500_000)
    assert machine.kernel == "6.1.0-x"
    assert machine.measuring_cpus == (1, 3)


def test_a_machine_that_tells_nothing_is_unreadable_and_not_an_error(tmp_path: Path) -> None:
    machine = environment.read_machine((0,), root=tmp_path)
    assert machine.cpu_model == machine.governor == machine.kernel == machine.host == "unreadable"
    assert (machine.logical_cpus, machine.numa_nodes) == (1, 1)
    assert (machine.frequency_khz, machine.memory_bytes, machine.cpu_flags) == (0, 0, ())


@pytest.mark.parametrize("odd", ["", "\x00\xff", "none", "3-", "-1", "0-3;5", ": : :\n\n::"])
def test_odd_content_is_unreadable_and_not_an_error(tmp_path: Path, odd: str) -> None:
    names = (
        "cpu/online",
        "node/online",
        "cpu/cpu0/cache/index0/size",
        "cpu/cpu0/cache/index0/level",
    )
    write(tmp_path, {f"sys/devices/system/{name}": odd for name in names})
    write(tmp_path, {"proc/cpuinfo": odd, "proc/meminfo": odd})
    machine = environment.read_machine((0,), root=tmp_path)
    assert (machine.logical_cpus, machine.numa_nodes, machine.memory_bytes) == (1, 1, 0)
    assert machine.last_level_cache_bytes == environment.ASSUMED_LAST_LEVEL_CACHE_BYTES


def test_processors_without_a_name_are_told_apart_by_their_numbers(tmp_path: Path) -> None:
    write(tmp_path, {"proc/cpuinfo": GRAVITON})
    machine = environment.read_machine((0,), root=tmp_path)
    assert machine.cpu_model == "(implementer 0x41, part 0xd40)"
    assert machine.cpu_flags == ("asimd", "sve")


def test_the_host_is_known_again_but_not_named(tmp_path: Path) -> None:
    hosts = []
    for name, files in {
        "one": {"etc/machine-id": "aaaa"},
        "again": {"etc/machine-id": "aaaa\n", "proc/sys/kernel/random/boot_id": "bbbb"},
        "other": {"etc/machine-id": "cccc"},
        "without id": {"proc/sys/kernel/random/boot_id": "aaaa"},
    }.items():
        write(tmp_path / name, files)
        hosts.append(environment.read_machine((0,), root=tmp_path / name).host)
    assert hosts[0] == hosts[1] != hosts[2]
    assert "aaaa" not in hosts[0]
    assert hosts[3] != "unreadable"


def test_two_nodes_that_run_one_image_are_two_hosts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(environment.POD_UID, "11111111-2222-3333-4444-555555555555")
    hosts = set()
    for booted in ("bbbb", "cccc"):
        write(
            tmp_path,
            {"etc/machine-id": "aaaa", "proc/sys/kernel/random/boot_id": booted},
        )
        hosts.add(environment.read_machine((0,), root=tmp_path).host)
    assert len(hosts) == 2


def test_the_last_level_cache_is_the_largest_of_the_highest_level(tmp_path: Path) -> None:
    write(tmp_path, a_cache(0, 1, level="1", size="64M", kind="Instruction"))
    write(tmp_path, a_cache(0, 2, level="2", size="1024K"))
    assert environment.last_level_cache_bytes(root=tmp_path) == 1024 * 1024
    write(tmp_path, a_cache(0, 3, level="3", size="16M") | a_cache(8, 3, level="3", size="96M"))
    assert environment.last_level_cache_bytes(root=tmp_path) == 96 * 1024 * 1024


def test_an_unknown_last_level_cache_is_taken_for_a_large_one(tmp_path: Path) -> None:
    assert environment.last_level_cache_bytes(root=tmp_path) == 64 * 1024 * 1024


@pytest.mark.parametrize(
    ("cpuinfo", "isa"),
    [
        (EPYC, IsaCap.AVX512),
        (EPYC.replace("avx512vl\n", "\n"), IsaCap.AVX2),
        (HASWELL, IsaCap.AVX2),
        (HASWELL.replace("fma", ""), IsaCap.NATIVE),
        (GRAVITON, IsaCap.NATIVE),
        ("", IsaCap.NATIVE),
    ],
)
def test_the_usable_instructions_are_those_that_every_processor_has(
    tmp_path: Path, cpuinfo: str, isa: IsaCap
) -> None:
    write(tmp_path, {"proc/cpuinfo": cpuinfo})
    assert environment.usable_isa(tmp_path) is isa


def test_this_machine_is_described() -> None:
    cpus = environment.choose_measuring_cpus(1)
    machine = environment.read_machine(cpus)
    assert machine.logical_cpus >= len(os.sched_getaffinity(0))
    assert machine.memory_bytes == os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    assert machine.kernel == os.uname().release
    assert machine.measuring_cpus == cpus
    assert machine.last_level_cache_bytes >= 256 * 1024


def test_the_instructions_are_those_that_torch_would_use() -> None:
    torch = pytest.importorskip("torch")
    expected = {"AVX512": IsaCap.AVX512, "AVX2": IsaCap.AVX2}
    capability = torch.backends.cpu.get_cpu_capability()
    if "ATEN_CPU_CAPABILITY" not in os.environ:
        assert environment.usable_isa() is expected.get(capability, IsaCap.NATIVE)


def test_software_is_described_without_importing_torch() -> None:
    program = (
        "import sys; from equipoise_runner import environment;"
        "print(environment.read_software().model_dump_json()); assert 'torch' not in sys.modules"
    )
    printed = subprocess.run(
        [sys.executable, "-c", program], check=True, capture_output=True, text=True
    )
    assert environment.read_software().model_dump_json() == printed.stdout.strip()


def test_the_runner_digest_changes_with_any_of_its_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(tmp_path, {"environment.py": "", "bench/arm.py": "1", "bench/__pycache__/arm.pyc": "x"})
    monkeypatch.setattr(environment, "__file__", str(tmp_path / "environment.py"))
    first = environment.read_software().runner_digest
    write(tmp_path, {"bench/__pycache__/arm.pyc": "y"})
    assert environment.read_software().runner_digest == first
    write(tmp_path, {"bench/arm.py": "2"})
    second = environment.read_software().runner_digest
    (tmp_path / "bench/arm.py").rename(tmp_path / "bench/harm.py")
    assert len({first, second, environment.read_software().runner_digest}) == 3


def test_a_missing_distribution_is_said_to_be_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "path", [])
    assert environment.read_software().torch == "not installed"


def test_the_measuring_cpus_are_the_last_that_this_process_may_use() -> None:
    allowed = sorted(os.sched_getaffinity(0))
    assert environment.choose_measuring_cpus(1) == (allowed[-1],)
    assert environment.choose_measuring_cpus(len(allowed)) == tuple(allowed)


def test_a_narrower_affinity_is_respected() -> None:
    first = min(os.sched_getaffinity(0))
    chosen: list[tuple[int, ...]] = []

    def narrowed() -> None:
        os.sched_setaffinity(0, {first})  # of this thread alone
        chosen.append(environment.choose_measuring_cpus(1))

    thread = threading.Thread(target=narrowed)
    thread.start()
    thread.join()
    assert chosen == [(first,)]


def test_too_few_cpus_are_refused_with_what_to_change() -> None:
    with pytest.raises(
        environment.EnvironmentFault, match=r"1024 threads .* lower `environment.threads`"
    ):
        environment.choose_measuring_cpus(1024)


def test_the_cpu_time_of_a_process_grows_with_its_work_and_covers_ended_threads() -> None:
    before = environment.process_cpu_nanoseconds(os.getpid())
    spent: list[int] = []

    def work() -> None:
        while time.thread_time_ns() < 30_000_000:
            pass
        spent.append(time.thread_time_ns())

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert environment.process_cpu_nanoseconds(os.getpid()) - before >= spent[0]


def test_a_process_that_is_gone_used_nothing(tmp_path: Path) -> None:
    process = subprocess.Popen([sys.executable, "-c", ""])
    process.wait()
    assert environment.process_cpu_nanoseconds(process.pid) == 0
    assert environment.process_cpu_nanoseconds(1, root=tmp_path) == 0
