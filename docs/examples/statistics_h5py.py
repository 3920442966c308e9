#!/usr/bin/env python3
"""Prints statistics of a field of a result of any size, which it reads in slabs of rows with h5py.

usage: statistics_h5py.py FILE.h5 FIELD
"""

import sys

import h5py
import numpy


def slabs(dataset, most_bytes=64 << 20):
    """Yields blocks of whole rows of at most that many bytes: contiguous in the file, so that each is one read."""
    row_bytes = dataset.dtype.itemsize * int(numpy.prod(dataset.shape[1:]))
    rows = max(1, most_bytes // max(1, row_bytes))
    for begin in range(0, dataset.shape[0], rows):
        yield dataset[begin : begin + rows]


def main():
    path, field = sys.argv[1:]
    with h5py.File(path) as file:
        dataset = file[field]
        count, total, least, greatest = 0, 0.0, numpy.inf, -numpy.inf
        for slab in slabs(dataset):
            values = slab[numpy.isfinite(slab)]
            if values.size == 0:
                continue
            count += values.size
            total += values.sum(dtype=float)
            least, greatest = min(least, values.min()), max(greatest, values.max())
        unit = dataset.attrs["units"]
        print(f"{field} [{unit}] over {' x '.join(str(n) for n in dataset.shape)} points of the job {file.attrs['jobPath']}")
        print(f"finite {count}  min {least:g}  max {greatest:g}  mean {total / max(count, 1):.10g}")


if __name__ == "__main__":
    main()
