"""Tests of `learning.fit`."""
