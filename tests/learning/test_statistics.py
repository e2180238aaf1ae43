"""Tests of `learning.statistics`."""
