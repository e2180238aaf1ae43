"""Tests of independence: of counts and of Gaussians, oracles, corrections for many tests, and counted queries."""
