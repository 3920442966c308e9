#!/usr/bin/env python3
"""Opens a finished result as its users do, with h5py and with xarray, and checks what docs/result_file.md promises.

usage: read_result.py FILE.h5 ...

Exits with 0 if all is as promised, else with 1 after listing everything that is not. Needs h5py, xarray and h5netcdf
(Debian and Ubuntu: python3-h5py, python3-xarray, python3-h5netcdf).
"""

import datetime
import re
import sys

import h5py
import numpy
import xarray

TEXTS = ["software", "softwareVersion", "gitRevision", "date", "machine", "author", "commandLine", "app", "jobFile",
         "jobPath", "fingerprint"]


class Checks:
    def __init__(self, path):
        self.path = path
        self.problems = []

    def that(self, condition, message):
        if not condition:
            self.problems.append(f"{self.path}: {message}")
        return bool(condition)

    def equal(self, found, expected, what):
        return self.that(found == expected, f"{what} is {found!r}, not {expected!r}")


def check_provenance(checks, attrs):
    for name in TEXTS:
        if checks.that(name in attrs, f"no attribute {name}"):
            checks.that(isinstance(attrs[name], str) and attrs[name] != "", f"attribute {name} is {attrs[name]!r}")
    checks.equal(attrs.get("software"), "voltpile", "software")
    checks.equal(int(attrs.get("complete", -1)), 1, "complete")
    checks.that(re.fullmatch("[0-9a-f]{32}", str(attrs.get("fingerprint"))), "the fingerprint is not 32 hex digits")
    checks.that("jobOverrides" in attrs, "no attribute jobOverrides")
    checks.that(str(attrs.get("app")) in str(attrs.get("jobFile")), "the job file does not name the app")
    try:
        datetime.datetime.strptime(str(attrs.get("date")), "%Y-%m-%d %H:%M:%S %z")
    except ValueError:
        checks.that(False, f"the date {attrs.get('date')!r} is not like 2024-05-06 07:08:09 +0200")


def expected_coordinates(scale, moves):
    """Returns from + (to - from) * i / n, as docs/job_file.md defines an axis, or i / n if each frame has a range of its own."""
    start, stop, endpoint = float(scale.attrs["from"]), float(scale.attrs["to"]), int(scale.attrs["endpoint"])
    count = scale.shape[0]
    n = count - 1 if endpoint and count > 1 else count
    places = numpy.arange(count) / n
    return places if moves else start + (stop - start) * places


def check_axis(checks, scale, name, moves):
    checks.that(h5py.h5ds.is_scale(scale.id), f"{name} is not a dimension scale")
    checks.that(scale.ndim == 1, f"{name} is not one-dimensional")
    checks.that(isinstance(scale.attrs.get("units"), str), f"{name} has no units")
    checks.that(scale.attrs.get("long_name"), f"{name} has no long_name")
    expected = expected_coordinates(scale, moves)
    # The same formula, but each operation may be rounded otherwise: a few units in the last place of the largest term.
    tolerance = 8 * numpy.finfo(float).eps * max(abs(float(scale.attrs["from"])), abs(float(scale.attrs["to"])))
    error = numpy.abs(scale[...] - expected).max()
    checks.that(error <= tolerance, f"coordinates of {name} are off by up to {error}")


def frame_coordinates(checks, file, axes):
    """Returns the names of the coordinates along the frames of a movie, as docs/movies.md defines them."""
    if "frameChanges" not in file.attrs:
        return set()
    checks.that("frame" in axes, "a movie without the axis frame")
    names = {name for name in file if isinstance(file[name], h5py.Dataset) and name not in axes
             and name not in file.attrs["fields"] and attached_scales(checks, file[name]) == ["frame"]}
    checks.that(names, "no coordinates along the frames")
    for name in names:
        checks.that(numpy.isfinite(file[name][...]).all(), f"{name} is not finite")
        checks.that(file[name].attrs.get("long_name"), f"{name} has no long_name")
    for name in axes:
        checks.equal(f"{name}_from" in names, f"{name}_to" in names, f"both ends of {name} by frame")
    return names


