#ifndef WHYWAIT_CORE_OUTPUT_PATH_HPP
#define WHYWAIT_CORE_OUTPUT_PATH_HPP

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

namespace whywait {
inline namespace v0 {
namespace core {

/// Characters of an expanded WHYWAIT_OUTPUT, the null character included; longer ones are cut.
inline constexpr size_t most_output_path = 1024;

/// The number or name of the batch job of this process, else of the MPI job; null if it is in none.
[[gnu::cold]] inline const char* job_id() noexcept {
  static constexpr const char* names[] = {"SLURM_JOB_ID", "PBS_JOBID",   "LSB_JOBID",     "PJM_JOBID", "OAR_JOB_ID",
                                          "COBALT_JOBID", "FLUX_JOB_ID", "LOADL_STEP_ID", "JOB_ID",    "PMIX_NAMESPACE"};
  for (const char* name : names) {
    const char* const value = getenv(name);
    if (value != nullptr && *value != '\0') return value;
  }
  return nullptr;
}

/// Replaces in a WHYWAIT_OUTPUT %p by the process id, %j by the job id (without a job the process id), %t by the local time as
/// 20261124-150405, %h by the name of the host and %% by one %. Others are kept. Returns the first character that is not
/// understood after a %, or null. Slashes of a job id become underscores. Behind a name of a folder only ("out/", ".") comes `whywait`.
[[gnu::cold]] inline const char* expand_output(const char* pattern, char (&to)[most_output_path]) noexcept {
  size_t used = 0;
  const char* unknown = nullptr;
  const auto put = [&](const char* text, bool is_job) {
    for (; *text != '\0' && used + 1 < most_output_path; ++text) to[used++] = is_job && *text == '/' ? '_' : *text;
  };
  for (const char* at = pattern; *at != '\0'; ++at) {
    char text[256] = {*at, '\0'};
    if (*at == '%') {
      const char what = at[1];
      const char* const job = what == 'j' ? job_id() : nullptr;
      if (job != nullptr) {
        put(job, true);
      } else if (what == 'p' || what == 'j') {
        snprintf(text, sizeof text, "%ld", static_cast<long>(getpid()));
      } else if (what == 't') {
        const time_t now = time(nullptr);
        tm local{};
        if (localtime_r(&now, &local) != nullptr) strftime(text, sizeof text, "%Y%m%d-%H%M%S", &local);
      } else if (what == 'h') {
        if (gethostname(text, sizeof text - 1) != 0) text[0] = '\0';
      } else if (what != '%' && unknown == nullptr) {
        unknown = at + 1;
      }
      if (what == 'p' || what == 'j' || what == 't' || what == 'h' || what == '%') ++at;
      if (job != nullptr) continue;
    }
    put(text, false);
  }
  to[used] = '\0';
  size_t last = used;  // component
  while (last != 0 && to[last - 1] != '/') --last;
  const bool dots = strcmp(to + last, ".") == 0 || strcmp(to + last, "..") == 0;
  if (used != 0 && (last == used || dots)) {
    put(dots ? "/whywait" : "whywait", false);
    to[used] = '\0';
  }
  return unknown;
}

}  // namespace core
}  // namespace v0
}  // namespace whywait

#endif
