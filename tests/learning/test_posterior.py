"""Tests of `learning.posterior`."""
