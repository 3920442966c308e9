#!/usr/bin/env python3
"""Draws two fields of a result side by side, for a paper: axes with units, one color bar each, 300 dots per inch.

usage: figure_matplotlib.py FILE.h5 FIELD FIELD OUTPUT.png
"""

import sys

import h5py
import matplotlib

matplotlib.use("Agg")  # needs no display
import matplotlib.colors
import matplotlib.pyplot as plt
import numpy


def edges(axis):
    """Returns the ends of a picture whose pixels have their points in the middle."""
    half = (axis[-1] - axis[0]) / max(1, len(axis) - 1) / 2
    return axis[0] - half, axis[-1] + half


def draw(place, file, field):
    values = file[field][...].astype(float)
    shown = field
    if "plot_from" in file[field].attrs:  # the customary picture
        values = file[field].attrs["plot_from"] - values
        shown = f"{file[field].attrs['plot_from']:g} - {field}"
    unit = file[field].attrs["units"]
    finite = values[numpy.isfinite(values)]
    decades = finite.size and finite.min() > 0 and finite.max() / finite.min() > 1e3
    norm = matplotlib.colors.LogNorm() if decades else None
    left, right = edges(file["x"][...])
    top, bottom = edges(file["y"][...])
    colors = matplotlib.colormaps["inferno"].with_extremes(bad="gray") if hasattr(matplotlib, "colormaps") else "inferno"
    image = place.imshow(values, extent=(left, right, bottom, top), norm=norm, cmap=colors, interpolation="nearest")
    place.set_xlabel(f"x: {file['x'].attrs['long_name']}")
    place.set_ylabel(f"y: {file['y'].attrs['long_name']}")
    place.set_title(file[field].attrs["long_name"], fontsize="medium")
    place.figure.colorbar(image, ax=place, label=shown if unit == "1" else f"{shown} [{unit}]")


def main():
    path, first, second, output = sys.argv[1:]
    with h5py.File(path) as file:
        figure, places = plt.subplots(1, 2, figsize=(11, 4.5), layout="constrained")
        for place, field in zip(places, (first, second)):
            draw(place, file, field)
        figure.savefig(output, dpi=300)


if __name__ == "__main__":
    main()
