// A result as a netCDF-4 file: HDF5 in the form that netCDF4, xarray, ncdump and CDO expect.
#pragma once

#include <filesystem>

#include "results/result_reader.h"
#include "work/range_set.h"

namespace voltpile {

// Which points go into the file, and in which form.
struct NetcdfPoints {
    WorkRange range;  // of the flattened sweep
    // True: the range is the whole sweep, and the axes are the dimensions. False: the points stand one after
    // the other along a dimension `point`, and the axes are coordinates along it.
    bool grid = true;
};

// Writes a new file; it is there whole or not at all, and replaces one that is there. Points that are not
// computed are NaN, an empty text or an empty list, or `_FillValue` in fields of integers. A field of lists
// becomes CF's contiguous ragged array: `<field>` holds the values of all points one after the other, and
// `<field>_count` their number at each point. Throws FileError.
void write_netcdf(const std::filesystem::path& path, const ResultReader& result, const NetcdfPoints& points);

}  // namespace voltpile
