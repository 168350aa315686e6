// quill, LOG_INFO into a bounded queue that drops, with the time stamp counter; its own thread writes to nowhere.
#include "../harness.hpp"

#include <quill/Backend.h>
#include <quill/Frontend.h>
#include <quill/LogMacros.h>
#include <quill/Logger.h>
#include <quill/sinks/NullSink.h>

#include <unistd.h>

namespace {

struct options {
  static constexpr quill::QueueType queue_type = quill::QueueType::BoundedDropping;
  static constexpr std::size_t initial_queue_capacity = 1 << 20;
  static constexpr std::uint32_t blocking_queue_retry_interval_ns = 800;
  static constexpr std::size_t unbounded_queue_max_capacity = std::size_t(1) << 31;
  static constexpr quill::HugePagesPolicy huge_pages_policy = quill::HugePagesPolicy::Never;
};
using frontend = quill::FrontendImpl<options>;
quill::LoggerImpl<options>* logger;

void region(std::uint64_t times) {
  for (std::uint64_t i = 0; i < times; ++i) {
    LOG_INFO(logger, "begin");
    harness::barrier();
    LOG_INFO(logger, "end");
  }
}

}  // namespace

int main(int argc, char** argv) {
  quill::Backend::start();
  logger = frontend::create_or_get_logger("root", frontend::create_or_get_sink<quill::NullSink>("sink"));
  harness::table rows;
  rows.add("floor", harness::floor);
  rows.add("quill", region, 2000, [] { usleep(3000); });
  return rows.main(argc, argv);
}
