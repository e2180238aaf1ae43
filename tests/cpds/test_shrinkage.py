"""Tests of `cpds.shrinkage`."""
