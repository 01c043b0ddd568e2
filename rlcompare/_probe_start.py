"""Attaches the probes of RLCOMPARE_PROBE at interpreter start. ``rlcompare-probe.pth`` imports it if that is set.

It runs in every process that inherits the variable, whatever its program. It reports errors and raises none.
It lies outside the packages that it imports, and imports nothing at module level that could be shadowed.
"""

import os
import sys


def _start() -> None:
    try:
        from rlcompare.collect.probe.attaching import attach_request
        from rlcompare.collect.probe.request import VARIABLE, requests_in

        for request in requests_in(os.environ.get(VARIABLE, "")):
            attach_request(request)
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # a user's module that shadows one of ours may even call sys.exit
        _say(error)


def _say(error: BaseException) -> None:
    try:
        from rlcompare.errors import UsageError
        from rlcompare.text import safe_text

        kind = "" if isinstance(error, UsageError) else f"{type(error).__name__}: "
        sys.stderr.write(f"rlcompare: RLCOMPARE_PROBE is ignored: {kind}{safe_text(error, 1000)}\n")
    except KeyboardInterrupt:
        raise
    except BaseException:  # standard error may be closed; site would then print a traceback to standard output
        return


_start()
