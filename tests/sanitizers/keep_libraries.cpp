// Linked into the MPI programs of sanitized builds: libraries that MPI loads stay loaded, so that reports and
// suppressions can name them at the end of the process.
extern "C" int dlclose(void*) { return 0; }
