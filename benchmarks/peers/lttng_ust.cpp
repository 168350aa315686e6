// lttng-ust with two tracepoints with an integer each, in its own session with the default channel (discard, four
// sub-buffers of 512 KiB per processor). The daemon writes the events to files in a temporary folder. No event may be
// lost.
#define LTTNG_UST_TRACEPOINT_CREATE_PROBES
#define LTTNG_UST_TRACEPOINT_DEFINE
#include "lttng_ust_events.h"

#include "../harness.hpp"

#include <unistd.h>

namespace {

std::uint64_t recorded = 0;

void region(std::uint64_t times) {
  for (std::uint64_t i = 0; i < times; ++i) {
    lttng_ust_tracepoint(whywait_benchmark, enter, 1);
    harness::barrier();
    lttng_ust_tracepoint(whywait_benchmark, leave, 1);
  }
  recorded += 2 * times;
}

bool run(const std::string& command) { return std::system((command + " >/dev/null").c_str()) == 0; }

// The number of events that `babeltrace2` finds in the folder.
std::uint64_t events_in(const std::string& folder) {
  std::uint64_t events = 0;
  FILE* const out = popen(("babeltrace2 '" + folder + "' -c sink.utils.counter -p step=+0 2>/dev/null").c_str(), "r");
  char line[256];
  while (out != nullptr && std::fgets(line, sizeof line, out) != nullptr)
    if (std::strstr(line, " Event message") != nullptr) events = std::strtoull(line, nullptr, 10);
  if (out != nullptr) pclose(out);
  return events;
}

}  // namespace

int main(int argc, char** argv) {
  char folder[] = "/tmp/whywait_lttng_XXXXXX";
  if (mkdtemp(folder) == nullptr) return std::perror(folder), 1;
  const std::string path = folder, session = path.substr(path.rfind('/') + 1);
  const bool mine = !run("pgrep -x lttng-sessiond");
  if (mine && !run("lttng-sessiond --daemonize --no-kernel --pidfile='" + path + "/pid'")) return 1;
  const bool made = run("lttng --no-sessiond create " + session + " --output='" + path + "/trace'") &&
                    run("lttng --no-sessiond enable-event -s " + session + " -u 'whywait_benchmark:*'") &&
                    run("lttng --no-sessiond start " + session);
  for (int i = 0; made && i < 500 && !lttng_ust_tracepoint_enabled(whywait_benchmark, leave); ++i) usleep(10000);
  const bool enabled = lttng_ust_tracepoint_enabled(whywait_benchmark, leave);
  int result = 1;
  if (enabled) {
    harness::table rows;
    rows.add("floor", harness::floor);
    rows.add("lttng_ust", region, 2000, [] { usleep(1000); });  // lets the daemon drain the buffer
    result = rows.main(argc, argv);
  }
  run("lttng --no-sessiond stop " + session);
  const std::uint64_t found = enabled ? events_in(path + "/trace") : 0;
  run("lttng --no-sessiond destroy " + session);
  if (mine) run("kill $(cat '" + path + "/pid')");
  run("rm -rf '" + path + "'");
  if (!enabled) return std::fprintf(stderr, "the tracepoints were never enabled\n"), 1;
  if (found != recorded) return std::fprintf(stderr, "lttng-ust has %" PRIu64 " of %" PRIu64 " events\n", found, recorded), 1;
  return result;
}
