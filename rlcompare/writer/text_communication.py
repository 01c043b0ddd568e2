"""communication.json and communication_matrix.json."""

from __future__ import annotations

from rlcompare.writer.model import Capture, CollectiveTask
from rlcompare.writer.reported import by_step, collective_times, matrix, package_sizes, step_key

Json = dict[str, "Json | float | str | list[float]"]

_TRANSPORTS = ("RDMA", "HCCS", "PCIE", "SDMA", "SIO")


def communication(capture: Capture) -> Json:
    """Times in ms (the start in µs), sizes in MB, bandwidths in GB/s, per step and collective."""
    content: Json = {}
    for number, tasks in by_step(capture).items():
        collectives: Json = {f"{task.name}@{capture.group.digest}": _collective(task) for task in tasks}
        content[step_key(number)] = {"p2p": {}, "collective": collectives | {"Total Op Info": _total(tasks)}}
    return content


def _collective(task: CollectiveTask) -> Json:
    times = _times([task])
    start: Json = {"Start Timestamp(us)": task.start_ns / 1_000}
    return {"Communication Time Info": start | times, "Communication Bandwidth Info": _bandwidths([task], total=False)}


def _total(tasks: list[CollectiveTask]) -> Json:
    return {"Communication Time Info": _times(tasks), "Communication Bandwidth Info": _bandwidths(tasks, total=True)}


def _times(tasks: list[CollectiveTask]) -> Json:
    found = [collective_times(task) for task in tasks]
    transit, wait = sum(t.transit for t in found), sum(t.wait for t in found)
    synchronization = sum(t.synchronization for t in found)
    return {
        "Elapse Time(ms)": sum(t.elapsed for t in found) / 1e6,
        "Transit Time(ms)": transit / 1e6,
        "Wait Time(ms)": wait / 1e6,
        "Synchronization Time(ms)": synchronization / 1e6,
        "Idle Time(ms)": sum(t.idle for t in found) / 1e6,
        "Wait Time Ratio": round(wait / (wait + transit), 4) if wait + transit else 0,
        "Synchronization Time Ratio": round(synchronization / (synchronization + transit), 4)
        if synchronization + transit
        else 0,
    }


def _bandwidths(tasks: list[CollectiveTask], *, total: bool) -> Json:
    """Bandwidths by transport. Everything goes over HCCS; SDMA repeats it without the distribution."""
    sizes = package_sizes(part for task in tasks for part in task.tasks)
    size = sum(package * count for package, (count, _) in sizes.items())
    duration = sum(time for _, time in sizes.values())
    distribution: Json = {str(package / 1e6): [count, time / 1e6] for package, (count, time) in sizes.items()}
    result: Json = {}
    for transport in _TRANSPORTS:
        used = transport in ("HCCS", "SDMA") and bool(duration)
        entry: Json = {
            "Transit Size(MB)": size / 1e6 if used else 0,
            "Transit Time(ms)": duration / 1e6 if used else 0,
        }
        if not total:
            entry |= {"Bandwidth(GB/s)": round(size / duration, 4) if used else 0, "Large Packet Ratio": 0}
        result[transport] = entry | {"Size Distribution": distribution if transport == "HCCS" else {}}
    return result


def communication_matrix(capture: Capture) -> Json:
    """Per step and kind of collective: the fastest, middle and slowest transfers between each two ranks, and all."""
    content: Json = {}
    for number, tasks in by_step(capture).items():
        kinds: Json = {}
        for kind in dict.fromkeys(task.kind for task in tasks):
            same = [task for task in tasks if task.kind == kind]
            for place, links in matrix(same).items():
                entry: Json = {}
                for (source, target), (transfer, name) in links.items():
                    link: Json = {
                        "Transport Type": "LOCAL" if source == target else "HCCS",
                        "Transit Size(MB)": transfer.size_bytes / 1e6,
                        "Transit Time(ms)": transfer.duration_ns / 1e6,
                        "Bandwidth(GB/s)": transfer.bandwidth,
                    }
                    entry[f"{source}-{target}"] = link | ({"Op Name": name} if name else {})
                kinds[f"{kind.lower()}-{place}@{capture.group.digest}"] = entry
        content[step_key(number)] = {"p2p": {}, "collective": kinds}
    return content
