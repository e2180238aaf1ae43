"""Tests of `learning.dirichlets`."""
