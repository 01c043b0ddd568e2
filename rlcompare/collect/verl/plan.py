"""The additions to a verl job that enable profiling and log its metrics to a file.

The job's own configuration takes precedence: a key that the command names, or that differs from verl's default, is
never overridden. There are two exceptions: loggers are added to ``trainer.logger``, and a list of steps that is empty
or null, which switches profiling off, is replaced.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path

from rlcompare.collect.run_directory import PROFILE
from rlcompare.collect.verl import sampling
from rlcompare.collect.verl.ask import NEWEST, Installed
from rlcompare.collect.verl.command import VerlCommand, is_changed_by_shell, override, written
from rlcompare.collect.verl.keys import (
    AGENT_LOOP,
    FILE_LOGGER,
    RELOCATES,
    ROLLOUT,
    TORCH,
    TORCH_CONTENTS,
    is_agent_loop,
    keys_of,
    number,
    profiled_steps,
    profiles_agent_loop,
    roles_of,
)
from rlcompare.collect.verl.planned import VerlPlan
from rlcompare.collect.verl.variables import choose_variables
from rlcompare.errors import UsageError

_JOINED = "global_profiler.profile_continuous_steps"
_FREQUENCIES = ("trainer.test_freq", "trainer.save_freq", "rollout.test_freq")
_VALIDATES = "trainer.val_before_train"
_FIRST_STEP = 3
"""The first two steps compile, allocate and warm up."""


def make_plan(
    command: VerlCommand,
    installed: Installed,
    folder: Path,
    tool: str | None,
    environment: Mapping[str, str],
    probes: Sequence[str] = (),
) -> VerlPlan:
    """Decides what to add.

    Args:
        installed: the answer about the command as it stands.
        folder: of the run; absolute.
        tool: the user's choice of a profiler; None: chosen by the machine.
        environment: the environment that the job's command will run in.
        probes: probes that replace profiled steps, as the user wrote them.

    Raises:
        UsageError: the user's choices contradict each other.
    """
    maker = _Maker(command, installed, folder, environment)
    if probes:
        maker.sample(probes, tool)
    else:
        maker.choose_tool(tool)
        maker.choose_steps()
        maker.choose_folder()
        maker.choose_roles()
        maker.choose_contents()
    maker.choose_loggers()
    choose_variables(maker.plan, command, installed, folder, environment)
    if command.submission:
        maker.plan.notes += [
            f"older versions of ray job submit let the shell of the cluster change {text}: "
            "use folders without $, ` and double backslashes"
            for text in filter(is_changed_by_shell, maker.plan.overrides)
        ]
    if installed.version > NEWEST:
        known = ".".join(map(str, NEWEST))
        maker.plan.notes.append(f"{installed.verl} is newer than {known}, the newest version tested with rlcompare")
    return maker.plan


class _Maker:
    """Fills a plan, key by key."""

    def __init__(
        self, command: VerlCommand, installed: Installed, folder: Path, environment: Mapping[str, str]
    ) -> None:
        self._command, self._installed, self._folder, self._environment = command, installed, folder, environment
        self._keys = keys_of(installed)
        self.plan = VerlPlan()

    def _add(self, key: str, value: object) -> None:
        prefix = "" if self._installed.has(key) else "++"
        self.plan.overrides.append(override(f"{prefix}{key}", value))

    def _is_theirs(self, key: str, default: object) -> bool:
        """Whether the job's own configuration sets a key."""
        return self._command.names(key) or self._installed.value(key) not in (default, None)

    def sample(self, probes: Sequence[str], tool: str | None) -> None:
        self.plan.tool = tool or ("npu" if self._is_of_npu() else "torch")
        self._note_missing()
        self.plan.steps = sampling.steps_of(probes)
        self.plan.profile = self._folder / PROFILE
        self.plan.probes = tuple(probes)
        self.plan.environment[sampling.VARIABLE] = sampling.variable_of(probes, self.plan.profile, tool)
        decoding = sampling.decode_probes(probes)
        if decoding and self._installed.value(_VALIDATES) is not False:
            self.plan.notes.append(
                f"{decoding[0]} counts decode steps from the start of the job, and verl validates before it "
                f"trains: add {_VALIDATES}=False to the command, or the profile is one of validation"
            )
        for place in sampling.outputs_of(probes):
            self._note_elsewhere("a probe's output=", place)

    def choose_tool(self, wanted: str | None) -> None:
        key = self._keys.tool
        is_theirs = key is not None and self._is_theirs(key, self._keys.default_tool)
        theirs = self._installed.value(key) if key is not None and is_theirs else None
        if theirs is not None and wanted not in (None, theirs):
            raise UsageError(f"--tool {wanted} and {key}={theirs} set two different tools: remove one of them")
        self.plan.tool = theirs or wanted or self._fitting()
        if theirs is None and key is not None:
            self._add(key, self.plan.tool)
        self._note_missing()

    def _fitting(self) -> str:
        """The tool for the job's device. On a GPU, verl's first versions only support Nsight Systems."""
        if self._is_of_npu():
            return "npu"
        if self._installed.version >= TORCH:
            return "torch"
        verl = self._installed.verl
        if not self._has_nsys():
            raise UsageError(
                f"on a GPU {verl} is profiled by Nsight Systems alone, and nsys is not on PATH: install it, or use "
                "verl 0.7.1 or later, which has torch.profiler (where the workers have nsys, choose --tool nsys)"
            )
        self.plan.notes.append(f"on a GPU {verl} is profiled by Nsight Systems alone, so the tool is nsys")
        return "nsys"

    def _is_of_npu(self) -> bool:
        return self._installed.npu or self._installed.value("trainer.device") == "npu"

    def _has_nsys(self) -> bool:
        return shutil.which("nsys", path=self._environment.get("PATH", os.defpath)) is not None

    def _note_missing(self) -> None:
        """Notes tools that this machine lacks; the workers may have them."""
        if self.plan.tool == "npu" and not self._installed.npu:
            self.plan.notes.append(
                f"torch_npu is not installed for {self._command.python}: unless the workers have it, "
                "the tool npu records nothing"
            )
        if self.plan.tool == "nsys" and not self._has_nsys():
            self.plan.notes.append("nsys is not on PATH here: unless the workers have it, they will not start")

    def choose_steps(self) -> None:
        key, theirs = self._keys.steps, self._installed.value(self._keys.steps)
        if theirs not in (None, [], [-1, -1]):
            self.plan.steps = profiled_steps(self._installed)
        else:
            self.plan.steps = [self._quiet_step()]
            self._add(key, self.plan.steps * (2 if self._keys.is_interval else 1))
            if self._command.names(key):
                self.plan.notes.append(
                    f"{key}={written(theirs)} switches verl's profiler off: rlcompare sets it to {self.plan.steps}"
                )
        busy = [step for step in self.plan.steps if self._tests_or_saves(step)]
        if busy:
            self.plan.notes.append(
                f"step {busy[0]} also tests or saves a checkpoint (trainer.test_freq, trainer.save_freq), and its "
                f"profile includes that; choose another step with {self._keys.steps}"
            )

        discrete = f"{self._keys.first_role}.tool_config.{self.plan.tool}.discrete"
        if self._installed.value(_JOINED) is True and self._installed.value(discrete) is True:
            self.plan.notes.append(
                f"{_JOINED}=True has no effect with tool_config.{self.plan.tool}.discrete=True: each call of a role "
                "has a profile of its own"
            )

    def _quiet_step(self) -> int:
        last = number(self._installed.value("trainer.total_training_steps"))
        if last is not None and last <= _FIRST_STEP:
            return max(last - 1, 1)
        candidates = [*range(_FIRST_STEP, min(last or _FIRST_STEP + 10, _FIRST_STEP + 10)), _FIRST_STEP - 1]
        return next((step for step in candidates if not self._tests_or_saves(step)), _FIRST_STEP)

    def _tests_or_saves(self, step: int) -> bool:
        every = [number(self._installed.value(key)) or 0 for key in _FREQUENCIES]
        is_last = step == self._installed.value("trainer.total_training_steps") and any(n > 0 for n in every)
        return is_last or any(frequency > 0 and step % frequency == 0 for frequency in every)

    def choose_folder(self) -> None:
        """Sends the profiles to the run directory, unless the job has its own folder for them."""
        key, ours = self._keys.save_path, self._folder / PROFILE
        theirs = self._installed.value(key)
        if not self._is_theirs(key, self._keys.default_save_path):
            self.plan.profile = ours
            self._add(key, str(ours))
            return
        self.plan.profile = Path(theirs or self._keys.default_save_path).absolute()
        self._note_elsewhere(key, self.plan.profile)

    def _note_elsewhere(self, key: str, place: Path) -> None:
        if not place.is_relative_to(self._folder):
            self.plan.elsewhere.append(place)
            self.plan.notes.append(
                f"{key} is your setting, so the profiles go to {place}; when the job has ended, they are put into "
                f"{self._folder / PROFILE} too, so that diff needs the run directory alone"
            )

    def choose_roles(self) -> None:
        """Profiles every role that takes part, on rank 0, unless the job sets roles or ranks."""
        roles = roles_of(self._installed)
        theirs = [branch for branch in roles.values() if self._installed.value(f"{branch}.enable") is True]
        for branch in roles.values():
            if self._keys.can_enable and not theirs and not self._command.names(f"{branch}.enable"):
                self._add(f"{branch}.enable", True)
            elif self._keys.can_enable and branch not in theirs:
                continue
            self._choose_ranks(branch)

    def _choose_ranks(self, branch: str) -> None:
        """Uses the actor's ranks if only those are set."""
        if self._selects_ranks(branch):
            return
        actor = self._keys.first_role
        if branch != actor and self._selects_ranks(actor):
            for name in ("all_ranks", "ranks"):
                if self._installed.value(f"{actor}.{name}"):
                    self._add(f"{branch}.{name}", self._installed.value(f"{actor}.{name}"))
            return
        self._add(f"{branch}.ranks", [0])

    def _selects_ranks(self, branch: str) -> bool:
        return self._is_theirs(f"{branch}.ranks", []) or self._is_theirs(f"{branch}.all_ranks", False)

    def choose_contents(self) -> None:
        if self.plan.tool == "torch":
            for branch in roles_of(self._installed).values():
                key = f"{branch}.tool_config.torch.contents"
                if self._installed.has(key) and not self._is_theirs(key, []):
                    self._add(key, list(TORCH_CONTENTS))
        discrete = f"{ROLLOUT}.tool_config.{self.plan.tool}.discrete"
        is_end_to_end = self._installed.value(discrete) is False and not self._command.names(discrete)
        if profiles_agent_loop(self._installed) and is_end_to_end:
            self._add(discrete, True)
        if self.plan.tool == "nsys":
            self._choose_reports()
        if profiles_agent_loop(self._installed) and self.plan.tool not in ("npu", "torch"):
            self.plan.notes.append(f"{self.plan.tool} does not record the rollout of an agent loop; npu and torch do")
        if is_agent_loop(self._installed) and self._installed.version < AGENT_LOOP:
            first = ".".join(map(str, AGENT_LOOP))
            self.plan.notes.append(f"{self._installed.verl} cannot profile an agent loop's rollout ({first} can)")

    def _choose_reports(self) -> None:
        """Has verl move the reports of Nsight Systems, or notes where Ray leaves them: its folder cannot be chosen."""
        relocate = "global_profiler.relocate_results"
        if self._installed.version >= RELOCATES and not self._command.names(relocate):
            self._add(relocate, True)
        elif self._installed.version < RELOCATES:
            self.plan.notes.append(
                "Ray leaves the reports of Nsight Systems on each node under /tmp/ray/session_latest/logs/nsight: "
                "copy them, and export them with nsys export --type sqlite"
            )

    def choose_loggers(self) -> None:
        given = self._installed.value("trainer.logger")
        theirs = [given] if isinstance(given, str) else list(given or ())
        wanted = ["console", "file"] if self._installed.version >= FILE_LOGGER else ["console"]
        missing = [name for name in wanted if name not in theirs]
        if missing:
            self._add("trainer.logger", [*theirs, *missing])
