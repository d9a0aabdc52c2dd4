"""Hosts of a small cluster: each with a network address, a /tmp and a home of its own, and one folder that all share.

With root on Linux a host is a set of namespaces: network, mounts, host name, processes. They live as long as their
first process, a ``cat`` that ends when this process closes its end of a pipe, be it by a crash: then the system kills
all that runs inside and forgets networks and mounts. Nothing has a name outside, so nothing is left behind and runs do
not meet. The bridge that joins the hosts is in a namespace too; the network of the machine is not touched.

Elsewhere the hosts are plain processes on loopback, each with a home of its own.
"""

from __future__ import annotations

import contextlib
import os
import select
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pyspark
from tests.cluster.processes import below
from tests.spark.conftest import QUICK_JVM

ROOT = Path(__file__).resolve().parents[2]
SPARK_HOME = Path(pyspark.__file__).resolve().parent
NAMES = ("driver", "worker-1", "worker-2")
NETWORK = "198.18.0"  # set aside for measurements between networks (RFC 2544), seen inside the namespaces only
LOOPBACK = "127.0.0.1"
WISH = "SIGHTLINE_TEST_HOSTS"  # "loopback" asks for plain processes where namespaces are possible
TMP = Path("/tmp")
TOOLS = ("unshare", "nsenter", "ip", "mount")
SECONDS = 20  # that anything of this file may take
NAMESPACES = ["--mount", "--uts", "--net", "--pid", "--ipc"]

# $1 its private folder, $2 its name, $3 the names of all; further arguments are folders in /tmp that it still sees.
_HOST = """
set -e
private=$1 name=$2 names=$3; shift 3
mount --bind "$names" /etc/hosts
for kept; do
    mkdir -p "$private/${kept#/tmp/}"
    mount --rbind "$kept" "$private/${kept#/tmp/}"
done
mount --rbind "$private" /tmp
echo "$name" > /proc/sys/kernel/hostname
ip link set lo up
echo ready
exec cat > /dev/null
"""
_SWITCH = """
set -e
ip link add name switch type bridge
ip link set switch up
echo ready
exec cat > /dev/null
"""
# Plain processes: ends the whole process group when this process closes its end of a pipe, be it by a crash.
_KEEPER = '"$@" < /dev/null & cat > /dev/null; kill -9 0'


@dataclass
class Host:
    """A host, or a process group that plays one."""

    name: str
    address: str
    private: Path  # its /tmp, as seen from outside
    first: int | None  # its first process, as seen from outside; None: plain processes
    started: list[subprocess.Popen[str]] = field(default_factory=list)

    @property
    def tmp(self) -> Path:
        """Its /tmp, as seen from inside."""
        return self.private if self.first is None else TMP

    @property
    def kernels(self) -> Path:
        """The kernel cache of its user, as seen from outside."""
        return self.private / "user" / ".cache" / "sightline"

    def environment(self) -> dict[str, str]:
        """What its processes inherit: nothing of this one that names a cache or a session."""
        kept = {name: os.environ[name] for name in ("JAVA_HOME", "TZ") if name in os.environ}
        ours = str(Path(sys.prefix) / "bin")  # executors find their Python by what the session says, not here
        own = {
            "PATH": os.pathsep.join(part for part in os.get_exec_path() if part != ours),
            "HOME": str(self.tmp / "user"),
            "TMPDIR": str(self.tmp),
            "LC_ALL": "C.UTF-8",
            "SPARK_HOME": str(SPARK_HOME),
            "SPARK_LOCAL_IP": self.address,
            "SPARK_LOCAL_DIRS": str(self.tmp),
        }
        return {**kept, **own, **QUICK_JVM}

    def start(
        self,
        command: Sequence[str],
        log: Path,
        *,
        cwd: Path | None = None,
        talks: bool = False,
        more: dict[str, str] | None = None,
    ) -> subprocess.Popen[str]:
        """Start a process on this host; one that talks has pipes, and ends by itself when its input does."""
        said = [*command]
        if self.first is not None:
            said = ["nsenter", "--target", str(self.first), *NAMESPACES, "env", "-C", str(cwd or self.tmp), *said]
        elif not talks:
            said = ["sh", "-c", _KEEPER, "keeper", *said]
        with log.open("w") as output:
            process = subprocess.Popen(
                said,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE if talks else output,
                stderr=output,
                text=True,
                cwd=None if self.first is not None else (cwd or self.tmp),
                env={**self.environment(), **(more or {})},
                start_new_session=True,
            )
        self.started.append(process)
        return process

    def end(self, process: subprocess.Popen[str]) -> None:
        """End a process that was started here, and all it started."""
        with contextlib.suppress(BrokenPipeError):
            process.stdin.close()
        try:
            process.wait(timeout=SECONDS / 4)
        except subprocess.TimeoutExpired:
            inside = [process.pid, *(child.pid for child in below(process.pid))]
            for pid in reversed(inside):
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            process.wait(timeout=SECONDS)
        self.started.remove(process)


