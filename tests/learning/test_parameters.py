"""Tests of `learning.parameters`."""
