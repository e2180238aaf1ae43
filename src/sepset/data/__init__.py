"""Rows over variables, and their sufficient statistics: datasets from frames and files, counts and moments."""

from sepset.data.counts import Counts
from sepset.data.dataset import Dataset
from sepset.data.files import read_dataset, write_dataset

__all__ = ["Counts", "Dataset", "read_dataset", "write_dataset"]
