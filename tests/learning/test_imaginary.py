"""Tests of `learning.imaginary`."""
