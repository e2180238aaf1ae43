"""Rows over variables, and their sufficient statistics: datasets from frames and files, counts and moments in memory or
where the rows are stored, and which cells are missing.
"""

from sepset.data.counts import Counts
from sepset.data.dataset import Dataset
from sepset.data.files import read_dataset, write_dataset
from sepset.data.moments import Moments

__all__ = ["Counts", "Dataset", "Moments", "read_dataset", "write_dataset"]
