"""Compiled functions of `inference/hybrid`."""
