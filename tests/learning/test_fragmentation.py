"""Tests of `learning.fragmentation`."""
