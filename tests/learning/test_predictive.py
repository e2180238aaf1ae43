"""Tests of `learning.predictive`."""