@dataclass(frozen=True)
class Hosts:
    """The hosts of a cluster, and the folder they share by the same path."""

    driver: Host
    workers: tuple[Host, ...]
    shared: Path
    together: str | None  # why they are no hosts of their own, None if they are


@contextlib.contextmanager
def hosts(folder: Path, driver_sees: Sequence[Path] = ()) -> Iterator[Hosts]:
    """Hosts with their private folders under ``folder``; the driver's sees further folders, if they are in /tmp."""
    shared = folder / "shared"
    shared.mkdir()
    for name in NAMES:
        (folder / name / "user").mkdir(parents=True)
    reason, made = _obstacle(), [Host(name, LOOPBACK, folder / name, None) for name in NAMES]
    with contextlib.ExitStack() as namespaces:
        if reason is None:
            try:
                made = _separate(folder, shared, driver_sees, namespaces)
            except (OSError, subprocess.SubprocessError) as error:
                reason = f"no separate hosts: {getattr(error, 'stderr', None) or error}".strip()
                namespaces.close()
        try:
            yield Hosts(made[0], tuple(made[1:]), shared, reason)
        finally:
            namespaces.close()  # kills what is inside
            for host in made:
                for process in [*host.started]:
                    host.end(process)
                shutil.rmtree(host.private, ignore_errors=True)  # 30 MB of kernels, and what Spark kept there


def _obstacle() -> str | None:
    """Why there can be no namespaces here, as far as it shows without trying."""
    if os.environ.get(WISH) == "loopback":
        return f"{WISH}=loopback asks for plain processes"
    if not sys.platform.startswith("linux"):
        return f"separate hosts need the namespaces of Linux, this is {sys.platform}"
    if os.geteuid() != 0:
        return "separate hosts need root"
    missing = [tool for tool in TOOLS if shutil.which(tool) is None]
    return f"separate hosts need {', '.join(missing)}" if missing else None


def _separate(folder: Path, shared: Path, driver_sees: Sequence[Path], stack: contextlib.ExitStack) -> list[Host]:
    names = folder / "names"
    addresses = {name: f"{NETWORK}.{number}" for number, name in enumerate(NAMES, 1)}
    names.write_text(f"{LOOPBACK} localhost\n" + "".join(f"{at} {name}\n" for name, at in addresses.items()))
    everywhere = [shared, ROOT, Path(sys.prefix), Path(sys.base_prefix), SPARK_HOME, *_java()]
    switch = stack.enter_context(_first_process(["--net", "--pid"], _SWITCH, [], folder / "switch.log"))
    made = []
    for number, (name, address) in enumerate(addresses.items(), 1):
        seen = _outermost([*everywhere, *(driver_sees if number == 1 else [])])
        told = [str(path) for path in (folder / name, Path(name), names, *seen)]
        log = folder / f"{name}.log"
        first = stack.enter_context(_first_process([*NAMESPACES, "--mount-proc"], _HOST, told, log))
        for at, line in (
            (switch, f"link add name to-{number} type veth peer name eth0 netns {first}"),
            (switch, f"link set to-{number} master switch up"),
            (first, f"address add {address}/24 dev eth0"),
            (first, "link set eth0 up"),
        ):
            command = ["nsenter", "--target", str(at), "--net", "ip", *line.split()]
            subprocess.run(command, check=True, capture_output=True, text=True, timeout=SECONDS)
        made.append(Host(name, address, folder / name, first))
    return made


def _java() -> list[Path]:
    return [Path(os.environ["JAVA_HOME"]).resolve()] if "JAVA_HOME" in os.environ else []


def _outermost(paths: Sequence[Path]) -> list[Path]:
    """Those in /tmp, without those inside of another."""
    here = sorted({path.resolve() for path in paths if path.resolve().is_relative_to(TMP)})
    return [path for path in here if not any(path != other and path.is_relative_to(other) for other in here)]


@contextlib.contextmanager
def _first_process(kinds: Sequence[str], script: str, told: Sequence[str], log: Path) -> Iterator[int]:
    """Make namespaces and run a script as their first process until the end of the context; its id outside."""
    command = ["unshare", *kinds, "--fork", "--kill-child", "sh", "-c", script, "first", *told]
    with log.open("w") as errors:
        keeper = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors, start_new_session=True
        )
    try:
        ready, _, _ = select.select([keeper.stdout], [], [], SECONDS)
        if not ready or keeper.stdout.readline() != b"ready\n":
            raise OSError(" ".join(log.read_text(errors="replace").split()) or f"nothing happens in {SECONDS} s")
        yield below(keeper.pid)[0].pid
    finally:
        keeper.stdin.close()
        try:
            keeper.wait(timeout=SECONDS)
        except subprocess.TimeoutExpired:
            keeper.kill()  # and with it the first process inside, --kill-child
            keeper.wait(timeout=SECONDS)
        keeper.stdout.close()
