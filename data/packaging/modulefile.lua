-- Lmod module of an installed Voltpile: `module use PREFIX/share/voltpile/modulefiles`, `module load voltpile`.
-- It finds the prefix from its own place: PREFIX/share/voltpile/modulefiles/voltpile/VERSION.lua.
local prefix = myFileName():match("^(.*)/share/voltpile/modulefiles/")

help([[Voltpile runs one job file on every processor and GPU, over MPI.
`voltpile --help` lists the commands, `man voltpile` explains them.]])
whatis("Name: voltpile")
whatis("Version: " .. myModuleVersion())
whatis("Description: multi-node job runner for parameter sweeps and language models")

conflict("voltpile")
-- The MPI that Voltpile was built with, where that is a module too:
-- depends_on("openmpi/4.1")

-- man-db finds the manual pages, and bash-completion the completion, from PATH.
prepend_path("PATH", pathJoin(prefix, "bin"))
prepend_path("FPATH", pathJoin(prefix, "share/zsh/site-functions"))
