"""Tests of `learning.maximization`."""
