// How the unwinder that the core brings along finds the tables of the function that an address is of.
//
// Called once, when the core is opened.
#pragma once

namespace weft {

// By the function of a newer glibc, which takes no lock. Else it would go through the loader's list of libraries under
// the list's lock, which stays locked in a child that another thread forks meanwhile (cmake/older_glibc.c).
void find_exception_tables_without_lock();

}  // namespace weft
