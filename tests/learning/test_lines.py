"""Tests of `learning.lines`."""
