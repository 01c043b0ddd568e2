"""Builds the stand-in for CANN for one torch_npu wheel: ``python build.py SITE_PACKAGES HOME``.

The home is laid out as CANN's is: lib64, tools with msprof, and the folders that torch_npu wants to see. It takes
x86-64 Linux with gcc and binutils. The wheel's libraries say which functions of CANN they need and which operators they
look up; those that the C files beside this one do not have do nothing.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

_HERE = Path(__file__).resolve().parent
_SOURCES = {
    "libascendcl.so": "ascendcl.c",
    "libhccl.so": "hccl.c",
    "libopapi.so": "operators.c",
    "libms_tools_ext.so": "mstx.c",
    "libmsprofiler.so": "msprofiler.c",
    "libacl_op_compiler.so": "compiler.c",
}
_EMPTY = ("libge_runner.so", "libgraph.so", "libacl_tdt_channel.so", "libascend_hal.so")
_LOOKED_UP = (
    "aclprofDestroyConfig", "aclrtDestroyStreamForce", "aclrtGetLastError", "aclrtLaunchHostFunc",
    "aclrtPeekAtLastError", "aclrtSetDeviceSatMode", "aclrtSetOpExecuteTimeOut", "aclrtSetOpWaitTimeout",
    "aclrtSetStreamAttribute", "aclrtSetStreamFailureMode", "aclrtSynchronizeDevice",
    "aclrtSynchronizeDeviceWithTimeout", "aclrtSynchronizeStreamWithTimeout",
)  # fmt: skip
"""Functions of libascendcl that the wheel finds by name while it runs, and cannot do without."""
_OF_CANN = re.compile(r"(acl[a-z]*[A-Z]|Hccl|rt[A-Z]|Msprof)\w*")
_OPERATOR = re.compile(r"(aclnn[A-Z]\w+?)(GetWorkspaceSize)?")
_WRITTEN = {"aclnnInplaceCopy", "aclnnInplaceDivs", "aclnnConstantPadNd"}
"""Operators that operators.c has."""


def build(site_packages: Path, home: Path) -> None:
    """Makes the home, which must not exist, or holds what an earlier call made.

    Args:
        site_packages: where ``torch_npu`` is installed.

    Raises:
        subprocess.CalledProcessError: a compiler failed; its messages are on standard error.
    """
    wheel = site_packages / "torch_npu"
    folder = home / "lib64"
    for name in ("lib64", "runtime", "compiler", "opp"):
        (home / name).mkdir(parents=True, exist_ok=True)
    for name in ("tools", "python"):
        shutil.copytree(_HERE / name, home / name, dirs_exist_ok=True)
    (home / "ascend_stand_in_install.info").write_text("version=8.3.RC1\n")
    (folder / "nothing.c").write_text("")
    (folder / "rest.c").write_text(_rest(wheel))
    (folder / "aclnn.c").write_text(_operators(wheel))
    more = {"libascendcl.so": [folder / "rest.c"], "libopapi.so": [folder / "aclnn.c"]}
    _compile(folder, "libascendcl.so", [_HERE / "ascendcl.c", *more["libascendcl.so"]])
    others = {name: [_HERE / source, *more.get(name, ())] for name, source in _SOURCES.items()}
    others |= {name: [folder / "nothing.c"] for name in _EMPTY}
    del others["libascendcl.so"]
    with ThreadPoolExecutor() as pool:
        for _ in pool.map(lambda name: _compile(folder, name, others[name], "-lascendcl"), others):
            pass


def environment(home: Path, devices: int = 1) -> dict[str, str]:
    """What a process needs to find the stand-in, over its present environment.

    Args:
        devices: how many NPUs there are; 0 is a machine without one.
    """
    return {
        "LD_LIBRARY_PATH": str(home / "lib64"),
        "ASCEND_HOME_PATH": str(home),
        "ASCEND_OPP_PATH": str(home / "opp"),
        "PATH": f"{home / 'tools/profiler/bin'}{os.pathsep}{os.environ['PATH']}",
        "STAND_IN_DEVICES": str(devices),
    }


def _compile(folder: Path, name: str, sources: list[Path], *libraries: str) -> None:
    # What takes other arguments than are passed is meant: a generated function takes whatever it is given.
    flags = ["-O1", "-w", "-shared", "-fPIC", f"-Wl,-soname,{name}", f"-I{_HERE}", f"-L{folder}"]
    subprocess.run(["gcc", *flags, "-o", folder / name, *sources, *libraries], check=True)


def _rest(wheel: Path) -> str:
    """What the wheel needs and our files lack, as functions that do nothing."""
    own = "\n".join((_HERE / source).read_text() for source in _SOURCES.values())
    libraries = [*wheel.glob("lib/libtorch_npu.so"), *wheel.glob("lib/libtensorpipe.so"), *wheel.glob("_C*.so")]
    listed = _output("nm", "-D", "--undefined-only", *libraries)
    names = {match[1].partition("@")[0] for match in re.finditer(r"^\s+U (\S+)$", listed, re.M)} | {*_LOOKED_UP}
    needed = sorted(name for name in names if _OF_CANN.fullmatch(name) and not re.search(rf"\b{name}\(", own))
    return "".join(f"int {name}(void) {{ return 0; }}\n" for name in needed)


def _operators(wheel: Path) -> str:
    """Every operator that the wheel knows by name: no workspace, and a launch that is noted."""
    strings = _output("strings", "-n", "6", *wheel.glob("lib/libtorch_npu.so"), *wheel.glob("lib/libop_plugin_atb.so"))
    names = {match[1] for line in strings.splitlines() if (match := _OPERATOR.fullmatch(line))}
    functions = (
        f'static const char {name}_[] = "{name}";\n'
        f"int {name}GetWorkspaceSize(void) {{ described({name}_); return 0; }}\n"
        f"int {name}(void *workspace, uint64_t size, void *executor, void *stream) "
        f"{{ launched({name}_, stream, now_ns()); return 0; }}\n"
        for name in sorted(names - _WRITTEN)
    )
    head = (
        '#include "recorder.h"\nvoid described(const char *name);\n'
        "void launched(const char *name, const void *stream, uint64_t start_ns);\n"
    )
    return head + "".join(functions)


def _output(*command: str | Path) -> str:
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


if __name__ == "__main__":
    build(Path(sys.argv[1]), Path(sys.argv[2]))
