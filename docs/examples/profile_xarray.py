#!/usr/bin/env python3
"""Prints the mean of a field along the first axis of its picture, from a result that xarray opens lazily.

With dask installed, xarray reads and computes in chunks on all cores, and the result may be larger than memory. Without it,
xarray reads only the field that is used.

usage: profile_xarray.py FILE.h5 FIELD
"""

import importlib.util
import sys

import xarray


def main():
    path, field = sys.argv[1:]
    chunks = "auto" if importlib.util.find_spec("dask") else None
    with xarray.open_dataset(path, engine="h5netcdf", chunks=chunks) as data:
        values = data[field]
        rows, columns = values.dims[:2]  # the second axis of the job file, and the first
        profile = values.mean(rows)  # with dask nothing is computed until the values are needed
        print(f"# {columns} [{data[columns].attrs['units']}]  mean of {field} [{values.attrs['units']}]")
        for at, mean in zip(data[columns].values, profile.values):
            print(f"{at:.10g} {mean:.10g}")


if __name__ == "__main__":
    main()
