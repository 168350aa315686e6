#include <whywait/mpi/end_hooks.hpp>

#include <doctest/doctest.h>

#include <signal.h>

namespace {

/// Puts the handlers of the test framework back.
class kept_handler {
 public:
  kept_handler(int number, void (*handler)(int)) : number_(number) {
    struct sigaction now = {};
    now.sa_handler = handler;
    REQUIRE(sigaction(number_, &now, &before_) == 0);
  }
  ~kept_handler() { sigaction(number_, &before_, nullptr); }
  kept_handler(const kept_handler&) = delete;
  kept_handler& operator=(const kept_handler&) = delete;

  bool is(void (*handler)(int)) const { return (now().sa_flags & SA_SIGINFO) == 0 && now().sa_handler == handler; }
  bool is_of_whywait() const {
    return (now().sa_flags & SA_SIGINFO) != 0 && now().sa_sigaction == &whywait::mpi::detail::on_signal;
  }

 private:
  struct sigaction now() const {
    struct sigaction action = {};
    sigaction(number_, nullptr, &action);
    return action;
  }

  int number_;
  struct sigaction before_ = {};
};

void of_the_program(int) {}

}  // namespace

TEST_CASE("handlers of signals precede the default, are put back, and leave those of the program alone") {
  kept_handler terminated(SIGTERM, SIG_DFL), bus(SIGBUS, SIG_DFL), fault(SIGSEGV, &of_the_program), interrupt(SIGINT, SIG_IGN);
  CHECK_FALSE(whywait::mpi::detail::listen_to_signals());  // the program has a handler of faults
  CHECK(terminated.is_of_whywait());
  CHECK(bus.is_of_whywait());
  CHECK(fault.is(&of_the_program));
  CHECK(interrupt.is(SIG_IGN));
  {
    const kept_handler since(SIGBUS, &of_the_program);
    whywait::mpi::detail::ignore_signals();
    CHECK(terminated.is(SIG_DFL));
    CHECK(bus.is(&of_the_program));
    CHECK(fault.is(&of_the_program));
    CHECK(interrupt.is(SIG_IGN));
  }
}