def attached_scales(checks, dataset):
    """Returns the name of the one scale of every dimension."""
    names = []
    for i, dimension in enumerate(dataset.dims):
        if not checks.equal(len(dimension), 1, f"number of scales of dimension {i} of {dataset.name}"):
            return []
        names.append(dimension[0].name.lstrip("/"))
    return names


def is_text(dataset):
    return h5py.check_string_dtype(dataset.dtype) is not None


def check_with_h5py(checks, path):
    """Returns the dimensions of every field."""
    dims = {}
    with h5py.File(path, "r") as file:
        check_provenance(checks, file.attrs)
        axes = list(file.attrs["sweepAxes"])
        of_frames = frame_coordinates(checks, file, axes)
        for name in axes:
            if checks.that(name in file, f"no coordinates of the axis {name}"):
                check_axis(checks, file[name], name, f"{name}_from" in of_frames)
        fields = list(file.attrs["fields"])
        checks.that(fields, "no fields")
        for name in fields:
            if not checks.that(name in file, f"no field {name}"):
                continue
            field = file[name]
            dims[name] = attached_scales(checks, field)
            checks.equal(dims[name][:len(axes)], axes[::-1], f"axes of {name}, slowest first,")
            checks.equal(field.shape, tuple(file[d].shape[0] for d in dims[name]), f"shape of {name}")
            checks.that(field.attrs.get("long_name"), f"{name} has no long_name")
            if not is_text(field):
                checks.that(isinstance(field.attrs.get("units"), str) and field.attrs["units"], f"{name} has no units")
                checks.that(field.dtype.kind in "if", f"{name} is of type {field.dtype}")
            for d in dims[name][len(axes):]:
                labels = file[d].asstr()[...]
                checks.that(h5py.h5ds.is_scale(file[d].id) and len(set(labels)) == len(labels) > 0, f"labels of {d} are {labels}")
        known = set(axes) | of_frames | set(fields) | {d for names in dims.values() for d in names}
        groups = {"plan", "telemetry"}  # which a result may have
        checks.equal(set(file) - groups, known, "what the file holds")
    return dims


def check_with_xarray(checks, path, dims):
    with xarray.open_dataset(path, engine="h5netcdf") as data, h5py.File(path, "r") as file:
        check_provenance(checks, data.attrs)
        checks.that(not any("phony" in str(d) for d in data.sizes), f"unnamed dimensions: {dict(data.sizes)}")
        checks.equal(set(data.data_vars), set(dims), "xarray's variables")
        for name, expected in dims.items():
            field = data[name]
            checks.equal(list(field.dims), expected, f"xarray's dimensions of {name}")
            checks.equal(field.attrs.get("units"), file[name].attrs.get("units"), f"xarray's units of {name}")
            first = {d: 0 for d in expected}
            stored = file[name].asstr() if is_text(file[name]) else file[name]
            numpy.testing.assert_array_equal(field.isel(first).values, stored[(0,) * len(expected)])
        for d in {d for names in dims.values() for d in names}:
            if not checks.that(d in data.coords, f"xarray has no coordinate {d}"):
                continue
            values = data.coords[d].values
            if file[d].dtype.kind == "f":
                numpy.testing.assert_array_equal(values, file[d][...])
                checks.equal(data.coords[d].attrs.get("units"), file[d].attrs["units"], f"xarray's units of {d}")
            else:
                checks.that(all(isinstance(v, str) for v in values), f"labels of {d} are not str: {values!r}")
                checks.equal(list(values), list(file[d].asstr()[...]), f"xarray's labels of {d}")


def check(path):
    checks = Checks(path)
    try:
        dims = check_with_h5py(checks, path)
        if not checks.problems:
            check_with_xarray(checks, path, dims)
    except Exception as error:  # whatever a library stumbles over is a finding
        checks.that(False, f"{type(error).__name__}: {error}")
    return checks.problems


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    problems = [problem for path in sys.argv[1:] for problem in check(path)]
    for problem in problems:
        print(problem, file=sys.stderr)
    if problems:
        sys.exit(1)
    print(f"{', '.join(sys.argv[1:])}: reads well with h5py {h5py.__version__} and xarray {xarray.__version__}")


if __name__ == "__main__":
    main()
