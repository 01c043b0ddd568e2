"""Attaches the probes of RLCOMPARE_PROBE at interpreter start: ``rlcompare-probe.pth`` imports it where that is set.

It runs in every process that inherits the variable, whatever its program: what is wrong is said, and nothing raised.
"""

from __future__ import annotations

import os
import sys


def _start() -> None:
    try:
        from rlcompare.collect.probe.attaching import attach_request
        from rlcompare.collect.probe.request import VARIABLE, requests_in

        for request in requests_in(os.environ.get(VARIABLE, "")):
            attach_request(request)
    except Exception as error:
        sys.stderr.write(f"rlcompare: RLCOMPARE_PROBE is not heeded: {error}\n")


_start()
