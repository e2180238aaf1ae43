"""Tests of `learning.sharing`."""
