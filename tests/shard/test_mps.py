"""Tests of a shared run: some that pass, one that the patched arm fails, one that both fail, one that is skipped."""

import os

import pytest

PATCHED = "patched" in os.path.abspath(__file__)


@pytest.mark.parametrize("number", range(17))
def test_sound(number):
    assert number >= 0


def test_worse_with_the_patches():
    assert not PATCHED


def test_fails_anyway():
    assert False, "in both arms"


@pytest.mark.skip(reason="needs a device that nobody has")
def test_skipped():
    pass


if PATCHED:

    def test_that_the_patches_bring():
        pass
