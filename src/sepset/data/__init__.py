"""Rows over variables: datasets from frames and files."""

from sepset.data.dataset import Dataset
from sepset.data.files import read_dataset, write_dataset

__all__ = ["Dataset", "read_dataset", "write_dataset"]
