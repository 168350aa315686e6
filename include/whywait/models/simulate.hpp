#ifndef WHYWAIT_MODELS_SIMULATE_HPP
#define WHYWAIT_MODELS_SIMULATE_HPP

#include <whywait/models/detail/token_board.hpp>
#include <whywait/models/machine.hpp>
#include <whywait/models/route.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

namespace whywait {
inline namespace v0 {
namespace models {

/// Options of a simulation.
struct simulation_options {
  std::uint64_t runs = 10000;
  std::uint64_t seed = 1;
  std::uint64_t most_events = 1000000000;  ///< per run; P016 beyond
};

/// Statistics over independent runs of a program, in the time unit of the machine.
struct simulation {
  double mean = 0.0;
  double variance = 0.0;
  double half_width = 0.0;          ///< half width of the 95 % confidence interval of the mean
  std::vector<double> tasks;        ///< completions per class and run
  std::vector<double> parallelism;  ///< share of the time with k tasks active
  std::uint64_t runs = 0;
  std::uint64_t events = 0;  ///< completed services
};

namespace detail {

/// Streaming sums over runs.
class run_statistics {
 public:
  explicit run_statistics(std::size_t classes) { r_.tasks.assign(classes, 0.0); }

  void active(std::size_t k, double time) {
    if (r_.parallelism.size() <= k) r_.parallelism.resize(k + 1, 0.0);
    r_.parallelism[k] += time;
  }
  void completed(std::size_t task_class) { r_.tasks[task_class] += 1.0; }
  void event() { ++r_.events; }
  void run(double time) {
    ++r_.runs;
    const double apart = time - r_.mean;  // Welford's algorithm
    r_.mean += apart / static_cast<double>(r_.runs);
    squares_ += apart * (time - r_.mean);
  }

  simulation result() {
    const double n = static_cast<double>(r_.runs);
    r_.variance = r_.runs > 1 ? squares_ / (n - 1.0) : 0.0;
    r_.half_width = 1.959963985 * std::sqrt(r_.variance / n);
    for (double& t : r_.tasks) t /= n;
    double all = 0.0;
    for (const double t : r_.parallelism) all += t;
    if (all > 0.0)
      for (double& t : r_.parallelism) t /= all;
    return r_;
  }

 private:
  simulation r_;
  double squares_ = 0.0;
};

/// Simulates one program on a detailed machine, with queueing disciplines and routes.
class detailed_simulator {
 public:
  detailed_simulator(const program& p, const detailed_machine& m, const simulation_options& options)
      : p_(p),
        m_(m),
        options_(options),
        random_(options.seed),
        board_(p, random_),
        statistics_(p.classes.size()),
        stations_(m.stations.size()) {}

  simulation run() {
    for (std::uint64_t i = 0; i != options_.runs; ++i) once();
    return statistics_.result();
  }

 private:
  static constexpr double never = std::numeric_limits<double>::infinity();
  static constexpr std::uint32_t none = 0xffffffffu;

  struct customer {
    const route* way = nullptr;
    std::uint32_t stage = 0;
    std::uint32_t what = 0;  // task or packet type
    std::uint32_t alternative = none;
    std::uint32_t next = none;  // in a queue
    double work = 0.0;            // remaining work of the current service; with sharing, virtual time of its end
    bool packet = false;
  };
  struct queue {
    std::uint32_t first = none, last = none;  // waiting customers
    std::uint32_t busy = 0;
    double virtual_time = 0.0, updated = 0.0;  // with sharing
    std::vector<std::uint32_t> sharing;
  };
  // One timer per customer in service; with sharing, one per station.
  struct timer {
    double when;
    std::uint32_t who;
    bool station;
  };

  void once() {
    now_ = 0.0;
    tasks_ = 0;
    since_ = 0.0;
    board_.reset();
    enabled_.clear();
    board_.begin(enabled_);
    start_tasks();
    std::uint64_t events = 0;
    while (!timers_.empty()) {
      std::size_t first = 0;
      for (std::size_t i = 1; i < timers_.size(); ++i)
        if (timers_[i].when < timers_[first].when) first = i;
      const timer t = timers_[first];
      timers_[first] = timers_.back();
      timers_.pop_back();
      now_ = t.when;
      if (++events > options_.most_events)
        throw prediction_error(fault::never_ends,
                               "a simulated run did not end after " + std::to_string(options_.most_events) + " events");
      statistics_.event();
      const std::uint32_t c = t.station ? shared_end(t.who) : first_come_end(t.who);
      advance(c);
    }
    count_active(0);
    statistics_.run(now_);
  }

  void count_active(std::size_t next) {
    if (now_ > since_) statistics_.active(tasks_, now_ - since_);
    since_ = now_;
    tasks_ = next;
  }

  std::uint32_t born(const route& way, std::uint32_t what, bool packet) {
    std::uint32_t c;
    if (unused_.empty()) {
      c = static_cast<std::uint32_t>(customers_.size());
      customers_.emplace_back();
    } else {
      c = unused_.back();
      unused_.pop_back();
    }
    customers_[c] = customer();
    customers_[c].way = &way;
    customers_[c].what = what;
    customers_[c].packet = packet;
    return c;
  }

  void start_tasks() {
    if (!enabled_.empty()) count_active(tasks_ + enabled_.size());
    // The loop over enabled_ is safe, because an arrival never enables a task.
    for (const std::uint32_t task : enabled_) arrive(born(m_.tasks[p_.tasks[task].task_class], task, false));
    enabled_.clear();
  }

  void arrive(std::uint32_t c) {
    customer& x = customers_[c];
    const visit& v = (*x.way)[x.stage];
    const visit_choice* choice = &v.front();
    if (v.size() > 1) {
      std::uint32_t pick = 0;
      if (v.front().sticky && x.alternative < v.size()) {
        pick = x.alternative;
      } else {
        double u = random_.uniform();
        while (pick + 1 != v.size() && (u -= v[pick].probability) >= 0.0) ++pick;
        if (v.front().sticky) x.alternative = pick;
      }
      choice = &v[pick];
    }
    const double work = choice->service.draw(random_);
    const std::uint32_t s = static_cast<std::uint32_t>(choice->station);
    at_.resize(customers_.size());
    at_[c] = s;
    queue& q = stations_[s];
    switch (m_.stations[s].how) {
      case server_group::discipline::delay: timers_.push_back({now_ + work, c, false}); return;
      case server_group::discipline::first_come:
        if (q.busy < m_.stations[s].servers) {
          ++q.busy;
          timers_.push_back({now_ + work, c, false});
        } else {
          x.work = work;
          x.next = none;
          if (q.first == none) q.first = c;
          else customers_[q.last].next = c;
          q.last = c;
        }
        return;
      case server_group::discipline::sharing: break;
    }
    catch_up(s);
    x.work = q.virtual_time + work;
    q.sharing.push_back(c);
    reschedule(s);
  }

  // Updates the virtual time of a sharing station, which is the work that each customer has received.
  void catch_up(std::uint32_t s) {
    queue& q = stations_[s];
    if (q.sharing.empty()) q.virtual_time = 0.0;
    else q.virtual_time += (now_ - q.updated) * speed(s);
    q.updated = now_;
  }
  double speed(std::uint32_t s) const {
    const double n = static_cast<double>(stations_[s].sharing.size());
    return std::min(1.0, static_cast<double>(m_.stations[s].servers) / n);
  }
  void reschedule(std::uint32_t s) {
    std::size_t mine = timers_.size();
    for (std::size_t i = 0; i != timers_.size(); ++i)
      if (timers_[i].station && timers_[i].who == s) mine = i;
    const queue& q = stations_[s];
    if (q.sharing.empty()) {
      if (mine != timers_.size()) {
        timers_[mine] = timers_.back();
        timers_.pop_back();
      }
      return;
    }
    double least = never;
    for (const std::uint32_t c : q.sharing) least = std::min(least, customers_[c].work);
    const double when = now_ + std::max(0.0, least - q.virtual_time) / speed(s);
    if (mine == timers_.size()) timers_.push_back({when, s, true});
    else timers_[mine].when = when;
  }
  std::uint32_t shared_end(std::uint32_t s) {
    catch_up(s);
    queue& q = stations_[s];
    std::size_t first = 0;
    for (std::size_t i = 1; i < q.sharing.size(); ++i)
      if (customers_[q.sharing[i]].work < customers_[q.sharing[first]].work) first = i;
    const std::uint32_t c = q.sharing[first];
    q.sharing.erase(q.sharing.begin() + static_cast<std::ptrdiff_t>(first));
    reschedule(s);
    return c;
  }
  std::uint32_t first_come_end(std::uint32_t c) {
    const std::uint32_t s = at_[c];
    if (m_.stations[s].how == server_group::discipline::delay) return c;
    queue& q = stations_[s];
    if (q.first == none) {
      --q.busy;
    } else {
      const std::uint32_t following = q.first;
      q.first = customers_[following].next;
      timers_.push_back({now_ + customers_[following].work, following, false});
    }
    return c;
  }

  void advance(std::uint32_t c) {
    if (++customers_[c].stage != customers_[c].way->size()) {
      arrive(c);
      return;
    }
    const std::uint32_t what = customers_[c].what;
    const bool packet = customers_[c].packet;
    unused_.push_back(c);
    if (packet) {
      board_.deliver(p_.packets[what].deliveries, enabled_);
    } else {
      statistics_.completed(p_.tasks[what].task_class);
      const task_outcome& o = board_.choose(what);
      count_active(tasks_ - 1);
      if (p_.distributed()) {
        for (const std::uint32_t k : o.packets) arrive(born(m_.packets[p_.packets[k].module], k, true));
      } else {
        board_.deliver(o.deliveries, enabled_);
      }
    }
    start_tasks();
  }

  const program& p_;
  const detailed_machine& m_;
  simulation_options options_;
  random_source random_;
  token_board board_;
  run_statistics statistics_;
  std::vector<queue> stations_;
  std::vector<customer> customers_;
  std::vector<std::uint32_t> unused_, at_, enabled_;
  std::vector<timer> timers_;
  double now_ = 0.0, since_ = 0.0;
  std::size_t tasks_ = 0;
};

}  // namespace detail

/// Simulates a program on the detailed machine, as the reference for the approximations (docs/internals/models.md).
/// Tasks that are enabled at one instant arrive in the order of the E expression, initial tasks in theirs. Several
/// million services per second. Throws P015, P016, P021.
inline simulation simulate(const program& p, const detailed_machine& m, const simulation_options& options = {}) {
  m.check();
  if (m.tasks.size() != p.classes.size() || (p.distributed() && m.packets.size() != p.modules.size()))
    throw prediction_error(fault::classes, "the detailed machine needs one route per class and module");
  return detail::detailed_simulator(p, m, options).run();
}

/// Plays the token game with exponential times at the rates of the reduced model. The chain must reproduce its result.
inline simulation simulate_reduced(const program& p, const environment& where, const simulation_options& options = {}) {
  if (where.tasks.classes() != p.classes.size() || (p.distributed() && where.packets.classes() != p.modules.size()))
    throw prediction_error(fault::classes, "program and machine differ in classes or modules");
  const std::size_t classes = p.classes.size(), width = classes + p.modules.size();
  random_source random(options.seed);
  detail::token_board board(p, random);
  detail::run_statistics statistics(classes);
  std::vector<std::vector<std::uint32_t>> present(width);
  std::vector<std::uint32_t> counts(width), enabled;
  std::vector<double> rate(width);
  for (std::uint64_t run = 0; run != options.runs; ++run) {
    board.reset();
    enabled.clear();
    board.begin(enabled);
    double now = 0.0;
    for (std::uint64_t events = 0;; ++events) {
      if (events > options.most_events) throw prediction_error(fault::never_ends, "a simulated run did not end");
      for (const std::uint32_t i : enabled) present[p.tasks[i].task_class].push_back(i);
      enabled.clear();
      double all = 0.0;
      std::size_t active = 0, customers = 0;
      for (std::size_t c = 0; c != width; ++c) {
        counts[c] = static_cast<std::uint32_t>(present[c].size());
        customers += counts[c];
        if (c < classes) active += counts[c];
      }
      if (customers == 0) break;
      where.tasks.per_customer(counts.data(), rate.data());
      if (p.distributed()) where.packets.per_customer(counts.data() + classes, rate.data() + classes);
      for (std::size_t c = 0; c != width; ++c) all += rate[c] * counts[c];
      const double step = random.exponential() / all;
      statistics.active(active, step);
      now += step;
      double u = random.uniform() * all;
      std::size_t c = 0, last = 0;
      for (; c != width; ++c) {
        if (counts[c] == 0) continue;
        last = c;
        if ((u -= rate[c] * counts[c]) < 0.0) break;
      }
      c = last;
      std::vector<std::uint32_t>& of = present[c];
      std::swap(of[random.below(counts[c])], of.back());
      const std::uint32_t who = of.back();
      of.pop_back();
      statistics.event();
      if (c >= classes) {
        board.deliver(p.packets[who].deliveries, enabled);
        continue;
      }
      statistics.completed(c);
      const task_outcome& o = board.choose(who);
      if (!p.distributed()) board.deliver(o.deliveries, enabled);
      else
        for (const std::uint32_t k : o.packets) present[classes + p.packets[k].module].push_back(k);
    }
    statistics.run(now);
  }
  return statistics.result();
}

}  // namespace models
}  // namespace v0
}  // namespace whywait

#endif
