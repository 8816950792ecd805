# SPDX-License-Identifier: Apache-2.0
"""Assertions that say what was wrong, and waiting that ends."""
import time


class Skip(Exception):
    """Raised by a test that cannot run here; the text says why."""


def check(condition, text, *args):
    """assert that survives -O and always says what was wrong."""
    if not condition:
        raise AssertionError(text % args if args else text)


def equal(got, want, what):
    check(got == want, '%s: %.300r, expected %.300r', what, got, want)


def wait_for(condition, seconds, what):
    """Polls until condition() is true and returns its value; fails after `seconds`."""
    end = time.monotonic() + seconds
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() > end:
            raise AssertionError('not within %g s: %s' % (seconds, what))
        time.sleep(0.01)
