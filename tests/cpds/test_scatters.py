"""Tests of `cpds.scatters`."""
