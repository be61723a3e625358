// Runs many scenarios without loading the program anew for each.
#pragma once

namespace umpatch {

// Reads requests from standard input, one a line, fields separated by tabs: seconds, file for standard output, file for standard
// error, number of variables, NAME=VALUE for each, arguments. Each is run in a process of its own, forked before anything of a
// scenario has happened; its wait status is the answer. Returns the exit status when the input ends.
int serve(int (*run)(int count, char** values));

} // namespace umpatch
